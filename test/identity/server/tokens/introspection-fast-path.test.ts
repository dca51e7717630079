/** Which introspection requests the fast path handles; oidc-provider handles all others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AppRow, Apps } from '../../../../src/identity/server/clients/apps.ts'
import { parseForm } from '../../../../src/identity/server/requests/form.ts'
import { secretHash } from '../../../../src/identity/server/secret.ts'
import { IntrospectionFastPath } from '../../../../src/identity/server/tokens/introspection-fast-path.ts'
import type { TokenSigner } from '../../../../src/identity/server/tokens/jwt.ts'

const id = `app_${'a'.repeat(20)}`
const secret = `ps_${'s'.repeat(43)}`
const app = {
  client_id: id,
  type: 'confidential',
  secrets: [
    { id: 1, hash: secretHash(secret), prefix: 'ps_', created_at: '2026-01-01T00:00:00Z', expires_at: null },
  ],
} as unknown as AppRow
const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
const inForm = `token=t&client_id=${id}&client_secret=${secret}`
const form = 'application/x-www-form-urlencoded'

interface Sent {
  readonly body?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly by?: AppRow
}

/** The token that is looked up; undefined if the request is left to oidc-provider. */
async function lookedUp({ body = inForm, headers = {}, by = app }: Sent): Promise<string | undefined> {
  let found: string | undefined
  const fastPath = new IntrospectionFastPath({
    apps: { find: (clientId: string) => (clientId === id ? by : undefined), version: () => 1 } as Apps,
    secretOverlapSeconds: 0,
    introspection: {
      answer: async (_app, token) => {
        found = token
        return undefined
      },
    },
  })
  await fastPath.answer({ 'content-type': form, ...headers }, parseForm(body), {} as TokenSigner)
  return found
}

test('a form with the secret in the body or in the header is handled', async () => {
  assert.equal(await lookedUp({}), 't')
  const authorization = basic(id, secret)
  assert.equal(await lookedUp({ body: 'token=t', headers: { authorization } }), 't')
  const named = `token=t&client_id=${id}`
  assert.equal(await lookedUp({ body: named, headers: { authorization } }), 't')
  assert.equal(await lookedUp({ headers: { 'content-type': `${form}; charset=UTF-8` } }), 't')
})

const left: readonly (readonly [what: string, sent: Sent])[] = [
  ['a repeated parameter', { body: `${inForm}&token=u` }],
  ['an unknown parameter', { body: `${inForm}&resource=r` }],
  ['no token', { body: `client_id=${id}&client_secret=${secret}` }],
  ['an empty parameter', { body: `${inForm}&token=` }],
  ['the secret in both places', { headers: { authorization: basic(id, secret) } }],
  [
    'another client_id in the form',
    { body: 'token=t&client_id=app_b', headers: { authorization: basic(id, secret) } },
  ],
  ['no secret', { body: `token=t&client_id=${id}` }],
  ['a wrong secret', { body: 'token=t', headers: { authorization: basic(id, `ps_${'x'.repeat(43)}`) } }],
  ['an unknown app', { body: 'token=t', headers: { authorization: basic(`app_${'b'.repeat(20)}`, secret) } }],
  ['a public app', { by: { ...app, type: 'public' } }],
  ['another content type', { headers: { 'content-type': 'application/json' } }],
  ['a form-encoded response', { headers: { accept: form } }],
  ['a DPoP proof', { headers: { dpop: 'proof' } }],
  ['a request of another origin', { headers: { origin: 'https://b.example' } }],
  [
    'another spelling of the content type',
    { body: 'token=t', headers: { authorization: `${basic(id, secret)}=` } },
  ],
]

for (const [what, sent] of left) {
  test(`${what} is left to oidc-provider`, async () => assert.equal(await lookedUp(sent), undefined))
}
