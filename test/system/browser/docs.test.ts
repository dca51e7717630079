/** The pages at / and /docs in a browser: wide and narrow, light and dark, by keyboard, and without scripts. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { catalogue } from '../../../src/base/errors.ts'
import { anyone, collection, model, text } from '../../../src/index.ts'
import type { ServeOptions } from '../../../src/server/serve/service.ts'
import tracker from '../../models/tracker.ts'
import { serviceOfFile, type TestService, withService } from '../../server/serve/service.ts'
import { freePort } from '../processes/port.ts'
import { openBrowser } from './chromium.ts'
import {
  assertAccessible,
  chosenScreens,
  openVisitor,
  type Screens,
  saveScreenshot,
  type Visitor,
} from './visitor.ts'

const shared = serviceOfFile({ rateLimit: 'off', 'theme.colour': '#ffd54a' })
let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

const screens: Screens = {
  'wide and light': { viewport: { width: 1360, height: 900 } },
  'narrow and dark': { viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
}

/** Visits a page; fails on any fault, and on any request to another origin. */
async function onPage(
  path: string,
  use: (visited: Visitor) => Promise<void>,
  options: BrowserContextOptions = {},
  { url }: Pick<TestService, 'url'> = shared(),
): Promise<void> {
  const visited = await openVisitor(browser, options)
  try {
    const response = await visited.page.goto(url + path)
    assert.equal(response?.status(), 200, path)
    await use(visited)
    assert.deepEqual(visited.faults, [], path)
    assert.deepEqual([...visited.origins], [url], path)
  } finally {
    await visited.context.close()
  }
}

async function assertReadable(page: Page): Promise<void> {
  const where = page.url()
  assert.equal(await page.locator('html').getAttribute('lang'), 'en', where)
  assert.match(await page.title(), /\w+ – Portico/, where)
  assert.equal(await page.getByRole('main').count(), 1, where)
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, where)
  assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, where)
  await assertAccessible(page)
}

/** The section of an operation, once it is rendered. */
async function operation(page: Page, id: string): Promise<Locator> {
  const section = page.locator(`section[id$="/${id}"]`)
  await section.getByRole('heading').first().waitFor()
  await section.locator('.response-card').waitFor()
  return section
}

const pages = ['/', '/docs', '/docs/guides', '/docs/guides/rest', '/docs/errors']

for (const [name, options] of chosenScreens(screens, 'narrow and dark')) {
  test(`every page is accessible: ${name}`, async () => {
    for (const path of pages) {
      await onPage(
        path,
        async ({ page }) => {
          await assertReadable(page)
          await saveScreenshot(page, `docs${path.replaceAll('/', '-')}-${name.slice(0, 4)}`)
        },
        options,
      )
    }
    await onPage(
      '/docs/rest#tag/posts/listPosts',
      async ({ page }) => {
        await operation(page, 'listPosts')
        await assertReadable(page)
        await saveScreenshot(page, `docs-rest-${name.slice(0, 4)}`)
      },
      options,
    )
  })
}

test('/ links to the pages, which link to each other', async () => {
  await onPage('/', async ({ page }) => {
    const links = await page
      .getByRole('main')
      .getByRole('link')
      .evaluateAll(all => all.map(a => a.getAttribute('href')))
    assert.deepEqual(links, ['/docs', '/docs/rest', '/graphql', '/docs/guides', '/account'])
    const bar = page.getByRole('navigation', { name: 'Main' })
    for (const [label, title] of [
      ['Docs', /^Documentation/],
      ['REST API', /^REST API/],
      ['GraphQL', /^GraphQL/],
      ['Guides', /^Guides/],
      ['Sign in', /^Sign in/],
    ] as const) {
      await page.goto(shared().url)
      await bar.getByRole('link', { name: label }).click()
      await page.waitForFunction(`document.title !== ''`)
      assert.match(await page.title(), title)
    }
  })
})

