/** GraphiQL in a browser: queries, subscriptions, and no request to another origin. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { admin, type Blog, openBlog } from '../../api/transports/blog.ts'
import { openBrowser } from './chromium.ts'
import { assertAccessible, type PageFaults, recordFaults, saveScreenshot } from './visitor.ts'

let browser: Browser
let blog: Blog
before(async () => {
  browser = await openBrowser()
  blog = await openBlog()
})
after(async () => {
  await browser.close()
  await blog.close()
})

/** Without a query, the editor shows what it shows at the first visit. */
async function open(query?: string): Promise<PageFaults> {
  const watched = await recordFaults(await browser.newPage({ viewport: { width: 1280, height: 900 } }))
  const { page } = watched
  if (query !== undefined)
    await page.addInitScript(`localStorage.setItem('graphiql:query', ${JSON.stringify(query)})`)
  const response = await page.goto(blog.graphql)
  assert.equal(response?.status(), 200)
  return watched
}

const answer = (page: Page, text: string) => page.locator('.result-window').filter({ hasText: text })

test('GraphiQL shows the result of a query and the schema', async () => {
  await blog.rest('POST', 'posts', { title: 'seen in a browser' })
  const { page, faults, origins } = await open('{ posts { title } }')
  await page.locator('.graphiql-execute-button').click()
  await answer(page, 'seen in a browser').waitFor()
  await page.locator('.graphiql-doc-explorer, [aria-label="Show Documentation Explorer"]').first().waitFor()
  assert.deepEqual(faults, [])
  assert.deepEqual([...origins], [blog.url])
  // In GraphiQL, the button of a tab contains another button.
  await assertAccessible(page, ['nested-interactive'])
  await page.close()
})

test('the first visit shows a query of the model, which everybody can run', async () => {
  await blog.rest('POST', 'posts', { title: 'the first to be seen' })
  const { page, faults } = await open()
  await page.locator('.graphiql-execute-button').click()
  await answer(page, 'the first to be seen').waitFor()
  assert.doesNotMatch((await page.locator('.result-window').textContent()) ?? '', /errors/)
  await saveScreenshot(page, 'graphiql-first')
  assert.deepEqual(faults, [])
  await page.close()
})

test('GraphiQL sends the key in its headers', async () => {
  const { page, faults } = await open('{ me { email } }')
  const headers = page
    .locator('section[aria-label="Headers"] .CodeMirror, .graphiql-editor-tool .CodeMirror')
    .last()
  await headers.click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(JSON.stringify(admin))
  await page.locator('.graphiql-execute-button').click()
  await answer(page, 'admin@example.com').waitFor()
  assert.deepEqual(faults, [])
  await page.close()
})

test('a subscription shows committed events', async () => {
  const { page, faults } = await open('subscription { newPost { title } }')
  await page.locator('.graphiql-execute-button').click()
  const isSeen = answer(page, 'to the browser').waitFor()
  let isShown = false
  isSeen.then(
    () => {
      isShown = true
    },
    () => {},
  )
  for (let tries = 0; tries < 1000 && !isShown; tries++) {
    await blog.rest('POST', 'posts', { title: 'to the browser' })
    await page.waitForTimeout(100)
  }
  await isSeen
  assert.deepEqual(faults, [])
  await page.close()
})
