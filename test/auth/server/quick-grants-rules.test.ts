/** Exchanges and refreshes that are answered without the library: which ones, and what is stored. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import type { Adapter } from '../../../src/auth/server/adapter.ts'
import type { AppRow } from '../../../src/auth/server/apps.ts'
import type { TokenSigner } from '../../../src/auth/server/jwt.ts'
import { QuickGrants } from '../../../src/auth/server/quick-grants.ts'
import { secretHash } from '../../../src/auth/server/secret.ts'
import type { OauthSettings } from '../../../src/auth/server/settings.ts'
import type { Records } from '../../../src/records.ts'

const value = 'x'.repeat(43)
const verifier = 'v'.repeat(43)
const uri = 'https://app.example/cb'
const scope = 'read:post offline_access'
const app = {
  client_id: 'app',
  redirect_uris: [uri],
  scopes: null,
  scope_separator: null,
  access_token_format: null,
} as unknown as AppRow
const grant = { clientId: 'app', accountId: '7', openid: { scope } }
const shared = { clientId: 'app', accountId: '7', grantId: 'g', sessionUid: 's', scope }
const code = {
  ...shared,
  redirectUri: uri,
  codeChallenge: hash('sha256', verifier, 'base64url'),
  codeChallengeMethod: 'S256',
}
const token = { ...shared, gty: 'authorization_code', rotations: 3, iiat: 1000 }
const exchange = { grant_type: 'authorization_code', code: value, redirect_uri: uri, code_verifier: verifier }
const refresh = { grant_type: 'refresh_token', refresh_token: value }

interface Case {
  /** What is stored beside, or instead of, what is right. */
  readonly code?: object
  readonly token?: object
  readonly grant?: object | undefined
  readonly consumedAt?: number
  readonly hasAccount?: boolean
  readonly form?: Readonly<Record<string, string | undefined>>
  readonly refreshReplay?: number
  /** Somebody else has used it up meanwhile. */
  readonly isLate?: boolean
}

const usedUp = Object.assign(new Error(), {
  error: 'invalid_grant',
  error_detail: 'it was used already',
  statusCode: 400,
})

/** What the request is answered, and what is stored and used up for it. */
async function asked(first: Readonly<Record<string, string>>, changes: Case = {}) {
  const { consumedAt = null, hasAccount = true, refreshReplay = 0 } = changes
  const records = {
    async get(kind: string, id: string) {
      const found: Record<string, object | undefined> = {
        AuthorizationCode: { ...code, ...changes.code },
        RefreshToken: { ...token, ...changes.token },
        Grant: 'grant' in changes ? changes.grant : grant,
      }
      const payload = found[kind]
      if (id !== (kind === 'Grant' ? 'g' : secretHash(value)) || payload === undefined) return undefined
      return { payload: JSON.stringify(payload), consumedAt: kind === 'Grant' ? null : consumedAt }
    },
  } as unknown as Records
  const consumed: string[] = []
  const stored: Record<string, Record<string, unknown>> = {}
  const adapter = (kind: string) => ({
    async consume(id: string) {
      if (changes.isLate) throw usedUp
      consumed.push(`${kind} ${id}`)
    },
    async upsert(_id: string, payload: Record<string, unknown>) {
      stored[kind] = payload
    },
  })
  const settings = {
    accessTokenLife: 3600,
    refreshTokenLife: 86_400,
    refreshReplay,
    scopeSeparator: ' ',
    accessTokenFormat: 'opaque',
  }
  const quick = new QuickGrants({
    issuer: 'https://a.example',
    settings: settings as OauthSettings,
    records,
    hasAccount: async () => hasAccount,
    adapter: adapter as unknown as (kind: string) => Adapter,
    onGrantRefusal() {},
  })
  const all = Object.entries({ ...first, ...changes.form }).filter(([, text]) => text !== undefined)
  const reply = await quick.answer({ app, form: Object.fromEntries(all) }, {} as TokenSigner)
  return { reply, consumed, stored }
}

test('an exchange uses the code up and stores an access token and the first refresh token', async () => {
  const { reply, consumed, stored } = await asked(exchange)
  assert.equal(reply?.status, 200)
  assert.deepEqual(consumed, [`AuthorizationCode ${value}`])
  const { AccessToken: access, RefreshToken: first } = stored
  assert.deepEqual([access?.grantId, access?.scope, access?.gty], ['g', scope, 'authorization_code'])
  assert.equal(Number(access?.exp) - Number(access?.iat), 3600)
  assert.equal(Number(first?.exp) - Number(first?.iat), 86_400)
  assert.deepEqual([first?.rotations, first?.iiat], [0, first?.iat])
})

test('a refresh counts its rotations, and its chain goes on from where it began', async () => {
  const { reply, consumed, stored } = await asked(refresh)
  assert.equal(reply?.status, 200)
  assert.deepEqual(consumed, [`RefreshToken ${value}`])
  const { RefreshToken: next } = stored
  assert.deepEqual([next?.rotations, next?.iiat, next?.gty], [4, 1000, 'authorization_code refresh_token'])
})

for (const request of [exchange, refresh]) {
  test(`whoever comes second with a ${request.grant_type} gets no token`, async () => {
    const { reply } = await asked(request, { isLate: true })
    assert.equal(reply?.status, 400)
    const { error, error_description: description } = JSON.parse(String(reply?.body))
    assert.equal(error, 'invalid_grant')
    assert.match(description, /used before/)
  })
}

const left: readonly (readonly [what: string, first: Readonly<Record<string, string>>, changes: Case])[] = [
  [
    'a code without the redirect URI that it was asked for with',
    exchange,
    { form: { redirect_uri: undefined } },
  ],
  ['a code with another redirect URI', exchange, { form: { redirect_uri: `${uri}2` } }],
  ['a code without the proof that it takes', exchange, { form: { code_verifier: undefined } }],
  ['a code with another proof', exchange, { form: { code_verifier: 'w'.repeat(43) } }],
  ['a proof for a code that takes none', exchange, { code: { codeChallenge: undefined } }],
  ['a code that was used up', exchange, { consumedAt: 1 }],
  ['another app’s code', exchange, { code: { clientId: 'other' } }],
  ['another app’s refresh token', refresh, { token: { clientId: 'other' } }],
  ['a user who is gone', refresh, { hasAccount: false }],
  ['a grant that is gone', refresh, { grant: undefined }],
  ['the grant of another app', refresh, { grant: { ...grant, clientId: 'other' } }],
  ['the grant of another user', refresh, { grant: { ...grant, accountId: '8' } }],
  ['a grant with claims', refresh, { grant: { ...grant, openid: { scope, claims: {} } } }],
  ['what an ID token is due for', refresh, { token: { scope: 'openid read:post' } }],
  ['something more that is stored', refresh, { token: { jkt: 'a key' } }],
  ['a parameter of the other grant', refresh, { form: { code: value } }],
  ['a refresh that may be answered again', refresh, { refreshReplay: 10 }],
]

for (const [what, first, changes] of left) {
  test(`${what}: left to the library, with everything as it was`, async () => {
    assert.deepEqual(await asked(first, changes), { reply: undefined, consumed: [], stored: {} })
  })
}
