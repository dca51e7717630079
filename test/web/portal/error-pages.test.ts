/** Errors outside the API: pages for browsers, JSON for programs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceOfFile } from '../../server/serve/service.ts'

const service = serviceOfFile({})

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

test('an address that does not exist is a page for browsers, with a way on', async () => {
  const rows = [
    ['/nothing', 'href="/"'],
    ['/post/7', 'href="/"'],
    ['/favicon.txt', 'href="/"'],
    ['/docs/guides/nothing', 'href="/docs"'],
    ['/docs/assets/nothing.css', 'href="/docs"'],
    ['/account/nothing', 'href="/account"'],
    ['/oauth/nothing', 'href="/account"'],
  ] as const
  for (const [path, link] of rows) {
    const { status, headers, text } = await service().call(path, { headers: { Accept: browser } })
    assert.equal(status, 404, path)
    assert.match(headers.get('content-type') ?? '', /^text\/html/, path)
    assert.match(text, /There is nothing here/, path)
    assert.ok(text.includes(link), `${path} ${text}`)
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/)
  }
  const head = await service().call('/nothing', { method: 'HEAD', headers: { Accept: browser } })
  assert.deepEqual([head.status, head.text], [404, ''])
  assert.match(head.headers.get('content-type') ?? '', /^text\/html/)
})

test('programs, and everything below the API, get the error as JSON', async () => {
  const rows = [
    ['/nothing', 'GET', '*/*'],
    ['/nothing', 'GET', 'application/json'],
    ['/nothing', 'GET', 'text/html;q=0, */*'],
    ['/docs/nothing', 'GET', '*/*'],
    ['/nothing', 'POST', browser],
    ['/api/v1/nothing', 'GET', browser],
    ['/api/v2/posts', 'GET', browser],
    ['/.well-known/nothing', 'GET', browser],
  ] as const
  for (const [path, method, Accept] of rows) {
    const answer = await service().call(path, { method, headers: { Accept } })
    assert.deepEqual([answer.status, answer.code], [404, 'NOT_FOUND'], `${method} ${path} ${Accept}`)
  }
})

test('other errors of a page that a browser opens are pages too', async () => {
  const { status, headers, text } = await service().call('/docs', {
    headers: { Accept: browser, 'If-None-Match': 'not a tag' },
  })
  assert.equal(status, 400)
  assert.match(headers.get('content-type') ?? '', /^text\/html/)
  assert.match(text, /If-None-Match/)
})
