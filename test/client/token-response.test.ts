/** Token responses that do not arrive completely, or do not come from the service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSignIn } from '../../src/client.ts'

const issuer = 'https://id.example.com'
const redirectUri = 'https://app.example.com/back'

const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
}

/** A response whose connection breaks within the body. */
function brokenResponse(): Response {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"access_token":'))
      controller.error(new Error('reset'))
    },
  })
  return new Response(body, { headers: { 'content-type': 'application/json' } })
}

/** Someone who has signed in at a server that answers refreshes so. */
async function signIn(refreshes: (() => Response)[]) {
  let authorization = new URLSearchParams()
  const sent: string[] = []
  const session = createSignIn({
    baseUrl: issuer,
    clientId: 'app',
    scopes: ['offline_access'],
    redirectUri,
    storage: 'memory',
    navigate: url => {
      authorization = new URL(url).searchParams
    },
    fetch: async (url, init) => {
      if (String(url).includes('/.well-known/')) return Response.json(metadata)
      const form = new URLSearchParams(String(init?.body))
      if (form.get('grant_type') === 'authorization_code')
        return Response.json({ access_token: 'first', refresh_token: 'r1', expires_in: 3600 })
      sent.push(form.get('refresh_token') ?? '')
      return refreshes.shift()?.() ?? Response.error()
    },
  })
  await session.signIn()
  await session.handleRedirect(`${redirectUri}?code=c&state=${authorization.get('state')}`)
  return { session, sent }
}

test('a refresh is retried when its response breaks off, because the old token is used up and the new one lost', async () => {
  const answer = () => Response.json({ access_token: 'second', refresh_token: 'r2', expires_in: 3600 })
  const { session, sent } = await signIn([brokenResponse, answer])
  assert.equal(await session.token('first'), 'second')
  assert.deepEqual(sent, ['r1', 'r1'])
})

test('a response to a refresh that is not from the service is an error, and does not end the sign-in', async () => {
  const page = () => new Response('<h1>Welcome</h1>', { headers: { 'content-type': 'text/html' } })
  for (const answer of [page, () => Response.json({}), () => Response.json(null), () => new Response()]) {
    const { session, sent } = await signIn([answer])
    await assert.rejects(session.token('first'), { name: 'ApiError', code: 'UNEXPECTED_ANSWER', status: 200 })
    assert.deepEqual([session.isSignedIn, sent], [true, ['r1']])
  }
})
