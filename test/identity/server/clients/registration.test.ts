/** Which metadata is registered for an app (RFC 7591, 2), without a server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkedRegistration } from '../../../../src/identity/server/clients/registration.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import blog from '../../../models/blog.ts'

const apps = checkModel(blog).collections.get('oauth_apps') ?? assert.fail()
const rules = { apps, serviceName: 'Portico' }
const uris = ['https://app.example/cb']
const none = 'none'

const refused: readonly (readonly [what: string, metadata: object, error: string, message: RegExp])[] = [
  [
    'client credentials without a secret',
    {
      redirect_uris: uris,
      token_endpoint_auth_method: none,
      grant_types: ['authorization_code', 'client_credentials'],
    },
    'invalid_client_metadata',
    /client_credentials needs a secret/,
  ],
  [
    'an authorization code grant without redirect URIs',
    {},
    'invalid_redirect_uri',
    /at least one of redirect_uris/,
  ],
  [
    'grant types and response types that contradict each other',
    { redirect_uris: uris, response_types: [] },
    'invalid_client_metadata',
    /must fit together/,
  ],
  [
    'a response type without its grant type',
    { grant_types: ['client_credentials'], response_types: ['code'] },
    'invalid_client_metadata',
    /must fit together/,
  ],
  [
    'an unknown grant type',
    { redirect_uris: uris, grant_types: ['implicit'] },
    'invalid_client_metadata',
    /grant_types/,
  ],
  [
    'a redirect URI with a forbidden scheme',
    { redirect_uris: ['javascript:x'] },
    'invalid_redirect_uri',
    /redirect_uris/,
  ],
  [
    'a post-logout redirect URI with a forbidden scheme',
    { redirect_uris: uris, post_logout_redirect_uris: ['javascript:x'] },
    'invalid_redirect_uri',
    /post_logout_redirect_uris/,
  ],
  [
    'too many redirect URIs',
    { redirect_uris: Array.from({ length: 51 }, (_, n) => `https://app.example/${n}`) },
    'invalid_redirect_uri',
    /at most 50/,
  ],
  [
    'scopes as an array',
    { redirect_uris: uris, scope: ['read:post'] },
    'invalid_client_metadata',
    /scope must be/,
  ],
  ['an unknown scope', { redirect_uris: uris, scope: 'read:nothing' }, 'invalid_client_metadata', /scope/],
]

for (const [what, metadata, error, message] of refused) {
  test(`${what} is refused as ${error}`, () => {
    const checked = checkedRegistration(rules, metadata)
    assert.ok(checked.kind === 'refused')
    assert.equal(checked.fault.error, error)
    assert.match(checked.fault.description, message)
  })
}

test('only known metadata is registered, with RFC 7591’s defaults for the rest', () => {
  const checked = checkedRegistration(rules, {
    redirect_uris: uris,
    jwks_uri: 'https://app.example/keys',
    scope: null,
  })
  assert.ok(checked.kind === 'accepted')
  assert.deepEqual(checked.metadata, {
    client_name: 'app.example',
    application_type: 'web',
    redirect_uris: uris,
    post_logout_redirect_uris: [],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
  })
})

test('an app with client credentials alone needs no redirect URI', () => {
  const checked = checkedRegistration(rules, { client_name: 'A job', grant_types: ['client_credentials'] })
  assert.ok(checked.kind === 'accepted')
  assert.deepEqual(checked.metadata.response_types, [])
})
