/** Which requests are ordinary ones: everything else is left to the library. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AppRow, Apps } from '../../../src/auth/server/apps.ts'
import type { TokenSigner } from '../../../src/auth/server/jwt.ts'
import { Quick } from '../../../src/auth/server/quick.ts'
import { secretHash } from '../../../src/auth/server/secret.ts'

const id = `app_${'a'.repeat(20)}`
const secret = `ps_${'s'.repeat(43)}`
const app = {
  client_id: id,
  type: 'confidential',
  secret_hash: null,
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
  readonly path?: string
}

/** The form as the endpoint gets it; undefined: the request is left to the library. */
async function answered({ body = inForm, headers = {}, by = app, path = '/quick' }: Sent): Promise<unknown> {
  let got: unknown
  const quick = new Quick({
    apps: { find: (asked: string) => (asked === id ? by : undefined), version: () => 1 } as Apps,
    secretOverlap: 0,
    endpoints: new Map([
      [
        '/quick',
        {
          ordinary: new Set(['token', 'client_id', 'client_secret']),
          answer: async request => {
            got = { ...request.form }
            return undefined
          },
        },
      ],
    ]),
  })
  await quick.answer(
    path,
    { headers: { 'content-type': form, ...headers }, body: Buffer.from(body) },
    {} as TokenSigner,
  )
  return got
}

test('a form with the secret in it, or in the header, is an ordinary request', async () => {
  assert.deepEqual(await answered({}), { token: 't', client_id: id, client_secret: secret })
  const authorization = basic(id, secret)
  assert.deepEqual(await answered({ body: 'token=t', headers: { authorization } }), { token: 't' })
  const named = `token=t&client_id=${id}`
  assert.deepEqual(await answered({ body: named, headers: { authorization } }), { token: 't', client_id: id })
  assert.ok(await answered({ headers: { 'content-type': `${form}; charset=UTF-8` } }))
})

const left: readonly (readonly [what: string, sent: Sent])[] = [
  ['a parameter twice', { body: `${inForm}&token=u` }],
  ['an unknown parameter', { body: `${inForm}&resource=r` }],
  ['an empty parameter', { body: `${inForm}&token=` }],
  ['the secret in two ways', { headers: { authorization: basic(id, secret) } }],
  [
    'another id in the form',
    { body: 'token=t&client_id=app_b', headers: { authorization: basic(id, secret) } },
  ],
  ['no secret', { body: `token=t&client_id=${id}` }],
  ['a wrong secret', { body: 'token=t', headers: { authorization: basic(id, `ps_${'x'.repeat(43)}`) } }],
  ['an unknown app', { body: 'token=t', headers: { authorization: basic(`app_${'b'.repeat(20)}`, secret) } }],
  ['a public app', { by: { ...app, type: 'public' } }],
  ['another content type', { headers: { 'content-type': 'application/json' } }],
  ['a form as the answer', { headers: { accept: form } }],
  ['a proof of possession', { headers: { dpop: 'proof' } }],
  ['a request of another origin', { headers: { origin: 'https://b.example' } }],
  ['another path', { path: '/other' }],
  [
    'another spelling of the same header',
    { body: 'token=t', headers: { authorization: `${basic(id, secret)}=` } },
  ],
]

for (const [what, sent] of left) {
  test(`${what}: left to the library`, async () => assert.equal(await answered(sent), undefined))
}
