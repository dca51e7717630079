import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue } from '../../src/errors.ts'
import { createDocs } from '../../src/rest/docs.ts'
import { type Request, toCall } from '../contract/rest/bench.ts'

function ask(request: Request, baseUrl?: string) {
  const { status, headers, body } = createDocs(baseUrl)(toCall(request))
  const pairs = Array.from({ length: headers.length / 2 }, (_, n) => [headers[2 * n], headers[2 * n + 1]])
  return { status, headers: Object.fromEntries(pairs), text: String(body ?? '') }
}

test('the page loads nothing from elsewhere', () => {
  const { status, headers, text } = ask({ url: '/docs' })
  assert.equal(status, 200)
  assert.equal(headers['Content-Type'], 'text/html; charset=utf-8')
  assert.match(headers['Content-Security-Policy'], /default-src 'none'; script-src 'self';/)
  assert.doesNotMatch(headers['Content-Security-Policy'], /http|\*/)
  for (const [, source = ''] of text.matchAll(/(?:src|href)="([^"]*)"/g)) assert.match(source, /^(\/|data:)/)
})

test('the page may ask the server that the document names, and no other', () => {
  const { headers } = ask({ url: '/docs' }, 'https://api.example.com/v1')
  assert.match(headers['Content-Security-Policy'], /; connect-src 'self' https:\/\/api\.example\.com;/)
})

test('everything that the page loads is served', () => {
  const { text } = ask({ url: '/docs' })
  const assets = [...text.matchAll(/"(\/docs\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
  assert.equal(assets.length, 4)
  for (const url of assets) {
    const { status, headers } = ask({ url })
    assert.equal(status, 200, url)
    assert.match(headers['Content-Type'], /^text\/(css|javascript)/)
    assert.match(headers['Cache-Control'], /^public/)
  }
})

test('the style brings no fonts or images from elsewhere', () => {
  const { text } = ask({ url: '/docs/assets/swagger-ui.css' })
  for (const [, target = ''] of text.matchAll(/url\(["']?([^"')]*)/g)) assert.match(target, /^data:/)
  assert.doesNotMatch(text, /@import/)
})

test('what is unchanged is not sent again', () => {
  const { headers } = ask({ url: '/docs/assets/start.js' })
  const again = ask({ url: '/docs/assets/start.js', headers: { 'if-none-match': headers.ETag } })
  assert.equal(again.status, 304)
  assert.equal(again.text, '')
  assert.equal(again.headers.ETag, headers.ETag)
})

test('the page of errors has a row for each', () => {
  const { text } = ask({ url: '/docs/errors' })
  for (const code of Object.keys(catalogue)) assert.ok(text.includes(`id="${code}"`), code)
})

test('nothing else is there', () => {
  for (const url of [
    '/docs/',
    '/docs/assets/',
    '/docs/assets/../docs',
    '/docs/assets/package.json',
    '/docs/x',
  ]) {
    assert.throws(() => ask({ url }), { code: 'NOT_FOUND' }, url)
  }
})

test('the pages are only read', () => {
  assert.throws(() => ask({ method: 'POST', url: '/docs' }), { code: 'METHOD_NOT_ALLOWED' })
  const { headers } = ask({ method: 'OPTIONS', url: '/docs' })
  assert.deepEqual(headers, { Allow: 'GET, HEAD, OPTIONS', 'Cache-Control': 'no-store' })
})
