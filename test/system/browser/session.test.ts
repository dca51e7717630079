/** Pages of the service’s own origin with its session cookie: an app built by Vite, GraphiQL and the reference. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Browser, Page } from 'playwright-core'
import { type TestService, withService } from '../../server/serve/service.ts'
import { openBrowser } from './chromium.ts'
import { type AppFile, buildApp, serveApp } from './react-app.ts'
import { addAuthenticator, openVisitor } from './visitor.ts'

let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

const person = { name: 'Ada Lovelace', email: 'ada@example.com', password: 'correct horse battery' }

interface Site {
  readonly url: string
  readonly service: TestService
  files: readonly AppFile[]
}

/** One server with the app’s files and the service on the same origin. */
async function withSite(use: (site: Site) => Promise<void>): Promise<void> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  // A host name, because a passkey cannot be bound to an IP address.
  const url = `http://localhost:${port}`
  const site: Pick<Site, 'files'> = { files: [] }
  try {
    await withService({ listen: false, baseUrl: url, rateLimit: 'off' }, async service => {
      const { handler, upgrade } = service.service
      server.on('upgrade', upgrade)
      server.on('request', (request, response) => {
        const [path = ''] = (request.url ?? '').split('?')
        if (!path.startsWith('/app/')) return handler(request, response)
        const name = path.slice('/app/'.length) || 'index.html'
        const file = site.files.find(file => file.name === name)
        const type = name.endsWith('.js') ? 'text/javascript' : 'text/html'
        return response.writeHead(file ? 200 : 404, { 'Content-Type': type }).end(file?.content)
      })
      await use(Object.assign(site, { url, service }))
    })
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}

async function seed({ service, url }: Site): Promise<void> {
  const { call, key } = service
  const app = await call('/api/v1/oauth_apps', {
    method: 'POST',
    key,
    body: {
      name: 'Posts',
      type: 'public',
      redirect_uris: [`${url}/app/`],
      scopes: ['openid', 'offline_access', 'read:user', 'write:post'],
      first_party: true,
    },
  })
  assert.equal(app.status, 201, app.text)
}

async function build(site: Site): Promise<void> {
  const apps = await site.service.call('/api/v1/oauth_apps', { key: site.service.key })
  const [app] = apps.json.data as readonly { client_id: string }[]
  const root = join(import.meta.dirname, 'spa')
  site.files = await buildApp({ VITE_CLIENT_ID: app?.client_id ?? '' }, { root, base: '/app/' })
}

const user = (page: Page, text: string) => page.locator('#user', { hasText: text }).waitFor()

async function writes(page: Page, title: string): Promise<void> {
  await page.getByLabel('Title').fill(title)
  await page.getByRole('button', { name: 'Write' }).click()
  await page.locator('#events').getByText(title).waitFor()
}

/** Adds a passkey and turns on one-time codes; returns a recovery code. */
async function protect(page: Page, url: string): Promise<string> {
  await addAuthenticator(page, true)
  await page.goto(`${url}/account/security`)
  await page.getByLabel('Name').fill('My laptop')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('The passkey is added.').waitFor()
  await page.getByRole('button', { name: 'Turn on one-time codes' }).click()
  const secret = ((await page.locator('.secret').textContent()) ?? '').replaceAll(/\s/g, '')
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  await page.getByLabel('Code', { exact: true }).fill(code)
  await page.locator('main button:not(.plain):not(.danger)').last().click()
  return (await page.locator('.codes li').first().textContent()) ?? ''
}

async function signInHere(page: Page): Promise<void> {
  await page.getByLabel('E-mail').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Sign in here' }).click()
}

test('an app of the same origin signs up and signs in by passkey and second factor with the client package alone', async () => {
  await withSite(async site => {
    await build(site)
    const { url } = site
    const { context, page, faults } = await openVisitor(browser)
    try {
      await page.goto(`${url}/app/`)
      await page.getByLabel('Name').fill(person.name)
      await page.getByLabel('New address').fill(person.email)
      await page.getByLabel('New password').fill('short')
      await page.getByRole('button', { name: 'Sign up' }).click()
      await user(page, 'password: ')
      await page.getByLabel('New password').fill(person.password)
      await page.getByRole('button', { name: 'Sign up' }).click()
      await user(page, 'Sign in with the password')
      await signInHere(page)
      await user(page, 'Ada Lovelace, by cookie')
      const recovery = await protect(page, url)
      await page.goto(`${url}/app/`)
      await user(page, 'Ada Lovelace, by cookie')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await user(page, 'signed out')
      await page.getByRole('button', { name: 'Sign in by passkey' }).click()
      await user(page, 'Ada Lovelace, by cookie')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await user(page, 'signed out')
      page.once('dialog', dialog => dialog.accept('000-000'))
      await signInHere(page)
      await user(page, 'The code is wrong')
      page.once('dialog', dialog => dialog.accept(recovery))
      await signInHere(page)
      await user(page, 'Ada Lovelace, by cookie')
      assert.deepEqual(faults, [])
    } finally {
      await context.close()
    }
  })
})

