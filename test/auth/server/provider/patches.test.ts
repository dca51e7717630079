/**
 * What of oidc-provider is replaced or read although it is not documented. A failure means that the library has changed:
 * read what changed there, see whether the patch or the reader still does what its comment says, then take over the new
 * values.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { Provider } from '../../../../src/auth/server/provider/load.ts'
import { checkedVersion } from '../../../../src/auth/server/provider/patches.ts'

const folder = resolve(import.meta.dirname, '../../../../node_modules/oidc-provider')
const fileOf = (path: string) => readFileSync(resolve(folder, path), 'utf8')
const digestOf = (text: string) => hash('sha256', text.replaceAll(/\s+/g, ' '), 'base64url').slice(0, 12)

test('the patches were checked against the version that is installed', () => {
  assert.equal(JSON.parse(fileOf('package.json')).version, checkedVersion)
})

test('the request that is answered can be asked for', () => {
  assert.ok(Object.getOwnPropertyDescriptor(Provider, 'ctx')?.get)
})

type Methods = Readonly<Record<string, unknown>>

/** A method or getter, wherever in the chain of prototypes it stands. */
function textOf({ prototype }: { readonly prototype: object }, name: string): string {
  for (let holder = prototype; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const found = Object.getOwnPropertyDescriptor(holder as Methods, name)
    if (found) return String(found.get ?? found.value)
  }
  throw new Error(`oidc-provider has no ${name}.`)
}

test('what patches replace is what they were written for', () => {
  const provider = new Provider('https://a.example', {
    features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true } },
    cookies: { keys: ['a'] },
    adapter: class {},
    jwks: { keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })] },
  })
  const { Client, Grant, RefreshToken, AccessToken, ClientCredentials } = provider
  const replaced = {
    compareClientSecret: textOf(Client, 'compareClientSecret'),
    redirectUriAllowed: textOf(Client, 'redirectUriAllowed'),
    getOIDCScopeFiltered: textOf(Grant, 'getOIDCScopeFiltered'),
    getOIDCClaimsFiltered: textOf(Grant, 'getOIDCClaimsFiltered'),
    'scopes of a refresh token': textOf(RefreshToken, 'scopes'),
    'getValueAndPayload of an access token': textOf(AccessToken, 'getValueAndPayload'),
    'getValueAndPayload of client credentials': textOf(ClientCredentials, 'getValueAndPayload'),
  }
  const digests = Object.entries(replaced).map(([what, text]) => [what, digestOf(text)])
  assert.deepEqual(Object.fromEntries(digests), {
    compareClientSecret: '6ZUNZENZUWf_',
    redirectUriAllowed: 'mmvZ2dZg9uXU',
    getOIDCScopeFiltered: '_6SnALqMY1ed',
    getOIDCClaimsFiltered: 'HW9oROKhdDHF',
    'scopes of a refresh token': 'sZhTzQaGBGBR',
    'getValueAndPayload of an access token': 'OTJN7URv3AXK',
    'getValueAndPayload of client credentials': 'OTJN7URv3AXK',
  })
})

/** By path, with what of it is relied upon. */
const read = {
  // The value and the payload of a token: see `jwt-format.ts`.
  'lib/models/formats/opaque.js': '02aRO1Tdiv9e',
  'lib/models/base_model.js': 'ftI9n27uiZ0V',
  // When `scopes`, and what of the client's scope, is looked at.
  'lib/actions/grants/refresh_token.js': 'l5A0vAOrhoXH',
  'lib/actions/grants/client_credentials.js': 'BpLmLHfARHrs',
  // `adapter.find` throws for a code without its redirect URI, before the code is consumed.
  'lib/actions/grants/authorization_code.js': 'YrU1ZmuVEvvy',
  // `session.state.secret` guards the forms of our pages: see `page-sources.ts`.
  'lib/shared/xsrf.js': 'O7kt_E1OpS5p',
  // How a browser is signed in and out outside of an authorization request: see `sessions.ts`.
  'lib/models/session.js': 'jFIYy8AW8xIA',
  // How a request starts again with another account: see `interactions.ts`.
  'lib/models/interaction.js': 'S4_g6bsNz5Ru',
  // Why JWTs are sent to it as handles: see `jwt-format.ts`.
  'lib/shared/reject_structured_tokens.js': '7yeSp9NqkmxD',
  // How a body is read: see `prepare-request.ts`.
  'lib/shared/selective_body.js': 'PAIububd8xsE',
} as const

test('what is read of the inside is what the readers were written for', () => {
  const digests = Object.keys(read).map(path => [path, digestOf(fileOf(path))])
  assert.deepEqual(Object.fromEntries(digests), read)
})
