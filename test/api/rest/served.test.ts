/** REST through a whole service with a public address: links, the compressed OpenAPI document, pages of events. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { serviceOfFile, withService } from '../../server/serve/service.ts'

const service = serviceOfFile({ baseUrl: 'https://api.example.com', rateLimit: 'off' })

const linksIn = (headers: Headers) =>
  Object.fromEntries(
    [...(headers.get('link') ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, target, relation]) => [
      relation,
      target,
    ]),
  )

/** A GET with the headers as they are: `fetch` sets its own Host and Accept-Encoding. */
function get(path: string, headers: Readonly<Record<string, string>>) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: service().port, path, headers }, response => {
        const parts: Buffer[] = []
        response.on('data', part => parts.push(part))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(parts),
          }),
        )
      })
      sent.on('error', reject).end()
    },
  )
}

test('where the public address is set, the links of lists and aggregates are absolute, and no Host header gets into them', async () => {
  const { key, call } = service()
  const post = (title: string) => call('/api/v1/posts', { method: 'POST', key, body: { title } })
  for (const title of ['a', 'b', 'c']) assert.equal((await post(title)).status, 201)
  const origin = 'https://api.example.com/api/v1/posts'
  const strangers = {
    Host: 'evil.example',
    'X-Forwarded-Host': 'evil.example',
    Forwarded: 'host=evil.example',
  }
  await get('/api/v1/posts?per_page=1&page=2&sort=title', strangers)
  const { headers } = await call('/api/v1/posts?per_page=1&page=2&sort=title')
  assert.deepEqual(linksIn(headers), {
    next: `${origin}?sort=title&page=3&per_page=1`,
    prev: `${origin}?sort=title&page=1&per_page=1`,
    first: `${origin}?sort=title&page=1&per_page=1`,
    last: `${origin}?sort=title&page=3&per_page=1`,
  })
  const byCursor = linksIn((await call('/api/v1/posts?per_page=1&cursor=')).headers)
  assert.ok(byCursor.next?.startsWith(`${origin}?cursor=`), byCursor.next)
  const groups = linksIn((await call('/api/v1/posts/aggregate?group_by=title&count&per_page=1')).headers)
  assert.equal(groups.next, `${origin}/aggregate?group_by=title&count=&page=2&per_page=1`)
  const within = linksIn((await call('/api/v1/users/1/posts?per_page=1', { key })).headers)
  assert.ok(within.next?.startsWith('https://api.example.com/api/v1/users/1/posts?'), within.next)
})

test('without a public address, links are relative, whatever the Host header says', async () => {
  await withService({}, async ({ call }) => {
    const { headers } = await call('/api/v1/posts', { headers: { 'X-Forwarded-Host': 'evil.example' } })
    assert.equal(linksIn(headers).first, '/api/v1/posts?page=1&per_page=20')
  })
})

test('the OpenAPI document is compressed as the client accepts, with an entity tag for each encoding', async () => {
  const path = '/api/v1/openapi.json'
  const plain = await get(path, {})
  assert.equal(plain.headers['content-encoding'], undefined)
  const decoders = { br: brotliDecompressSync, gzip: gunzipSync }
  const tags = new Set([plain.headers.etag])
  for (const [encoding, decode] of Object.entries(decoders)) {
    const first = await get(path, { 'Accept-Encoding': encoding })
    assert.equal(first.headers['content-encoding'], encoding)
    assert.match(String(first.headers.vary), /^Accept-Encoding, Authorization,/)
    assert.equal(first.headers['content-length'], String(first.body.length))
    assert.ok(first.body.length < plain.body.length / 5, `${first.body.length} of ${plain.body.length}`)
    assert.deepEqual(decode(first.body), plain.body)
    tags.add(first.headers.etag)
    const again = await get(path, {
      'Accept-Encoding': encoding,
      'If-None-Match': String(first.headers.etag),
    })
    assert.deepEqual([again.status, again.body.length], [304, 0])
  }
  assert.equal(tags.size, 3)
  const data = await get('/api/v1/posts', { 'Accept-Encoding': 'gzip, br' })
  assert.equal(data.headers['content-encoding'], undefined)
})

test('a page of events resumes after Last-Event-ID, which takes precedence over the parameter', async () => {
  const { key, call } = service()
  const path = '/api/v1/events?after=0&types=post.created'
  const events = async (headers = {}, query = path) => {
    const { json, status, text } = await call(query, { key, headers })
    assert.equal(status, 200, text)
    return (json.data as readonly { id: string }[]).map(({ id }) => id)
  }
  const [first = '', ...others] = await events()
  assert.equal(others.length, 2)
  assert.deepEqual(await events({ 'Last-Event-ID': first }), others)
  assert.deepEqual(await events({ 'Last-Event-ID': first }, '/api/v1/events?types=post.created'), others)
  assert.deepEqual(await events({ 'Last-Event-ID': '' }), [first, ...others])
  const wrong = await call(path, { key, headers: { 'Last-Event-ID': 'x' } })
  assert.equal(wrong.code, 'BAD_REQUEST')
  assert.match(wrong.text, /Last-Event-ID/)
  const unknown = await call(path, { key, headers: { 'Last-Event-ID': '999999999' } })
  assert.equal(unknown.code, 'RESYNC_REQUIRED')
})