test('an app of the same origin signs in by JSON and by OAuth, and its cookie works in GraphiQL and the reference', async () => {
  await withSite(async site => {
    await seed(site)
    await build(site)
    const { url, service } = site
    const { call } = service
    const created = await call('/account/sign-up', { method: 'POST', body: person, headers: { Origin: url } })
    assert.equal(created.status, 202, created.text)
    const { context, page, faults, origins } = await openVisitor(browser)
    try {
      // By JSON, with the cookie.
      await page.goto(`${url}/app/`)
      await user(page, 'UNAUTHORIZED')
      await page.getByLabel('E-mail').fill(person.email)
      await page.getByLabel('Password', { exact: true }).fill('wrong')
      await page.getByRole('button', { name: 'Sign in here' }).click()
      await user(page, 'The e-mail address or the password is wrong.')
      await page.getByLabel('Password', { exact: true }).fill(person.password)
      await page.getByRole('button', { name: 'Sign in here' }).click()
      await user(page, 'Ada Lovelace, by cookie')
      await writes(page, 'By cookie')
      await page.reload()
      await user(page, 'Ada Lovelace, by cookie')
      assert.equal(await page.evaluate('document.cookie'), '')

      // The service's own tools, without a key.
      const tool = await context.newPage()
      await tool.goto(`${url}/docs/rest#tag/users/listUsers`)
      const section = tool.locator('[id$="listUsers"]').last()
      await section.getByRole('button', { name: /Test Request/ }).click()
      const dialog = tool.getByRole('dialog').last()
      const listed = tool.waitForResponse(answer => new URL(answer.url()).pathname === '/api/v1/users')
      await dialog.getByRole('button', { name: /^Send/ }).first().click()
      const response = await listed
      assert.equal(response.status(), 200, JSON.stringify(await response.request().allHeaders()))
      await tool.addInitScript("localStorage.setItem('graphiql:query', '{ me { email } }')")
      await tool.goto(`${url}/graphql`)
      await tool.locator('.graphiql-execute-button').click()
      await tool.locator('.result-window').filter({ hasText: person.email }).waitFor()
      const socket = (await tool.evaluate(`new Promise((resolve, reject) => {
        const socket = new WebSocket('${url.replace('http', 'ws')}/graphql', 'graphql-transport-ws')
        socket.onopen = () => socket.send('{"type":"connection_init"}')
        socket.onerror = reject
        socket.onmessage = ({ data }) => {
          if (data.includes('ack')) {
            socket.send('{"id":"1","type":"subscribe","payload":{"query":"{ me { email } }"}}')
          } else resolve(data)
        }
      })`)) as string
      assert.ok(socket.includes(person.email), socket)
      const storages = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'
      assert.doesNotMatch(String(await tool.evaluate(storages)), /portico_session|Bearer \w/)
      await tool.close()

      await page.getByRole('button', { name: 'Sign out' }).click()
      await user(page, 'signed out')
      await page.reload()
      await user(page, 'UNAUTHORIZED')

      // By OAuth, as a public first-party app.
      await page.getByRole('button', { name: 'Sign in by OAuth' }).click()
      await page.getByLabel('E-mail address').fill(person.email)
      await page.getByLabel('Password').fill(person.password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.waitForURL(`${url}/app/`)
      await user(page, 'Ada Lovelace, by OAuth')
      await writes(page, 'By OAuth')
      await page.locator('#posts').getByText('By cookie').waitFor()
      assert.deepEqual([...origins], [url])
      assert.deepEqual(faults, [])
    } finally {
      await context.close()
    }
  })
})

test('a page of another origin cannot use the cookie', async () => {
  const other = await serveApp()
  other.files = [{ name: 'index.html', content: '<!doctype html><title>Evil</title>' }]
  await withSite(async site => {
    const { url, service } = site
    await service.call('/account/sign-up', { method: 'POST', body: person, headers: { Origin: url } })
    const { context, page } = await openVisitor(browser)
    try {
      await page.goto(`${url}/account/sign-in`)
      await page.getByLabel('E-mail address').fill(person.email)
      await page.getByLabel('Password').fill(person.password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.waitForURL(`${url}/account`)
      assert.equal(await page.evaluate("fetch('/api/v1/me').then(answer => answer.status)"), 200)
      // Another port is another origin of the same site, so the browser does send the cookie.
      await page.goto(other.url.replace('127.0.0.1', 'localhost'))
      const forged = (await page.evaluate(`(async () => {
        const socket = new WebSocket('${url.replace('http', 'ws')}/graphql', 'graphql-transport-ws')
        const asked = await new Promise(resolve => {
          socket.onerror = () => resolve('refused')
          socket.onopen = () => socket.send('{"type":"connection_init"}')
          socket.onmessage = ({ data }) => {
            if (data.includes('ack')) socket.send('{"id":"1","type":"subscribe","payload":{"query":"{ me { email } }"}}')
            else resolve(data)
          }
        })
        const read = await fetch('${url}/api/v1/me', { credentials: 'include' }).then(answer => answer.text(), String)
        const body = JSON.stringify({ title: 'Forged' })
        await fetch('${url}/api/v1/posts', { method: 'POST', mode: 'no-cors', credentials: 'include', body }).catch(String)
        return asked + read
      })()`)) as string
      assert.ok(!forged.includes(person.email), forged)
      const posts = await service.call('/api/v1/posts')
      assert.deepEqual(posts.json.data, [])
    } finally {
      await context.close()
      await other.close()
    }
  })
})
