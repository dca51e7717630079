/** Sign-in with PKCE: in Chromium against a service, and against servers with invalid responses. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { createSignIn } from '../../src/client.ts'
import { type TestService, withService } from '../server/serve/service.ts'
import { openBrowser } from '../system/browser/chromium.ts'
import { bundledClient } from './bundle.ts'

const password = 'correct horse battery'
const email = 'admin@example.com'

let browser: Browser
let client: string
before(async () => {
  client = await bundledClient()
  browser = await openBrowser()
})
after(() => browser.close())

const app = (service: string, clientId: string) => `<!doctype html><title>App</title><h1>App</h1>
<script type="module">
  import { createClient, createSignIn } from '/client.js'
  globalThis.changes = []
  globalThis.session = createSignIn({
    baseUrl: '${service}',
    clientId: '${clientId}',
    scopes: ['openid', 'offline_access', 'read:user', 'write:post'],
    onChange: isSignedIn => changes.push(isSignedIn),
  })
  globalThis.api = createClient({ baseUrl: '${service}', token: session.token })
  globalThis.back = session.handleRedirect().catch(error => error)
  globalThis.again = session.handleRedirect().catch(error => error)
  await back
  document.body.dataset.ready = 'yes'
</script>`

/** A single-page app on another origin than the service. */
async function withApp(use: (service: TestService, url: string) => Promise<void>): Promise<void> {
  const server = createServer((req, res) => {
    const isClient = req.url === '/client.js'
    res.setHeader('content-type', isClient ? 'text/javascript' : 'text/html').end(isClient ? client : html)
  })
  let html = ''
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://localhost:${(server.address() as AddressInfo).port}/app`
  try {
    await withService({ rateLimit: 'off', adminPassword: password }, async service => {
      const body = {
        name: 'Reading List',
        type: 'public',
        redirect_uris: [url],
        scopes: ['openid', 'offline_access', 'read:user', 'write:post'],
      }
      const created = await service.call('/api/v1/oauth_apps', { method: 'POST', key: service.key, body })
      assert.equal(created.status, 201, created.text)
      html = app(service.url, String(created.json.client_id))
      await use(service, url)
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function ready(page: Page): Promise<void> {
  await page.locator('[data-ready=yes]').waitFor()
}

async function toConsent(page: Page, returnTo: string): Promise<void> {
  await page.evaluate(`session.signIn('${returnTo}')`)
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: /Reading List asks/ }).waitFor()
}

/** A background tab draws no frames. */
const polled = { polling: 50 }

test('sign-in survives a reload, tokens are refreshed by one tab at a time, and sign-out applies to every tab', async () => {
  await withApp(async (service, url) => {
    const context = await browser.newContext()
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    const refreshes: string[] = []
    context.on('request', request => {
      if (request.postData()?.includes('grant_type=refresh_token')) refreshes.push(request.url())
    })
    await page.goto(`${url}?tab=one`)
    await ready(page)
    assert.deepEqual(await page.evaluate('api.me().catch(({ code }) => code)'), 'UNAUTHORIZED')
    await toConsent(page, '/inside')
    await page.getByRole('button', { name: 'Allow' }).click()
    await ready(page)
    assert.deepEqual(await page.evaluate('back'), { returnTo: '/inside' })
    assert.deepEqual(await page.evaluate('again'), { returnTo: '/inside' })
    assert.equal(page.url(), url)
    assert.equal(await page.evaluate('api.me().then(({ email }) => email)'), email)
    await page.evaluate(`api.posts.create({ title: 'By an app' })`)

    await page.reload()
    await ready(page)
    const first = await page.evaluate('session.token()')
    const both = await page.evaluate(`Promise.all([session.token('${first}'), session.token('${first}')])`)
    assert.ok(Array.isArray(both) && both[0] === both[1] && both[0] !== first, String(both))
    assert.equal(refreshes.length, 1)

    const [copy] = await Promise.all([context.waitForEvent('page'), page.evaluate(`void open('${url}')`)])
    await ready(copy)
    assert.equal(await copy.evaluate('session.token()'), both[0])
    const refused = `session.token('${both[0]}')`
    const [here, there] = await Promise.all([page.evaluate(refused), copy.evaluate(refused)])
    assert.ok(here !== both[0] && there !== both[0])
    for (const tab of [page, copy])
      assert.equal(await tab.evaluate('api.me().then(({ email }) => email)'), email)

    const last = String(await page.evaluate('session.token()'))
    const signedOut = copy.waitForFunction('changes.at(-1) === false', undefined, polled)
    await page.evaluate('session.signOut()')
    await signedOut
    assert.deepEqual(await copy.evaluate('[session.isSignedIn, sessionStorage.length]'), [false, 0])
    assert.equal((await service.call('/api/v1/me', { key: last })).status, 401)
    await context.close()
  })
})

test('a refused sign-in, and one that another tab started, leave the session signed out', async () => {
  await withApp(async (_service, url) => {
    const context = await browser.newContext()
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    await page.goto(url)
    await ready(page)
    await toConsent(page, '/')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await ready(page)
    assert.equal(await page.evaluate('back.then(({ code }) => code)'), 'ACCESS_DENIED')
    await page.goto(`${url}?code=stolen&state=forged`)
    await ready(page)
    assert.equal(await page.evaluate('back.then(({ code }) => code)'), 'UNKNOWN_STATE')
    assert.deepEqual([page.url(), await page.evaluate('session.isSignedIn')], [url, false])
    await context.close()
  })
})

const issuer = 'https://id.example.com'
const redirectUri = 'https://app.example.com/back'

interface Answers {
  readonly issuer?: string
  readonly iss?: string
  readonly claims?: object
  readonly endpoints?: object
  /** The response of the token endpoint. */
  readonly answer?: (init: RequestInit | undefined) => Response
}

/** Signs in at a server with this response. Returns the code of the error. */
async function codeWith({
  issuer: sentIssuer = issuer,
  iss = issuer,
  claims = {},
  endpoints,
  answer,
}: Answers): Promise<string> {
  let authorization = new URLSearchParams()
  const session = createSignIn({
    baseUrl: issuer,
    clientId: 'app',
    scopes: ['openid'],
    redirectUri,
    storage: 'memory',
    navigate: url => {
      authorization = new URL(url).searchParams
    },
    fetch: async (url, init) => {
      const isMetadata = String(url).includes('/.well-known/')
      const payload = { iss: issuer, aud: 'app', nonce: authorization.get('nonce'), ...claims }
      const id_token = `e30.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.x`
      const metadata = {
        issuer: sentIssuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        authorization_response_iss_parameter_supported: true,
        ...endpoints,
      }
      if (answer && !isMetadata) return answer(init)
      return Response.json(isMetadata ? metadata : { access_token: 'a', id_token })
    },
  })
  const outcome = session
    .signIn()
    .then(() =>
      session.handleRedirect(
        `${redirectUri}?code=c&state=${authorization.get('state')}${iss && `&iss=${iss}`}`,
      ),
    )
  const code = await outcome.then(
    () => 'signed in',
    error => error.code,
  )
  assert.equal(session.isSignedIn, code === 'signed in')
  return code
}

test('another issuer and the ID token of another sign-in are refused', async () => {
  assert.equal(await codeWith({}), 'signed in')
  assert.equal(await codeWith({ issuer: 'https://evil.example.com' }), 'WRONG_ISSUER')
  assert.equal(await codeWith({ iss: 'https://evil.example.com' }), 'WRONG_ISSUER')
  assert.equal(await codeWith({ iss: '' }), 'WRONG_ISSUER')
  assert.equal(await codeWith({ claims: { nonce: 'other' } }), 'WRONG_ID_TOKEN')
  assert.equal(await codeWith({ claims: { aud: 'other' } }), 'WRONG_ID_TOKEN')
})

test('an ID token that cannot be parsed is refused', async () => {
  for (const id_token of ['', 'e30', 'e30.%.x', 'e30.e3.x', 'e30.bnVsbA.x', 'e30.MQ.x']) {
    const answer = () => Response.json({ access_token: 'a', id_token })
    assert.equal(await codeWith({ answer }), 'WRONG_ID_TOKEN', id_token)
  }
})

test('no other server gets codes or tokens, and requests time out', async t => {
  for (const elsewhere of ['https://evil.example.com/x', 'javascript:alert(1)', '/relative', 'x'])
    for (const name of ['authorization_endpoint', 'token_endpoint', 'revocation_endpoint'])
      assert.equal(
        await codeWith({ endpoints: { [name]: elsewhere } }),
        'WRONG_ISSUER',
        `${name} ${elsewhere}`,
      )
  const redirects = (init: RequestInit | undefined) => {
    assert.equal(init?.redirect, 'manual')
    return new Response(null, { status: 307, headers: { location: 'https://evil.example.com/token' } })
  }
  assert.equal(await codeWith({ answer: redirects }), 'REDIRECTED')
  t.mock.method(AbortSignal, 'timeout', () => AbortSignal.abort(new Error('too late')))
  const late = (init: RequestInit | undefined): never => {
    init?.signal?.throwIfAborted()
    throw new TypeError('no time limit')
  }
  assert.equal(await codeWith({ answer: late }), 'NETWORK_ERROR')
})
