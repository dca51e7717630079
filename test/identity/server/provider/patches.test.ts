/**
 * The undocumented parts of oidc-provider that are patched or read. A failure means that the library has changed: read the
 * change, check that the patch or the reader still does what its comment says, then update the expected values.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { Provider } from '../../../../src/identity/server/provider/load.ts'
import { checkedVersion } from '../../../../src/identity/server/provider/patches.ts'

const folder = resolve(import.meta.dirname, '../../../../node_modules/oidc-provider')
const fileOf = (path: string) => readFileSync(resolve(folder, path), 'utf8')
const digestOf = (text: string) => hash('sha256', text.replaceAll(/\s+/g, ' '), 'base64url').slice(0, 12)

test('the installed version is the one that the patches were checked against', () => {
  assert.equal(JSON.parse(fileOf('package.json')).version, checkedVersion)
})

test('the context of the current request is available', () => {
  assert.ok(Object.getOwnPropertyDescriptor(Provider, 'ctx')?.get)
})

type Methods = Readonly<Record<string, unknown>>

/** A method or getter, wherever in the prototype chain it is. */
function textOf({ prototype }: { readonly prototype: object }, name: string): string {
  for (let holder = prototype; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const found = Object.getOwnPropertyDescriptor(holder as Methods, name)
    if (found) return String(found.get ?? found.value)
  }
  throw new Error(`oidc-provider has no ${name}.`)
}

test('the patched methods are those that the patches were written for', () => {
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

/** The files that are read, with what is relied upon. */
const read = {
  // The value and the payload of a token: see `jwt-format.ts`.
  'lib/models/formats/opaque.js': '02aRO1Tdiv9e',
  'lib/models/base_model.js': 'ftI9n27uiZ0V',
  // When `scopes` and the client’s scope are checked.
  'lib/actions/grants/refresh_token.js': 'l5A0vAOrhoXH',
  'lib/actions/grants/client_credentials.js': 'BpLmLHfARHrs',
  // `adapter.find` throws for a code without its redirect URI, before the code is consumed.
  'lib/actions/grants/authorization_code.js': 'YrU1ZmuVEvvy',
  // `session.state.secret` protects the forms of our pages: see `page-sources.ts`.
  'lib/shared/xsrf.js': 'O7kt_E1OpS5p',
  // How a browser is signed in and out outside of an authorization request: see `sessions.ts`.
  'lib/models/session.js': 'jFIYy8AW8xIA',
  // How a request restarts with another account: see `interactions.ts`.
  'lib/models/interaction.js': 'S4_g6bsNz5Ru',
  // Why JWTs are sent to it as handles: see `jwt-format.ts`.
  'lib/shared/reject_structured_tokens.js': '7yeSp9NqkmxD',
  // How a body is read: see `prepare-request.ts`.
  'lib/shared/selective_body.js': 'PAIububd8xsE',
} as const

test('the files that are read are those that the readers were written for', () => {
  const digests = Object.keys(read).map(path => [path, digestOf(fileOf(path))])
  assert.deepEqual(Object.fromEntries(digests), read)
})
