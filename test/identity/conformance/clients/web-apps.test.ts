/** Web apps sign their users in with published frameworks, unmodified. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { Auth, skipCSRFCheck } from '@auth/core'
import type { OIDCConfig } from '@auth/core/providers'
import { betterAuth } from 'better-auth'
import { genericOAuth } from 'better-auth/plugins/generic-oauth'
import { Strategy as GitHubStrategy } from 'passport-github2'
import OAuth2Strategy from 'passport-oauth2'
import { type App, afterSignIn, authorize, type Fixture, redirectUri, withFixture } from '../server.ts'
import { assertCanRead } from '../tokens/token-reads.ts'

interface Outcome {
  readonly user?: { readonly accessToken: string; readonly profile: Record<string, unknown> }
  readonly location?: string
}

interface Authenticating {
  authenticate(request: unknown, options: object): void
}

/** One run of a Passport strategy, as `passport.authenticate` does it. */
function runStrategy(strategy: object, request: object): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const running = Object.assign(Object.create(strategy), {
      success: (user: Outcome['user']) => resolve({ user } as Outcome),
      redirect: (location: string) => resolve({ location }),
      fail: (why: unknown) => reject(new Error(`failed: ${JSON.stringify(why)}`)),
      error: reject,
      pass: () => reject(new Error('passed')),
    }) as Authenticating
    running.authenticate(request, {})
  })
}

function verify(
  accessToken: string,
  _refreshToken: string,
  profile: Record<string, unknown>,
  done: (error: null, user: object) => void,
): void {
  done(null, { accessToken, profile })
}

async function throughPassport(fixture: Fixture, strategy: object): Promise<NonNullable<Outcome['user']>> {
  const session = {}
  const { location } = await runStrategy(strategy, { query: {}, session, headers: {} })
  assert.ok(location)
  const callbackUrl = await authorize(fixture.browser(), location, fixture.ann)
  const query = Object.fromEntries(callbackUrl.searchParams)
  const { user } = await runStrategy(strategy, { query, session, headers: {} })
  assert.ok(user)
  return user
}

test('passport-oauth2 signs in with state and PKCE', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const strategy = new OAuth2Strategy(
      {
        authorizationURL: `${fixture.url}/oauth/authorize`,
        tokenURL: `${fixture.url}/oauth/token`,
        clientID: app.client_id,
        clientSecret: app.client_secret,
        callbackURL: redirectUri,
        scope: ['read:user', 'read:post'],
        state: true,
        pkce: true,
      },
      verify,
    )
    const { accessToken } = await throughPassport(fixture, strategy)
    await assertCanRead(fixture, accessToken)
  })
})

test('passport-github2 signs in with commas between scopes, and reads the profile from the API', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const strategy = new GitHubStrategy(
      {
        authorizationURL: `${fixture.url}/oauth/authorize`,
        tokenURL: `${fixture.url}/oauth/token`,
        userProfileURL: `${fixture.url}/api/v1/me`,
        clientID: app.client_id,
        clientSecret: app.client_secret,
        callbackURL: redirectUri,
        scope: ['read:user', 'read:post'],
      },
      verify,
    )
    const { location = '' } = await runStrategy(strategy, { query: {}, session: {}, headers: {} })
    assert.equal(new URL(location).searchParams.get('scope'), 'read:user,read:post')
    const { accessToken, profile } = await throughPassport(fixture, strategy)
    await assertCanRead(fixture, accessToken)
    assert.equal(profile.provider, 'github')
    assert.equal((profile._json as Record<string, unknown>).email, fixture.ann.email)
  })
})

