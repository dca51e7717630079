/** The pages at /docs as a browser shows them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { catalogue } from '../../src/errors.ts'
import { freePort } from '../processes/port.ts'
import { type TestService, withService } from '../serve/service.ts'
import { openBrowser } from './chromium.ts'
import { shoot, type Watched, watch } from './visitor.ts'

let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

const wide = { width: 1280, height: 900 }
const narrow = { width: 360, height: 740 }

async function visit(url: string, viewport = wide): Promise<Watched> {
  const watched = await watch(await browser.newPage({ viewport }))
  const response = await watched.page.goto(url)
  assert.equal(response?.status(), 200)
  return watched
}

async function onPage(
  path: string,
  use: (visit: Watched, service: TestService) => Promise<void>,
  viewport = wide,
) {
  await withService({ rateLimit: 'off' }, async service => {
    const visited = await visit(service.url + path, viewport)
    try {
      await use(visited, service)
      assert.deepEqual(visited.faults, [])
      assert.deepEqual([...visited.origins], [service.url])
    } finally {
      await visited.page.close()
    }
  })
}

/** The operations of the document, as the page writes them. */
async function documented({ call }: TestService): Promise<string[]> {
  const { json } = await call('/api/v1/openapi.json')
  const methods = ['get', 'post', 'put', 'patch', 'delete']
  return Object.entries(json.paths as Record<string, object>).flatMap(([path, item]) =>
    Object.keys(item)
      .filter(key => methods.includes(key))
      .map(method => `${method.toUpperCase()} ${path}`),
  )
}

function shown(page: Page): Promise<string[]> {
  return page.locator('.opblock').evaluateAll(blocks =>
    blocks.map(block => {
      const method = block.querySelector('.opblock-summary-method')?.textContent
      const path = block.querySelector('.opblock-summary-path')?.getAttribute('data-path')
      return `${method} ${path}`
    }),
  )
}

/** Whether the page is wider than the screen. */
function overflows(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > window.innerWidth')
}

test('/docs shows every operation', async () => {
  await onPage('/docs', async ({ page }, service) => {
    await page.locator('.opblock').first().waitFor()
    await shoot(page, 'docs')
    const wanted = await documented(service)
    assert.ok(wanted.length >= 20)
    assert.deepEqual((await shown(page)).sort(), wanted.sort())
    assert.equal(await page.locator('.errors-wrapper').count(), 0)
  })
})

async function authorize(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  await page
    .getByLabel(/bearer|auth/i)
    .first()
    .fill(key)
  await shoot(page, 'authorize')
  await page.locator('.modal-ux').getByRole('button', { name: 'Apply credentials' }).first().click()
  await page.getByRole('button', { name: 'Close' }).first().click()
}

test('with a key typed in, an operation can be tried', async () => {
  await onPage('/docs', async ({ page }, { key, call }) => {
    await page.locator('.opblock').first().waitFor()
    await authorize(page, key)
    const create = page
      .locator('.opblock', { has: page.locator('[data-path="/api/v1/posts"]') })
      .and(page.locator('.opblock-post'))
    await create.locator('.opblock-summary').click()
    await create.locator('textarea.body-param__text').fill('{"title":"Typed in a browser"}')
    await create.getByRole('button', { name: 'Execute' }).click()
    await create.locator('.live-responses-table .response-col_status').filter({ hasText: '201' }).waitFor()
    await shoot(page, 'tried')
    const { json } = await call('/api/v1/posts/1')
    assert.equal(json.title, 'Typed in a browser')
    assert.equal(json.author_id, 1)
  })
})

test('an operation can be tried where the page was found under another name than BASE_URL', async () => {
  const port = await freePort()
  const named = `http://localhost:${port}`
  await withService({ rateLimit: 'off', host: 'localhost', port, baseUrl: named }, async () => {
    const { page, faults, origins } = await visit(`http://docs.localhost:${port}/docs`)
    try {
      const list = page
        .locator('.opblock', { has: page.locator('[data-path="/api/v1/posts"]') })
        .and(page.locator('.opblock-get'))
      await list.locator('.opblock-summary').click()
      await list.getByRole('button', { name: 'Execute' }).click()
      await list.locator('.live-responses-table .response-col_status').filter({ hasText: '200' }).waitFor()
      assert.deepEqual(faults, [])
      assert.ok(origins.has(named))
    } finally {
      await page.close()
    }
  })
})

test('/docs can be read on a narrow screen', async () => {
  await onPage(
    '/docs',
    async ({ page }) => {
      await page.locator('.opblock').first().waitFor()
      for (const at of [0, 1, 3]) await page.locator('.opblock-summary').nth(at).click()
      await page.locator('.responses-table').nth(2).waitFor()
      await shoot(page, 'docs-narrow')
      assert.equal(await overflows(page), false)
      const widths = await page
        .locator('.opblock-tag small')
        .evaluateAll(all => all.map(({ clientWidth }) => clientWidth))
      assert.ok(widths.length > 2 && widths.every(width => width > 200), String(widths))
    },
    narrow,
  )
})

test('/docs/errors has every error, on any screen', async () => {
  for (const screen of [wide, narrow]) {
    await onPage(
      '/docs/errors',
      async ({ page }) => {
        await shoot(page, `errors-${screen.width}`)
        assert.deepEqual(await page.locator('tbody th').allTextContents(), Object.keys(catalogue))
        assert.equal(await overflows(page), false)
      },
      screen,
    )
  }
})

/** What can be operated but has no name that a screen reader could say. */
const nameless = `[...document.querySelectorAll('button, input, select, textarea, a[href]')]
  .filter(({ labels, title, ariaLabel, textContent }) => !labels?.length && !title && !ariaLabel && !textContent.trim())
  .map(element => element.outerHTML)`

test('the pages have a language, a title, landmarks and one first heading', async () => {
  for (const path of ['/docs', '/docs/errors']) {
    await onPage(path, async ({ page }) => {
      if (path === '/docs') await page.locator('.opblock').first().waitFor()
      assert.equal(await page.locator('html').getAttribute('lang'), 'en')
      assert.match(await page.title(), /\w/)
      assert.equal(await page.getByRole('main').count(), 1)
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
      assert.equal(await page.locator('img:not([alt])').count(), 0)
      assert.deepEqual(await page.evaluate(nameless), [])
    })
  }
})
