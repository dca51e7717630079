/** Checks whether the API accepts a token of Ann’s. */
import assert from 'node:assert/strict'
import type { Fixture } from '../server.ts'

export async function assertCanRead({ call, ann }: Fixture, token: string): Promise<void> {
  const me = await call('/api/v1/me', { key: token })
  assert.equal(me.status, 200, me.text)
  assert.equal(me.json.email, ann.email)
  const graphql = await call('/graphql', {
    method: 'POST',
    key: token,
    body: { query: '{ me { email } posts { id } }' },
  })
  assert.deepEqual(graphql.json, { ...graphql.json, data: { me: { email: ann.email }, posts: [] } })
}

export async function assertCannotRead({ call }: Fixture, token: string): Promise<void> {
  const { status, headers } = await call('/api/v1/me', { key: token })
  assert.equal(status, 401)
  assert.match(headers.get('www-authenticate') ?? '', /error="invalid_token"/)
}
