/** The pages at / and /docs as HTTP responses: access, compression, caching, and no foreign resources. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { parse, validate } from 'graphql'
import tracker from '../../../examples/tracker/model.ts'
import { createSchema } from '../../../src/api/graphql/schema/schema.ts'
import { referenceDocument } from '../../../src/api/rest/openapi/reference/reference.ts'
import { english } from '../../../src/identity/mail/page-texts.ts'
import { anyone, collection, model as declare, nobody, signedIn, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Visitor } from '../../../src/web/pages/frame/layout.ts'
import type { ShownGuides } from '../../../src/web/portal/guides/catalogue.ts'
import { createPortal } from '../../../src/web/portal/portal.ts'
import { firstQuery } from '../../../src/web/portal/quick-start.ts'
import { type Request, toCall } from '../../api/contract/rest/harness.ts'
import blog from '../../models/blog.ts'
import rich from '../../models/rich.ts'

const blogModel = checkModel(blog)
const origin = 'https://api.example.com'

interface PortalOptions {
  readonly visitor?: Visitor
  readonly guides?: ShownGuides
  readonly logo?: string
  readonly name?: string
  readonly model?: typeof blogModel
}

function portalOf({ visitor = 'anyone', guides = 'callers', logo, ...options }: PortalOptions = {}) {
  const { name = 'Press', model = blogModel } = options
  const portal = createPortal({
    frame: { theme: { name, logo, colour: '#1f5fbf' }, explorer: true },
    model,
    document: () => referenceDocument(model, origin, origin),
    guides,
    baseUrl: origin,
    origin: () => origin,
    visitorOf: () => visitor,
    languageOf: () => english,
  })
  return async (request: Request) => {
    const { status, headers, body } = await portal(toCall(request))
    const pairs = Array.from({ length: headers.length / 2 }, (_, n) => [headers[2 * n], headers[2 * n + 1]])
    assert.ok(body === null || typeof body === 'string' || Buffer.isBuffer(body))
    return { status, headers: Object.fromEntries(pairs), body: Buffer.from(body ?? '') }
  }
}

const send = portalOf()

test('/ is an HTML page for browsers, and a list of links for programs', async () => {
  for (const accept of [
    'text/html',
    '*/*',
    'text/html,application/json;q=0.9',
    'application/xhtml+xml,text/html',
  ]) {
    const { headers } = await send({ url: '/', headers: { accept } })
    assert.match(headers['Content-Type'], /^text\/html/, accept)
    assert.match(headers['Vary'], /Accept$/)
  }
  const { headers, body } = await send({ url: '/', headers: { accept: 'application/json' } })
  assert.equal(headers['Content-Type'], 'application/json')
  assert.match(headers['Vary'], /Accept$/)
  const { name, links } = JSON.parse(String(body))
  assert.equal(name, 'Press')
  assert.deepEqual(Object.values(links), [
    '/docs',
    '/docs/rest',
    '/graphql',
    '/docs/guides',
    '/account',
    '/api/v1/openapi.json',
    '/.well-known/oauth-authorization-server',
  ])
})

const pages = ['/', '/docs', '/docs/rest', '/docs/guides', '/docs/guides/rest', '/docs/errors']

test('pages load only their own assets, and each of them is served', async () => {
  for (const url of pages) {
    const { headers, body } = await send({ url })
    const policy = headers['Content-Security-Policy']
    assert.match(
      policy,
      /^default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; /,
    )
    assert.match(policy, /connect-src 'self' https:\/\/api\.example\.com;/)
    const loaded = [...String(body).matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]*)"/g)]
    assert.ok(loaded.length >= 3, url)
    for (const [, source = ''] of loaded) {
      if (source === 'data:,') continue
      const asset = await send({ url: source })
      assert.equal(asset.status, 200, source)
      assert.match(asset.headers['Content-Type'], /^text\/(css|javascript)/)
      assert.match(asset.headers['Cache-Control'], /^public, max-age=300$/)
    }
    assert.doesNotMatch(String(body), /<script(?![^>]* src=)/)
  }
})