/** A web app on its own port. */
async function withWebApp(
  answerOf: (request: Request, origin: string) => Promise<Response>,
  use: (origin: string) => Promise<void>,
): Promise<void> {
  const server = createServer(async (message, response) => {
    const origin = `http://${message.headers.host}`
    const answer = await answerOf(new Request(`${origin}${message.url}`, await requestOf(message)), origin)
    response.writeHead(answer.status, {
      ...Object.fromEntries(answer.headers),
      'set-cookie': answer.headers.getSetCookie(),
    })
    response.end(await answer.text())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  try {
    await use(`http://127.0.0.1:${address.port}`)
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}

async function withAuthJs(
  provider: () => OIDCConfig<Record<string, unknown>>,
  use: (origin: string) => Promise<void>,
): Promise<void> {
  const faults: Error[] = []
  const answerOf = (request: Request) =>
    Auth(request, {
      providers: [provider()],
      secret: 'a secret that is long enough for the tests',
      trustHost: true,
      basePath: '/auth',
      skipCSRFCheck,
      logger: { error: error => faults.push(error), warn: () => {} },
      callbacks: { session: ({ session, token }) => ({ ...session, ...token }) },
    })
  await withWebApp(answerOf, use)
  assert.deepEqual(faults, [])
}

/** Completes the pages of the service: consent too, except for a first-party app. */
async function throughPages(fixture: Fixture, address: string, isFirstParty: boolean): Promise<URL> {
  const { searchParams } = new URL(address)
  for (const name of ['state', 'code_challenge', 'nonce']) assert.ok(searchParams.get(name), name)
  if (!isFirstParty) return authorize(fixture.browser(), address, fixture.ann)
  const end = await afterSignIn(fixture.browser(), address, fixture.ann)
  assert.ok('location' in end, 'no page but the sign-in was expected')
  return end.location
}

/** A confidential app with this redirect URI. */
async function appAt(fixture: Fixture, uri: string, isFirstParty: boolean): Promise<App> {
  if (!isFirstParty) return fixture.app({ redirect_uris: [uri] })
  const body = { name: 'Console', redirect_uris: [uri], first_party: true }
  const created = await fixture.call('/api/v1/oauth_apps', { method: 'POST', key: fixture.admin.key, body })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as App
}

async function requestOf(message: IncomingMessage): Promise<RequestInit> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  const headers = message.headers as Record<string, string>
  const { method = 'GET' } = message
  return { method, headers, ...(method === 'POST' && { body: Buffer.concat(chunks) }) }
}

/** A fetch that keeps the app’s cookies. */
function cookieKeeper() {
  const cookies = new Map<string, string>()
  return async (url: string, init: RequestInit = {}): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(init.headers as Record<string, string>), cookie }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
}

for (const isFirstParty of [false, true]) {
  const asWhat = isFirstParty ? 'as a first-party app, without a consent page' : 'as a third-party app'

  test(`Auth.js signs in by OpenID Connect, ${asWhat}`, async () => {
    await withFixture({}, async fixture => {
      let app: App | undefined
      const provider = () => {
        assert.ok(app)
        return {
          id: 'portico',
          name: 'Portico',
          type: 'oidc' as const,
          issuer: fixture.url,
          clientId: app.client_id,
          clientSecret: app.client_secret,
          checks: ['pkce' as const, 'state' as const, 'nonce' as const],
        }
      }
      await withAuthJs(provider, async origin => {
        app = await appAt(fixture, `${origin}/auth/callback/portico`, isFirstParty)
        const request = cookieKeeper()
        const started = await request(`${origin}/auth/signin/portico`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
          body: '',
        })
        const callbackUrl = await throughPages(fixture, started.headers.get('location') ?? '', isFirstParty)
        assert.equal(callbackUrl.origin, origin)
        const back = await request(callbackUrl.href)
        assert.equal(back.status, 302)
        const session = (await (await request(`${origin}/auth/session`)).json()) as Record<string, unknown>
        assert.equal(session.email, fixture.ann.email)
        assert.equal(session.name, fixture.ann.name)
      })
    })
  })

  test(`better-auth signs in with its OAuth plugin, ${asWhat}`, async () => {
    await withFixture({}, async fixture => {
      let auth: { readonly handler: (request: Request) => Promise<Response> } | undefined
      const answerOf = (request: Request) => auth?.handler(request) ?? assert.fail('no app yet')
      await withWebApp(answerOf, async origin => {
        const app = await appAt(fixture, `${origin}/api/auth/callback/portico`, isFirstParty)
        auth = betterAuth({
          baseURL: origin,
          secret: 'a secret that is long enough for the tests of better-auth',
          telemetry: { enabled: false },
          rateLimit: { enabled: false },
          plugins: [
            genericOAuth({
              config: [
                {
                  providerId: 'portico',
                  discoveryUrl: `${fixture.url}/.well-known/openid-configuration`,
                  clientId: app.client_id,
                  clientSecret: app.client_secret,
                  scopes: ['openid', 'profile', 'email'],
                  requireIdTokenVerification: true,
                },
              ],
            }),
          ],
        })
        const request = cookieKeeper()
        const started = await request(`${origin}/api/auth/sign-in/social`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Origin: origin },
          body: JSON.stringify({ provider: 'portico', callbackURL: '/home' }),
        })
        const { url } = (await started.json()) as { url: string }
        const callbackUrl = await throughPages(fixture, url, isFirstParty)
        const back = await request(callbackUrl.href)
        assert.match(back.headers.get('location') ?? '', /\/home$/)
        const session = await (await request(`${origin}/api/auth/get-session`)).json()
        const { user } = session as { user: { email: string; name: string } }
        assert.deepEqual([user.email, user.name], [fixture.ann.email, fixture.ann.name])
      })
    })
  })
}
