/** Published client libraries, unmodified, run the whole flow. `web-apps.test.ts`: frameworks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { AuthorizationCode, ClientCredentials } from 'simple-oauth2'
import { type App, authorize, type Fixture, redirectUri, withFixture } from '../server.ts'
import { assertCannotRead, assertCanRead } from '../tokens/token-reads.ts'

function configurationOf({ url }: Fixture, app: App, authentication?: openid.ClientAuth) {
  return openid.discovery(new URL(url), app.client_id, app.client_secret, authentication, {
    execute: [openid.allowInsecureRequests],
  })
}

test('openid-client: discovery, PKCE, nonce, ID token, userinfo, refresh, introspection and revocation work', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    for (const authentication of [openid.ClientSecretPost, openid.ClientSecretBasic]) {
      const configuration = await configurationOf(fixture, app, authentication(app.client_secret))
      const verifier = openid.randomPKCECodeVerifier()
      const [nonce, state] = [openid.randomNonce(), openid.randomState()]
      const address = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid profile email offline_access read:user read:post',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        nonce,
        state,
        prompt: 'consent',
      })
      const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
      const tokens = await openid.authorizationCodeGrant(configuration, callbackUrl, {
        pkceCodeVerifier: verifier,
        expectedNonce: nonce,
        expectedState: state,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      assert.ok(claims)
      assert.equal(claims.iss, fixture.url)
      assert.equal(claims.aud, app.client_id)
      const info = await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)
      assert.deepEqual([info.name, info.email], [fixture.ann.name, fixture.ann.email])
      await assertCanRead(fixture, tokens.access_token)

      const refreshed = await openid.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      await assertCanRead(fixture, refreshed.access_token)
      assert.notEqual(refreshed.refresh_token, tokens.refresh_token)

      const introspected = await openid.tokenIntrospection(configuration, refreshed.access_token)
      assert.equal(introspected.active, true)
      assert.ok(introspected.scope?.split(' ').includes('read:post'))
      await openid.tokenRevocation(configuration, refreshed.refresh_token ?? '')
      await assertCannotRead(fixture, refreshed.access_token)
      const after = await openid.tokenIntrospection(configuration, refreshed.access_token)
      assert.deepEqual(after, { active: false })
    }
  })
})

test('openid-client: client credentials and a pushed request work', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const configuration = await configurationOf(fixture, app)
    const own = await openid.clientCredentialsGrant(configuration, { scope: 'read:post' })
    assert.equal((await fixture.call('/api/v1/posts', { key: own.access_token })).status, 200)
    assert.equal(own.refresh_token, undefined)

    const verifier = openid.randomPKCECodeVerifier()
    const pushed = await openid.buildAuthorizationUrlWithPAR(configuration, {
      redirect_uri: redirectUri,
      scope: 'read:post read:user',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: 'pushed',
    })
    assert.deepEqual([...pushed.searchParams.keys()].sort(), ['client_id', 'request_uri'])
    const callbackUrl = await authorize(fixture.browser(), pushed, fixture.ann)
    const tokens = await openid.authorizationCodeGrant(configuration, callbackUrl, {
      pkceCodeVerifier: verifier,
      expectedState: 'pushed',
    })
    await assertCanRead(fixture, tokens.access_token)
  })
})

test('oauth4webapi: the flow works with its strict checks of the specifications', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ type: 'public' })
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(fixture.url)
    for (const algorithm of ['oidc', 'oauth2'] as const) {
      const server = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { ...insecure, algorithm }),
      )
      const client = { client_id: app.client_id }
      const verifier = oauth.generateRandomCodeVerifier()
      const state = oauth.generateRandomState()
      const address = new URL(server.authorization_endpoint ?? '')
      address.search = new URLSearchParams({
        client_id: app.client_id,
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'read:user read:post',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
      }).toString()
      const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
      const parameters = oauth.validateAuthResponse(server, client, callbackUrl, state)
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        oauth.None(),
        parameters,
        redirectUri,
        verifier,
        insecure,
      )
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, response)
      assert.equal(tokens.token_type, 'bearer')
      await assertCanRead(fixture, tokens.access_token)
      const api = await oauth.protectedResourceRequest(
        tokens.access_token,
        'GET',
        new URL(`${fixture.url}/api/v1/me`),
        undefined,
        undefined,
        insecure,
      )
      assert.equal(api.status, 200)
    }
  })
})

test('oauth4webapi finds the authorization server from the resource', async () => {
  await withFixture({}, async ({ url }) => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const resource = new URL(url)
    const metadata = await oauth.processResourceDiscoveryResponse(
      resource,
      await oauth.resourceDiscoveryRequest(resource, insecure),
    )
    assert.deepEqual(metadata.authorization_servers, [url])
  })
})

test('simple-oauth2: code exchange, refresh, revocation and client credentials work', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const config = {
      client: { id: app.client_id, secret: app.client_secret },
      auth: {
        tokenHost: fixture.url,
        tokenPath: '/oauth/token',
        revokePath: '/oauth/revoke',
        authorizePath: '/oauth/authorize',
      },
    }
    const client = new AuthorizationCode(config)
    const address = client.authorizeURL({
      redirect_uri: redirectUri,
      scope: ['offline_access', 'read:user', 'read:post'],
      state: 's',
      prompt: 'consent',
    } as Parameters<typeof client.authorizeURL>[0])
    const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
    const code = callbackUrl.searchParams.get('code') ?? ''
    const token = await client.getToken({ code, redirect_uri: redirectUri })
    assert.equal(token.expired(), false)
    await assertCanRead(fixture, String(token.token.access_token))
    const refreshed = await token.refresh()
    await assertCanRead(fixture, String(refreshed.token.access_token))
    await refreshed.revokeAll()
    await assertCannotRead(fixture, String(refreshed.token.access_token))

    const { authorizePath: _, ...auth } = config.auth
    const own = await new ClientCredentials({ ...config, auth }).getToken({ scope: 'read:post' })
    const posts = await fixture.call('/api/v1/posts', { key: String(own.token.access_token) })
    assert.equal(posts.status, 200, posts.text)
  })
})
