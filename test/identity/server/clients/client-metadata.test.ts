/** The metadata of an app as oidc-provider gets it, and which of its secrets are valid. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from 'oidc-provider'
import type { AppRow } from '../../../../src/identity/server/clients/apps.ts'
import {
  appOf,
  clientMetadata,
  isNative,
  isSecretOf,
} from '../../../../src/identity/server/clients/client-metadata.ts'
import { secretHash } from '../../../../src/identity/server/secret.ts'

const device = 'urn:ietf:params:oauth:grant-type:device_code'
const app = {
  id: 1,
  user_id: 7,
  name: 'An app',
  type: 'confidential',
  redirect_uris: ['https://app.example/cb'],
  scopes: null,
  default_scopes: null,
  scope_separator: null,
  access_token_format: null,
  logo_uri: null,
  homepage_uri: null,
  policy_uri: null,
  tos_uri: null,
  first_party: false,
  requests_per_minute: null,
  client_id: 'app_x',
  secrets: [
    {
      id: 1,
      hash: secretHash('first'),
      prefix: 'ps_first',
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: null,
    },
  ],
  created_at: '2026-01-01T00:00:00.000Z',
} as AppRow

const grants: readonly (readonly [
  what: string,
  changes: Partial<AppRow>,
  responses: readonly string[],
  grants: readonly string[],
])[] = [
  ['a confidential app', {}, ['code'], ['authorization_code', 'refresh_token', device, 'client_credentials']],
  ['a public app', { type: 'public' }, ['code'], ['authorization_code', 'refresh_token', device]],
  [
    'an app without redirect URIs',
    { redirect_uris: [] },
    [],
    ['refresh_token', device, 'client_credentials'],
  ],
  [
    'a public app without redirect URIs',
    { redirect_uris: [], type: 'public' },
    [],
    ['refresh_token', device],
  ],
]

for (const [what, changes, responses, expected] of grants) {
  test(`${what} has the expected grants`, () => {
    const metadata = clientMetadata({ ...app, ...changes }, 0)
    assert.deepEqual([metadata.response_types, metadata.grant_types], [responses, expected])
    assert.equal(
      metadata.token_endpoint_auth_method,
      changes.type === 'public' ? 'none' : 'client_secret_basic',
    )
    assert.equal('client_secret' in metadata, changes.type !== 'public')
  })
}

test('each secret is valid until its own expiry', () => {
  const now = Date.now()
  const hashes = [
    { hash: secretHash('lasting'), expiresAt: undefined },
    { hash: secretHash('ending'), expiresAt: now + 60_000 },
    { hash: secretHash('ended'), expiresAt: now - 1 },
  ]
  assert.deepEqual(
    ['lasting', 'ending', 'ended', 'wrong', ''].map(secret => isSecretOf(hashes, secret)),
    [true, true, false, false, false],
  )
  assert.equal(isSecretOf([], 'lasting'), false)
})

test('an app is native if a redirect URI has a private-use scheme, or if all are loopback addresses', () => {
  const native = (...uris: string[]) => isNative({ redirect_uris: uris })
  assert.equal(native('http://127.0.0.1/cb'), true)
  assert.equal(native('http://127.0.0.1:80/cb', 'http://[::1]/cb'), true)
  assert.equal(native('com.example.app:/cb', 'https://app.example/cb'), true)
  assert.equal(native('https://app.example/cb', 'http://127.0.0.1/cb'), false)
  assert.equal(native('http://127.0.0.1.app.example/cb'), false)
  assert.equal(native(), false)
})

test('a link whose user name looks like another host is not shown', () => {
  const shown = (uri?: string) => {
    const metadata = { clientUri: uri, policyUri: uri, tosUri: uri }
    const app = appOf({ clientId: 'app_x', clientName: 'An app', ...metadata } as unknown as Client)
    return [app.homepageUri, app.policyUri, app.tosUri]
  }
  const address = 'https://app.example/about'
  assert.deepEqual(shown(address), [address, address, address])
  const none = [undefined, undefined, undefined]
  for (const wrong of [
    'https://id.example@app.example/',
    'https://id.example:443@app.example/',
    'no address',
  ])
    assert.deepEqual(shown(wrong), none, wrong)
  assert.deepEqual(shown(), none)
})
