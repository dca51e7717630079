/** Pages have a budget of their own, and their assets draw from none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { earlyInMinute } from '../../engine/cluster/window.ts'
import { type TestService, withService } from './service.ts'

const limit = 6
const settings = { rateLimit: { user: 'off', address: limit } } as const

const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function exhaust({ call }: TestService, path: string): Promise<void> {
  const statuses: number[] = []
  for (let count = 0; count <= limit; count++) statuses.push((await call(path, { headers: browser })).status)
  assert.equal(statuses.at(-1), 429, statuses.join())
}

const pages = ['/account/sign-in', '/docs', '/', '/graphql']
const assets = [
  '/account/assets/passkeys.js',
  '/docs/assets/style.css',
  '/docs/assets/frame.js',
  '/graphql/assets/page.css',
]

test('anonymous reads of the API leave the pages of the same address open', async () => {
  await withService(settings, async service => {
    await earlyInMinute()
    await exhaust(service, '/api/v1/posts')
    for (const path of pages) {
      const { status, headers } = await service.call(path, { headers: browser })
      assert.equal(status, 200, path)
      assert.match(headers.get('ratelimit') ?? '', /^"page";r=/, path)
    }
    const query = await service.call('/graphql?query=%7Bposts%7Bid%7D%7D', { headers: browser })
    assert.equal(query.status, 429)
  })
})

test('a page beyond the budget is a page, with its style sheet, and the API stays open', async () => {
  await withService(settings, async service => {
    await earlyInMinute()
    for (const path of assets)
      for (let count = 0; count <= limit; count++) {
        const { status, headers } = await service.call(path)
        assert.deepEqual([status, headers.get('x-ratelimit-limit')], [200, null], path)
      }
    await exhaust(service, '/docs')
    for (const path of ['/account/sign-in', '/docs', '/', '/docs/rest']) {
      const { status, headers, text } = await service.call(path, { headers: browser })
      assert.equal(status, 429, path)
      assert.match(headers.get('content-type') ?? '', /^text\/html/, path)
      assert.ok(headers.get('retry-after'), path)
      assert.match(text, /<h1>Too many/, path)
    }
    for (const path of assets) assert.equal((await service.call(path)).status, 200, path)
    assert.equal((await service.call('/api/v1/posts')).status, 200)
  })
})
