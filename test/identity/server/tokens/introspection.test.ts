/** Which tokens are active, and for which clients, without a server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Records, StoredRecord } from '../../../../src/base/records.ts'
import type { AppRow } from '../../../../src/identity/server/clients/apps.ts'
import { secretHash } from '../../../../src/identity/server/secret.ts'
import { Introspection } from '../../../../src/identity/server/tokens/introspection.ts'
import type { TokenSigner } from '../../../../src/identity/server/tokens/jwt.ts'

const issuer = 'https://a.example'
const token = 'x'.repeat(43)
/** A time in the year 2100. */
const exp = 4_102_444_800
const jwt = 'a.b.c'
const app = { client_id: 'app', scopes: null } as AppRow
const grant = { clientId: 'app', accountId: '7' }
const stored = {
  clientId: 'app',
  accountId: '7',
  grantId: 'g',
  scope: 'read:post write:user',
  iat: 1,
  exp,
}

interface Case {
  readonly kind?: string
  readonly payload?: object
  readonly consumedAt?: number
  readonly grant?: object | undefined
  readonly hasAccount?: boolean
  readonly by?: AppRow
  readonly shown?: string
}

/** The introspection response for a token that is valid, but for these changes. */
async function introspected(changes: Case = {}): Promise<Record<string, unknown>> {
  const {
    kind = 'AccessToken',
    payload,
    consumedAt = null,
    hasAccount = true,
    by = app,
    shown = token,
  } = changes
  const found = { kind, payload: JSON.stringify({ ...stored, ...payload }), consumedAt } as StoredRecord
  const ofGrant = 'grant' in changes ? changes.grant : grant
  const records = {
    async get(of: string, id: string) {
      if (of === 'Grant') return id === 'g' && ofGrant ? { payload: JSON.stringify(ofGrant) } : undefined
      return of === kind && id === secretHash(token) ? found : undefined
    },
  } as unknown as Records
  const signer = { verify: (text: string) => (text === jwt ? { jti: secretHash(token) } : undefined) }
  const introspection = new Introspection({ issuer, records, hasAccount: async () => hasAccount })
  const reply = await introspection.answer(by, shown, signer as unknown as TokenSigner)
  return JSON.parse(String(reply?.body))
}

test('a token is active for its app, with its claims', async () => {
  const expected = {
    active: true,
    sub: '7',
    client_id: 'app',
    exp,
    iat: 1,
    iss: issuer,
    aud: issuer,
    scope: 'read:post write:user',
    token_type: 'Bearer',
  }
  assert.deepEqual(await introspected(), expected)
  assert.deepEqual(await introspected({ shown: jwt }), { ...expected, jti: secretHash(token) })
  assert.deepEqual(await introspected({ payload: { jkt: 'k' } }), {
    ...expected,
    cnf: { jkt: 'k' },
    token_type: 'DPoP',
  })
})

const inactive: readonly (readonly [what: string, changes: Case])[] = [
  ['a used token', { kind: 'RefreshToken', consumedAt: 1 }],
  ['an expired token that is still stored', { kind: 'RefreshToken', payload: { exp: 2 } }],
  ['a token of another app', { payload: { clientId: 'other' }, grant: { ...grant, clientId: 'other' } }],
  ['a token whose grant is deleted', { grant: undefined }],
  ['a token with the grant of another app', { grant: { ...grant, clientId: 'other' } }],
  ['a token with the grant of another user', { grant: { ...grant, accountId: '8' } }],
  ['a token of a deleted user', { hasAccount: false }],
  ['a refresh token sent as a JWT', { kind: 'RefreshToken', shown: jwt }],
  ['a JWT with a foreign signature', { shown: 'a.b.d' }],
  ['an unknown token', { shown: 'y'.repeat(43) }],
]

for (const [what, changes] of inactive) {
  test(`${what} is not active`, async () => assert.deepEqual(await introspected(changes), { active: false }))
}

test('scopes that the app may no longer request are omitted', async () => {
  assert.equal((await introspected({ by: { ...app, scopes: ['read:post'] } })).scope, 'read:post')
})

test('a client-credentials token needs neither grant nor user', async () => {
  const alone = { accountId: undefined, grantId: undefined }
  const { active, sub } = await introspected({
    kind: 'ClientCredentials',
    payload: alone,
    grant: undefined,
    hasAccount: false,
  })
  assert.deepEqual([active, sub], [true, undefined])
})
