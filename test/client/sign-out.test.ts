/** Signing out during a token refresh. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSignIn } from '../../src/client.ts'

const issuer = 'https://id.example.com'
const redirectUri = 'https://app.example.com/back'

/** A session that has just signed in, against a server whose response to a refresh the test controls. */
async function signIn(refreshed: () => Promise<Response>) {
  let state = ''
  const revoked: (string | null)[] = []
  const changes: boolean[] = []
  const answers: Readonly<Record<string, (form: URLSearchParams) => Promise<Response> | Response>> = {
    '/authorization': () => new Response(),
    '/token': form =>
      form.get('grant_type') === 'refresh_token'
        ? refreshed()
        : Response.json({ access_token: 'a1', refresh_token: 'r1', expires_in: 3600 }),
    '/revoke': form => {
      revoked.push(form.get('token'))
      return new Response()
    },
  }
  const session = createSignIn({
    baseUrl: issuer,
    clientId: 'app',
    scopes: ['read:post'],
    redirectUri,
    storage: 'memory',
    onChange: isSignedIn => changes.push(isSignedIn),
    navigate: url => {
      state = new URL(url).searchParams.get('state') ?? ''
    },
    fetch: async (url, init) => {
      const { pathname } = new URL(String(url))
      const answer = answers[pathname]
      if (answer) return answer(init?.body as URLSearchParams)
      return Response.json({
        issuer,
        authorization_endpoint: `${issuer}/authorization`,
        token_endpoint: `${issuer}/token`,
        revocation_endpoint: `${issuer}/revoke`,
      })
    },
  })
  await session.signIn()
  await session.handleRedirect(`${redirectUri}?code=c&state=${state}&iss=${issuer}`)
  return { session, revoked, changes }
}

test('tokens of a refresh that completes after the sign-out are revoked and not kept', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  const { session, revoked, changes } = await signIn(() => promise)
  const refreshing = session.token('a1')
  await new Promise(setImmediate)
  await session.signOut()
  resolve(Response.json({ access_token: 'a2', refresh_token: 'r2', expires_in: 3600 }))
  assert.equal(await refreshing, undefined)
  assert.equal(session.isSignedIn, false)
  assert.deepEqual(changes, [true, false])
  assert.deepEqual(revoked, ['r1', 'r2'])
})

test('a refresh that is refused after the sign-out has no effect', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  const { session, changes } = await signIn(() => promise)
  const refreshing = session.token('a1')
  await new Promise(setImmediate)
  await session.signOut()
  resolve(Response.json({ error: 'invalid_grant' }, { status: 400 }))
  assert.equal(await refreshing, undefined)
  assert.deepEqual(changes, [true, false])
})