test('the reference shows every collection, its rules in words, an example, and a sample in each language', async () => {
  await onPage(
    '/docs/rest#tag/posts/createPost',
    async ({ page }) => {
      const section = await operation(page, 'createPost')
      assert.match((await section.textContent()) ?? '', /Who may: author_id is the caller, or role admin/)
      assert.match(
        (await section.locator('.response-card').textContent()) ?? '',
        /"title": "Notes on the first release"/,
      )
      const samples: Readonly<Record<string, RegExp>> = {
        Curl: /curl [\s\S]*\/api\/v1\/posts[\s\S]*Notes on the first release/,
        Fetch: /fetch\('[^']*\/api\/v1\/posts'[\s\S]*Notes on the first release/,
        Requests: /requests\.post\([\s\S]*\/api\/v1\/posts[\s\S]*Notes on the first release/,
        'Typed client': /await api\.posts\.create\(\{[\s\S]*title: 'Notes on the first release'/,
      }
      for (const [label, code] of Object.entries(samples)) {
        await section
          .getByRole('button', { name: /Curl|Fetch|Requests|Typed client/ })
          .first()
          .click()
        await page.getByRole('option', { name: label }).click()
        const card = section.locator('.request-card')
        await card.filter({ hasText: label }).waitFor()
        assert.match((await card.textContent()) ?? '', code, label)
        await saveScreenshot(page, `sample-${label}`)
      }
      const { json } = await shared().call('/api/v1/openapi.json')
      const tags = (json.tags as { name: string }[]).map(({ name }) => name)
      const sidebar = (await page.locator('.t-doc__sidebar').first().textContent()) ?? ''
      for (const tag of tags) assert.ok(sidebar.includes(tag), tag)
    },
    screens['wide and light'],
  )
})

/** Sends `createPost` from the reference with the administrator’s key. */
async function tryOut(page: Page, { key }: TestService): Promise<void> {
  const section = await operation(page, 'createPost')
  await section.getByRole('button', { name: /Test Request/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Bearer Token').first().waitFor()
  await dialog.getByPlaceholder('Token').first().fill(key)
  await dialog.getByRole('button', { name: /^Send/ }).first().click()
  await dialog.getByText('201').first().waitFor()
  await saveScreenshot(page, 'tried')
}

test('the reference sends an operation with a key that was typed in', async () => {
  await onPage(
    '/docs/rest#tag/posts/createPost',
    async ({ page }) => {
      await tryOut(page, shared())
      const { json } = await shared().call('/api/v1/posts/1')
      assert.equal(json.title, 'Notes on the first release')
    },
    screens['wide and light'],
  )
})

test('the reference sends an operation even if the page was opened under another name than BASE_URL', async () => {
  const port = await freePort()
  const localhostUrl = `http://localhost:${port}`
  const options: ServeOptions = { rateLimit: 'off', host: 'localhost', port, baseUrl: localhostUrl }
  await withService(options, async otherService => {
    const { context, page, faults, origins } = await openVisitor(browser, screens['wide and light'])
    try {
      await page.goto(`http://docs.localhost:${port}/docs/rest#tag/posts/createPost`)
      await tryOut(page, otherService)
      assert.deepEqual(faults, [])
      assert.ok(origins.has(localhostUrl))
    } finally {
      await context.close()
    }
  })
})

async function search(page: Page, words: string): Promise<string[]> {
  await page.keyboard.press('Control+k')
  const dialog = page.getByRole('dialog', { name: 'Search the documentation' })
  await dialog.getByRole('combobox').fill(words)
  await dialog.getByRole('status').filter({ hasText: /found/ }).waitFor()
  return dialog.getByRole('option').locator('strong').allTextContents()
}

test('the search finds operations, guides and errors by keyboard', async () => {
  await onPage('/docs', async ({ page }) => {
    assert.ok((await search(page, 'verify delivery')).includes('Verify a delivery'))
    await saveScreenshot(page, 'search')
    await assertAccessible(page)
    await page.keyboard.press('Escape')
    assert.equal((await search(page, 'idempotency_key_reused'))[0], 'IDEMPOTENCY_KEY_REUSED')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/errors#IDEMPOTENCY_KEY_REUSED')
    assert.deepEqual(await search(page, 'nothing of the kind'), [])
    await page.keyboard.press('Escape')
    const titles = await search(page, 'list posts')
    const expected = titles.indexOf('List posts')
    assert.ok(expected >= 0, String(titles))
    for (let index = 0; index < expected; index++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/rest#tag/posts/listPosts')
    await operation(page, 'listPosts')
  })
})

test('the first link in the tab order skips the header', async () => {
  for (const path of ['/docs', '/docs/guides/rest', '/docs/rest']) {
    await onPage(path, async ({ page }) => {
      await page.keyboard.press('Tab')
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content')
      await page.keyboard.press('Enter')
      assert.equal(new URL(page.url()).hash, '#content')
    })
  }
})

test('the languages of the first request are switched by keyboard', async () => {
  await onPage('/docs', async ({ page }) => {
    await page.getByRole('radio', { name: 'curl' }).focus()
    for (const code of [/^const response = await fetch/, /^import requests/, /createApi/]) {
      await page.keyboard.press('ArrowRight')
      assert.match((await page.locator('.samples pre:visible').textContent()) ?? '', code)
    }
  })
})

test('guides work without scripts, and link to each other and to the errors', async () => {
  const options = { javaScriptEnabled: false, ...screens['narrow and dark'] }
  await onPage(
    '/docs',
    async ({ page }) => {
      await page
        .getByRole('main')
        .getByRole('link', { name: /^Webhooks/ })
        .click()
      await page.waitForURL('**/docs/guides/webhooks')
      assert.equal((await page.getByRole('heading', { level: 1 }).textContent()) ?? '', 'Webhooks')
      assert.ok((await page.locator('pre .keyword').count()) > 0)
      await page.goto(`${shared().url}/docs/guides/rest`)
      await page.getByRole('main').getByRole('link', { name: 'All codes' }).click()
      await page.waitForURL('**/docs/errors')
    },
    options,
  )
})

test('/docs/errors lists every error', async () => {
  await onPage('/docs/errors', async ({ page }) => {
    assert.deepEqual(await page.locator('tbody th').allTextContents(), Object.keys(catalogue))
  })
})

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail address').fill('admin@example.com')
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
}

/** The frame of every page names the user, whom only the script asks for: the pages themselves may be kept by a browser. */
async function showsSession(page: Page, { url }: TestService): Promise<void> {
  for (const path of ['/docs/guides', '/graphql', '/docs/rest', '/account']) {
    const response = await page.goto(url + path)
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByRole('link', { name: 'Administrator' })
      .waitFor()
    await page.getByRole('navigation', { name: 'Main' }).getByRole('button', { name: 'Sign out' }).waitFor()
    if (path !== '/account') assert.doesNotMatch((await response?.text()) ?? '', /Administrator|admin@/, path)
    await saveScreenshot(page, `signed-in${path.replaceAll('/', '-')}`)
  }
  await page.goto(`${url}/graphql`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Sign in' }).waitFor()
  await page.goto(`${url}/account`)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
}

test('a signed-in administrator sees the guides for operators too', async () => {
  const settings: ServeOptions = { rateLimit: 'off', adminPassword: 'correct horse battery' }
  await withService(settings, async otherService => {
    await onPage(
      '/docs/guides',
      async ({ page }) => {
        const cards = page.getByRole('main').getByRole('link')
        const before = await cards.allTextContents()
        assert.ok(!before.some(card => card.startsWith('PostgreSQL')))
        const hidden = await page.request.get(`${otherService.url}/docs/guides/postgresql`)
        assert.equal(hidden.status(), 404)
        await page.getByRole('link', { name: 'Sign in' }).click()
        await signIn(page)
        await page.goto(`${otherService.url}/docs/guides`)
        assert.ok((await cards.allTextContents()).some(card => card.startsWith('PostgreSQL')))
        await page
          .getByRole('main')
          .getByRole('link', { name: /^PostgreSQL/ })
          .click()
        assert.equal((await page.getByRole('heading', { level: 1 }).textContent()) ?? '', 'PostgreSQL')
        await page.goto(`${otherService.url}/docs`)
        await page.getByText('You are signed in').waitFor()
        await showsSession(page, otherService)
      },
      {},
      otherService,
    )
  })
})

const markup = `</script><script>window.hurt = 1</script><img src=x onerror="window.hurt = 2"> [link](javascript:hurt=3) <svg onload=hurt=4>`

const hostile = model({
  things: collection({
    description: markup,
    fields: {
      name: text({ description: markup }),
    },
    access: { read: anyone, create: anyone, update: anyone, delete: anyone },
  }),
})

test('markup in a model and in the name of the service is escaped', async () => {
  await withService(
    { rateLimit: 'off', 'theme.name': markup },
    async otherService => {
      for (const path of ['/', '/docs', '/docs/rest#tag/things/createThing', '/graphql']) {
        await onPage(
          path,
          async ({ page }) => {
            if (path.includes('rest')) await operation(page, 'createThing')
            if (path === '/docs') await search(page, 'things')
            await saveScreenshot(page, `hostile${path.replaceAll(/\W/g, '-')}`)
            assert.equal(await page.evaluate('window.hurt'), undefined, path)
            assert.equal(await page.locator('a[href^="javascript:"]').count(), 0)
          },
          screens['wide and light'],
          otherService,
        )
      }
    },
    hostile,
  )
})

test('the reference renders a large model', async () => {
  await withService(
    { rateLimit: 'off' },
    async otherService => {
      const started = performance.now()
      await onPage(
        '/docs/rest#tag/tasks/listTasks',
        async ({ page }) => {
          await operation(page, 'listTasks')
          if (process.env.SHOTS) console.log(`shown after ${Math.round(performance.now() - started)} ms`)
          await saveScreenshot(page, 'tracker')
        },
        screens['wide and light'],
        otherService,
      )
    },
    tracker,
  )
})