test('texts of the model and of the theme are escaped on every page', async () => {
  const hostile = `</title></script><script>alert(1)</script><img src=x onerror=alert(1)>"'`
  const posts = blogModel.collections.get('posts')
  assert.ok(posts)
  const collections = new Map([...blogModel.collections, ['posts', { ...posts, description: hostile }]])
  const hostilePortal = portalOf({
    name: hostile,
    model: { ...blogModel, collections },
    logo: `https://x.example.com/"onerror="alert(1)`,
  })
  for (const url of pages) {
    const text = String((await hostilePortal({ url })).body)
    assert.match(text, /&lt;script&gt;alert\(1\)/, url)
    assert.doesNotMatch(text, /<script>|<img src=x|"onerror/, url)
  }
  const { headers, body } = await hostilePortal({ url: '/docs/openapi.json' })
  assert.equal(headers['Content-Type'], 'application/json')
  assert.equal(
    JSON.parse(String(body)).tags.find((tag: { name: string }) => tag.name === 'posts').description,
    hostile,
  )
})

test('pages leave out a collection that no caller can read or change', async () => {
  const hidden = checkModel(
    declare({
      notes: collection({ fields: { body: text() }, access: { read: anyone } }),
      payroll_runs: collection({
        description: 'What we pay.',
        fields: { amount: text({ description: 'Of one person.' }) },
        access: { read: nobody, create: nobody, update: nobody, delete: nobody },
      }),
    }),
  )
  const portal = portalOf({ model: hidden })
  for (const url of [...pages, '/docs/search.json', '/docs/openapi.json']) {
    const html = String((await portal({ url })).body)
    assert.doesNotMatch(html, /What we pay|Of one person/, url)
    // The scopes name every collection.
    if (url !== '/docs/openapi.json') assert.doesNotMatch(html, /payroll/, url)
    if (url === '/docs') assert.match(html, /<strong>notes<\/strong>/)
  }
})

test('a logo of another host is allowed by the policy, and nothing else from there', async () => {
  const { headers, body } = await portalOf({ logo: 'https://cdn.example.net/logo.png' })({ url: '/' })
  assert.match(headers['Content-Security-Policy'], /img-src 'self' data: https:\/\/cdn\.example\.net;/)
  assert.match(String(body), /<img src="https:\/\/cdn\.example\.net\/logo\.png" alt="" data-initial="P"/)
})

test('neither the style sheets nor the renderer load fonts or images from elsewhere', async () => {
  for (const name of ['style.css', 'tool.css', 'reference.css']) {
    const { body } = await send({ url: `/docs/assets/${name}` })
    assert.doesNotMatch(String(body), /@import|url\(/, name)
  }
  const { body } = await send({ url: '/docs/assets/scalar.js' })
  assert.doesNotMatch(String(body), /\bFunction\(``\)|sourceMappingURL/)
})

test('responses are compressed as the client accepts, and each encoding has its own entity tag', async () => {
  const url = '/docs/guides/rest'
  const plain = await send({ url })
  const decoders = { br: brotliDecompressSync, gzip: gunzipSync }
  const tags = new Set([plain.headers.ETag])
  for (const [encoding, decode] of Object.entries(decoders)) {
    const compressed = await send({ url, headers: { 'accept-encoding': encoding } })
    assert.equal(compressed.headers['Content-Encoding'], encoding)
    assert.equal(compressed.headers['Vary'], 'Accept-Encoding, Cookie, Accept-Language')
    assert.deepEqual(decode(compressed.body), plain.body)
    assert.ok(compressed.body.length < plain.body.length / 3)
    tags.add(compressed.headers.ETag)
    const headers = { 'accept-encoding': encoding, 'if-none-match': compressed.headers.ETag }
    const second = await send({ url, headers })
    assert.equal(second.status, 304)
    assert.equal(second.body.length, 0)
    assert.equal(second.headers['Content-Encoding'], undefined)
  }
  assert.equal(tags.size, 3)
  for (const refused of ['br;q=0, gzip;q=0.0', 'identity', 'zstd', '']) {
    const { headers } = await send({ url, headers: { 'accept-encoding': refused } })
    assert.equal(headers['Content-Encoding'], undefined, refused)
  }
})

test('pages that depend on the visitor are cached by the browser only', async () => {
  for (const url of [...pages, '/docs/search.json']) {
    const { headers } = await send({ url })
    assert.equal(headers['Cache-Control'], 'private, no-cache', url)
    assert.match(headers['Vary'], /Cookie/, url)
  }
})

test('guides for operators are shown to administrators, unless the setting says otherwise', async () => {
  const statusOf = async (parts: PortalOptions, url: string) =>
    portalOf(parts)({ url }).then(
      ({ status }) => status,
      (error: { code: string }) => error.code,
    )
  const operators = '/docs/guides/postgresql'
  assert.equal(await statusOf({}, operators), 'NOT_FOUND')
  assert.equal(await statusOf({ visitor: 'user' }, operators), 'NOT_FOUND')
  assert.equal(await statusOf({ visitor: 'admin' }, operators), 200)
  assert.equal(await statusOf({ guides: 'all' }, operators), 200)
  assert.equal(await statusOf({ guides: 'none', visitor: 'admin' }, operators), 'NOT_FOUND')
  assert.equal(await statusOf({ guides: 'none' }, '/docs/guides'), 'NOT_FOUND')
  assert.equal(await statusOf({ guides: 'none' }, '/docs/errors'), 200)
  const { body } = await send({ url: '/docs/search.json' })
  assert.doesNotMatch(String(body), /docs\/guides\/postgresql/)
})

test('every link of the guides leads to an existing page and anchor', async () => {
  const asAdmin = portalOf({ visitor: 'admin' })
  const guidesPage = String((await asAdmin({ url: '/docs/guides' })).body)
  const guides = [
    ...new Set([...guidesPage.matchAll(/href="(\/docs\/guides\/[\w-]+)"/g)].map(([, path = '']) => path)),
  ]
  assert.ok(guides.length > 20, String(guides))
  const texts = new Map<string, string>()
  for (const url of [...guides, '/docs/errors', '/docs/guides']) {
    texts.set(url, String((await asAdmin({ url })).body))
  }
  for (const [page, text] of texts) {
    assert.doesNotMatch(text, /localhost:3000/, page)
    for (const [, href = ''] of text.matchAll(/<a[^>]* href="(\/docs\/(?:guides|errors)[^"]*|#[^"]*)"/g)) {
      const [path = '', place] = href.split('#')
      const target = texts.get(path === '' ? page : path)
      assert.ok(target !== undefined, `${page}: ${href}`)
      if (place) assert.ok(target.includes(`id="${place}"`), `${page}: ${href}`)
    }
  }
})

test('the search index has every operation, with its link in the reference', async () => {
  const entries = JSON.parse(String((await send({ url: '/docs/search.json' })).body)) as { href: string }[]
  const document = JSON.parse(String((await send({ url: '/docs/openapi.json' })).body))
  const ids = Object.values<object>(document.paths)
    .flatMap(item => Object.values<{ operationId?: string; tags?: string[] }>(item as never))
    .flatMap(({ operationId, tags }) => (operationId ? [`/docs/rest#tag/${tags?.[0]}/${operationId}`] : []))
  assert.ok(ids.length > 40)
  const hrefs = new Set(entries.map(({ href }) => href))
  assert.deepEqual(
    ids.filter(id => !hrefs.has(id)),
    [],
  )
})

test('other paths respond 404, and pages accept only GET and HEAD', async () => {
  for (const url of [
    '/docs/',
    '/docs/assets/',
    '/docs/assets/../docs',
    '/docs/guides/README',
    '/docs/guides/%2e%2e',
  ]) {
    await assert.rejects(send({ url }), { code: 'NOT_FOUND' }, url)
  }
  await assert.rejects(send({ method: 'POST', url: '/docs' }), { code: 'METHOD_NOT_ALLOWED' })
  const { status, headers } = await send({ method: 'OPTIONS', url: '/' })
  assert.equal(status, 204)
  assert.equal(headers.Allow, 'GET, HEAD, OPTIONS')
})

test('the first GraphQL query runs without a credential, whatever the model', () => {
  const closed = declare({
    payroll_runs: collection({
      fields: { paid_on: text(), note: text({ internal: true, optional: true }) },
      access: { read: signedIn },
    }),
  })
  for (const declaration of [blog, rich, tracker, closed]) {
    const checked = checkModel(declaration)
    const document = parse(firstQuery(checked))
    assert.deepEqual(validate(createSchema(checked, 100).schema, document), [])
  }
  assert.match(firstQuery(blogModel), /^# [^\n]*\n\{\n {2}posts\(limit: 5\) \{\n {4}id\n {4}title\n/)
  const other = firstQuery(checkModel(closed))
  assert.match(other, /^# Every collection needs a credential/)
  assert.match(other, /^# {5}payrollRuns\(limit: 5\) \{$/m)
  assert.match(other, /\n\{\n {2}__typename\n\}$/)
  // What the comment shows is valid too.
  const shown = other.split('\n').flatMap(line => /^# {3}(.*)$/.exec(line)?.[1] ?? [])
  assert.deepEqual(validate(createSchema(checkModel(closed), 100).schema, parse(shown.join('\n'))), [])
})
