/** What clients send to break things: each has a clear answer, and leaves nothing behind. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { databaseKinds } from '../../../engine/store/databases.ts'
import { type Files, png, type Sent, withFiles } from './fixture.ts'

/** Waits until it holds, for up to two minutes. */
async function within(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    assert.ok(tries < 2400, 'it does not hold after two minutes')
    await wait(50)
  }
}

const own = ['portico-files.json', 'portico-files-claim.json']

/** The objects in the folder, and what interrupted uploads have left. */
function objectsIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !own.includes(entry.name))
    .map(({ name }) => name)
}

const html = '<!doctype html><script>alert(1)</script>'
const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
const gif = Buffer.concat([Buffer.from('GIF89a'), Buffer.from(html)])
const executable = Buffer.concat([Buffer.from('MZ'), Buffer.alloc(300)])

/** Contents that are not what their names or types say, and the type that they get. */
const contents: readonly (readonly [name: string, content: string | Buffer, type: string])[] = [
  ['a.html', html, 'text/plain'],
  ['a.png', html, 'text/plain'],
  ['a.svg', svg, 'text/plain'],
  ['a.svg', `<?xml version="1.0"?>${svg}`, 'application/octet-stream'],
  ['a.xml', '<?xml version="1.0"?><a/>', 'application/octet-stream'],
  ['a.js', 'alert(1)', 'text/plain'],
  ['a.css', 'a { color: red }', 'text/plain'],
  ['a.csv', 'a,b\n1,2\n', 'text/csv'],
  ['a.json', '{"a":1}', 'application/json'],
  ['a.md', '# a', 'text/markdown'],
  ['a.JSON', '{"a":1}', 'application/json'],
  ['a.json.html', '{"a":1}', 'text/plain'],
  ['a.html', gif, 'image/gif'],
  ['a.txt', png, 'image/png'],
  ['a.txt', Buffer.from([0xff, 0xfe, 0x3c, 0, 0x68, 0]), 'application/octet-stream'],
  ['a.txt', Buffer.from([0xc3, 0x28]), 'application/octet-stream'],
  ['a.txt', Buffer.from('a\0b'), 'application/octet-stream'],
  ['a.txt', '', 'text/plain'],
  ['a.png', executable, 'application/x-msdownload'],
  ['a.html', `%PDF-1.4\n${html}`, 'application/pdf'],
]

/** Names as they are sent, and as they are stored. */
const names: readonly (readonly [sent: string, stored: string])[] = [
  ['../../etc/passwd', 'passwd'],
  ['..\\..\\boot.ini', 'boot.ini'],
  ['/', 'file'],
  ['..', 'file'],
  ['.htaccess', 'htaccess'],
  ['a\0b.txt', 'ab.txt'],
  ['a\r\nSet-Cookie: x=1', 'aSet-Cookie: x=1'],
  ['gpj.\u202egnp', 'gpj.gnp'],
  ['x'.repeat(1000), 'x'.repeat(255)],
  [`${'é'.repeat(400)}.txt`, `${'é'.repeat(125)}.txt`],
  ['a/b/', 'file'],
  ['con', 'con'],
  ["a'(b)*.txt", "a'(b)*.txt"],
]

type Case = readonly [what: string, line: (id: number) => string, sent: Sent, status: number]

const formType = { 'content-type': 'multipart/form-data; boundary=x' }
const part = (head: string, content = 'a') =>
  `--x\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`
const many = (count: number, head: (n: number) => string) =>
  `${Array.from({ length: count }, (_, n) => part(head(n))).join('')}--x--\r\n`

/** Requests that are refused. */
const refused: readonly Case[] = [
  ['a text as an image', id => `PUT /photos/${id}/image`, { body: 'hello' }, 415],
  [
    'HTML as an image',
    id => `PUT /photos/${id}/image`,
    { body: html, headers: { 'content-type': 'image/png' } },
    415,
  ],
  ['SVG as an image', id => `PUT /photos/${id}/image`, { body: svg }, 415],
  ['XML with an SVG', id => `PUT /photos/${id}/image`, { body: `<?xml version="1.0"?>${svg}` }, 415],
  ['nothing as an image', id => `PUT /photos/${id}/image`, { body: '' }, 415],
  [
    'a file above the bound',
    id => `PUT /photos/${id}/image`,
    { body: Buffer.concat([png, Buffer.alloc(200_000)]) },
    413,
  ],
  ['an unknown item', () => 'PUT /photos/999/image', { body: png }, 404],
  ['an unknown field', id => `PUT /photos/${id}/nothing`, { body: png }, 404],
  ['a field without files', id => `PUT /photos/${id}/title`, { body: png }, 404],
  ['another parameter', id => `PUT /photos/${id}/image?names=a`, { body: png }, 400],
  ['a parameter twice', id => `PUT /photos/${id}/image?name=a&name=b`, { body: png }, 400],
  ['another If-Match', id => `PUT /photos/${id}/image`, { body: png, headers: { 'if-match': '"x"' } }, 412],
  ['a malformed If-Match', id => `PUT /photos/${id}/image`, { body: png, headers: { 'if-match': 'x' } }, 400],
  ['POST to a field', id => `POST /photos/${id}/image`, { body: png }, 405],
  ['DELETE of a required file', () => 'DELETE /papers/1/content', {}, 405],
  ['an item without its file', () => 'POST /papers', { body: {} }, 400],
  ['null in place of a required file', () => 'POST /papers', { body: { content: null } }, 400],
  ['an upload that does not exist', () => 'POST /photos', { body: { image: { upload: 'x' } } }, 400],
  ['an upload that is no text', () => 'POST /photos', { body: { image: { upload: 1 } } }, 400],
  ['an upload with more', () => 'POST /photos', { body: { image: { upload: 'x', file: 'y' } } }, 400],
  [
    'the value of a column',
    () => 'POST /photos',
    { body: { image: { file: 'a/b', name: 'a', type: 'a/b', size: 1, sha256: 'a' } } },
    400,
  ],
  [
    'a made-up file',
    () => 'POST /photos',
    { body: { image: { url: '/a/b', name: 'a', type: 'a/b', size: 1, sha256: 'a'.repeat(64) } } },
    400,
  ],
  ['a text as a file', () => 'POST /photos', { body: { image: 'https://example.com/a.png' } }, 400],
  ['a list as a file', () => 'POST /photos', { body: { image: [] } }, 400],
  [
    'a form without a boundary',
    () => 'POST /photos',
    { body: 'x', headers: { 'content-type': 'multipart/form-data' } },
    400,
  ],
  ['a form that is none', () => 'POST /photos', { body: 'x', headers: formType }, 400],
  ['an empty form body', () => 'POST /photos', { body: '', headers: formType }, 400],
  ['a form that ends early', () => 'POST /photos', { body: part('name="title"'), headers: formType }, 400],
  [
    'a file that ends early',
    () => 'POST /photos',
    { body: part('name="note"; filename="a"').trimEnd(), headers: formType },
    400,
  ],
  [
    'a part without a name',
    () => 'POST /photos',
    { body: `${part('filename="a"')}--x--\r\n`, headers: formType },
    400,
  ],
  [
    'a part twice',
    () => 'POST /photos',
    { body: `${part('name="title"')}${part('name="title"')}--x--\r\n`, headers: formType },
    400,
  ],
  [
    'a file twice',
    () => 'POST /photos',
    {
      body: `${part('name="note"; filename="a"')}${part('name="note"; filename="b"')}--x--\r\n`,
      headers: formType,
    },
    400,
  ],
  [
    'a file for a text',
    () => 'POST /photos',
    { body: `${part('name="title"; filename="a"')}--x--\r\n`, headers: formType },
    400,
  ],
  [
    'a file for nothing',
    () => 'POST /photos',
    { body: `${part('name="none"; filename="a"')}--x--\r\n`, headers: formType },
    400,
  ],
  [
    'a text for nothing',
    () => 'POST /photos',
    { body: `${part('name="none"')}--x--\r\n`, headers: formType },
    400,
  ],
  [
    'a text for a file',
    () => 'POST /photos',
    { body: `${part('name="image"')}--x--\r\n`, headers: formType },
    400,
  ],
  [
    '__proto__',
    () => 'POST /photos',
    { body: `${part('name="__proto__"')}--x--\r\n`, headers: formType },
    400,
  ],
  ['too many texts', () => 'POST /photos', { body: many(501, n => `name="f${n}"`), headers: formType }, 413],
  [
    'too many files',
    () => 'POST /photos',
    { body: many(60, n => `name="f${n}"; filename="a"`), headers: formType },
    400,
  ],
  [
    'a long text',
    () => 'POST /photos',
    { body: `${part('name="title"', 'x'.repeat(1_100_000))}--x--\r\n`, headers: formType },
    413,
  ],
  [
    'a wrong number',
    () => 'POST /photos',
    { body: `${part('name="stars"', 'many')}--x--\r\n`, headers: formType },
    400,
  ],
  ...(
    [
      ['nested too deep', '['.repeat(33) + ']'.repeat(33)],
      ['with a key twice', '{"a":1,"a":2}'],
      ['with too many members', `{${Array.from({ length: 40_001 }, (_, n) => `"${n}":0`).join(',')}}`],
    ] as const
  ).map(
    ([what, text]): Case => [
      `JSON ${what}`,
      () => 'POST /photos',
      { body: `${part('name="labels"', text)}--x--\r\n`, headers: formType },
      400,
    ],
  ),
  [
    'a good file with a bad text',
    () => 'POST /photos',
    { body: `${part('name="note"; filename="a"')}${part('name="stars"', 'x')}--x--\r\n`, headers: formType },
    400,
  ],
  [
    'a form to a collection without files',
    () => 'POST /albums',
    { body: `${part('name="name"')}--x--\r\n`, headers: formType },
    415,
  ],
  [
    'a form as PUT',
    id => `PUT /photos/${id}`,
    { body: `${part('name="title"')}--x--\r\n`, headers: formType },
    415,
  ],
  ['GET of uploads', () => 'GET /uploads', {}, 405],
  ['an upload as an item', () => 'GET /uploads/1', {}, 404],
  ['a write of an upload', () => 'PATCH /uploads/1', { body: { state: 'live' } }, 404],
  [
    'a form in place of a file',
    id => `PUT /photos/${id}/note`,
    { body: `${part('name="note"; filename="a"')}--x--\r\n`, headers: formType },
    415,
  ],
  [
    'an encoded body',
    id => `PUT /photos/${id}/note`,
    { body: 'x', headers: { 'content-encoding': 'gzip' } },
    415,
  ],
  [
    'a form with another If-Match',
    id => `PATCH /photos/${id}`,
    {
      body: `${part('name="note"; filename="a"')}--x--\r\n`,
      headers: { ...formType, 'if-match': '"x"' },
    },
    412,
  ],
  ['groups by a file', () => 'GET /photos/aggregate?count&group_by=image', {}, 400],
  ['the least file', () => 'GET /photos/aggregate?min=image', {}, 400],
  ['an order by files', () => 'GET /photos?sort=image', {}, 400],
  ['a filter by a part of a file', () => 'GET /photos?image[eq]=x', {}, 400],
  [
    'a long text before the first part',
    () => 'POST /photos',
    { body: `${'x'.repeat(17_000_000)}\r\n--x--\r\n`, headers: formType },
    413,
  ],
  [
    'two files, of which the first is refused',
    () => 'POST /photos',
    {
      body: `${part('name="image"; filename="a"', 'text')}${part('name="note"; filename="b"')}--x--\r\n`,
      headers: formType,
    },
    415,
  ],
  [
    'files in a batch',
    () => 'POST /batch',
    { body: { operations: [{ method: 'PUT', path: `/photos/1/image`, body: {} }] } },
    400,
  ],
]

async function idOf({ ok, ada }: Files): Promise<number> {
  return (await ok('POST /photos', { as: ada, body: {} })).id
}

for (const kind of databaseKinds) {
  test(`${kind.name}: what is refused leaves nothing behind`, () =>
    withFiles(kind, async files => {
      const { send, ada, folder, states } = files
      const id = await idOf(files)
      for (const [what, line, sent, status] of refused) {
        const response = await send(line(id), { ...sent, as: ada })
        const text = await response.text()
        assert.equal(response.status, status, `${what}: ${text}`)
        assert.match(text, /"message":"\S/, what)
      }
      assert.deepEqual(objectsIn(folder), [])
      assert.deepEqual(await states(), [])
    }))

  test(`${kind.name}: nobody uploads without a credential`, () =>
    withFiles(kind, async ({ send, states }) => {
      const form = new FormData()
      form.set('note', new File(['a'], 'a'))
      assert.equal((await send('POST /uploads', { body: png })).status, 401)
      assert.equal((await send('POST /photos', { body: form })).status, 401)
      assert.deepEqual(await states(), [])
    }))

  test(`${kind.name}: uploads at the same time for one field leave one file`, () =>
    withFiles(kind, async files => {
      const { ok, send, ada, states } = files
      const id = await idOf(files)
      const all = Array.from({ length: 8 }, (_, n) =>
        ok(`PUT /photos/${id}/note?name=${n}`, { as: ada, body: `content ${n}` }),
      )
      await Promise.all(all)
      assert.deepEqual((await states()).toSorted(), [...Array(7).fill('deleted'), 'live'])
      const { note } = await ok(`GET /photos/${id}`, { as: ada })
      assert.equal(await (await send(`GET ${note.url}`, { as: ada })).text(), `content ${note.name}`)
    }))

  test(`${kind.name}: an upload that is used at the same time is used once`, () =>
    withFiles(kind, async ({ ok, send, ada, states }) => {
      const { upload } = await ok('POST /uploads', { as: ada, body: png })
      const replies = await Promise.all(
        Array.from({ length: 6 }, () => send('POST /photos', { as: ada, body: { image: { upload } } })),
      )
      assert.deepEqual(replies.map(({ status }) => status).toSorted(), [201, 400, 400, 400, 400, 400])
      assert.deepEqual(await states(), ['live'])
      assert.equal((await ok('GET /photos')).meta.total, 1)
    }))

  test(`${kind.name}: a batch that fails gives its uploads back`, () =>
    withFiles(kind, async ({ ok, ada, states }) => {
      const { upload } = await ok('POST /uploads', { as: ada, body: png })
      const create = { method: 'POST', path: '/photos', body: { image: { upload } } }
      const fault = { method: 'POST', path: '/photos', body: { stars: 'x' } }
      await ok('POST /batch', { as: ada, body: { operations: [create, fault] } }, 400)
      assert.deepEqual(await states(), ['pending'])
      await ok('POST /photos', { as: ada, body: { image: { upload }, album_id: 999 } }, 400)
      assert.deepEqual(await states(), ['pending'])
      await ok('POST /batch', { as: ada, body: { operations: [create] } })
      assert.deepEqual(await states(), ['live'])
    }))

  test(`${kind.name}: a key makes a repeated upload one, whatever the boundary`, () =>
    withFiles(kind, async files => {
      const { ok, send, ada, states } = files
      const create = (content: string) => {
        const form = new FormData()
        form.set('note', new File([content], 'a.txt'))
        return send('POST /photos', { as: ada, body: form, headers: { 'idempotency-key': 'one' } })
      }
      const [first, second] = [await create('a'), await create('a')]
      assert.equal(second.headers.get('idempotent-replayed'), 'true')
      assert.deepEqual(await second.json(), await first.json())
      assert.equal((await create('b')).status, 422)
      const id = await idOf(files)
      const put = { as: ada, body: 'c', headers: { 'idempotency-key': 'two' } }
      const [one, two] = [await ok(`PUT /photos/${id}/note`, put), await ok(`PUT /photos/${id}/note`, put)]
      assert.deepEqual(one, two)
      await ok(`PUT /photos/${id}/note`, { ...put, body: 'd' }, 422)
      assert.deepEqual(await states(), ['live', 'live'])
      await ok('POST /uploads', put, 400)
    }))

  test(`${kind.name}: a repeated write with a key and If-Match gets the stored reply, even after the item is gone`, () =>
    withFiles(kind, async ({ send, ok, ada }) => {
      const created = async () => {
        const made = await send('POST /photos', { as: ada, body: {} })
        return { id: (await made.json()).id, tag: made.headers.get('etag') ?? '' }
      }
      const form = () => {
        const parts = new FormData()
        parts.set('title', 'a')
        parts.set('note', new File(['a'], 'a.txt'))
        return parts
      }
      for (const [key, line, body] of [
        ['put', 'PUT /photos/:id/note', () => 'c'],
        ['form', 'PATCH /photos/:id', form],
      ] as const) {
        const { id, tag } = await created()
        const headers = { 'idempotency-key': key, 'if-match': tag }
        const attempt = async (status: number, content: unknown = body()) => {
          const reply = await send(line.replace(':id', id), { as: ada, body: content, headers })
          assert.equal(reply.status, status, `${line}: ${await reply.text()}`)
          return reply.headers.get('idempotent-replayed')
        }
        assert.deepEqual([await attempt(200), await attempt(200)], [null, 'true'])
        if (key === 'put') await attempt(422, 'other')
        await ok(`DELETE /photos/${id}`, { as: ada }, 204)
        assert.equal(await attempt(200), 'true')
      }
    }))

  test(`${kind.name}: a file for a field that the caller may not set is not received`, () =>
    withFiles(kind, async ({ send, ok, ada, database }) => {
      const { id } = await ok('POST /drafts', { as: ada, body: { title: 'a' } })
      for (const line of [`PATCH /drafts/${id}`, 'POST /drafts']) {
        const form = new FormData()
        form.set('title', 'a')
        form.set('locked', new File(['a'], 'a.txt'))
        assert.equal((await send(line, { as: ada, body: form })).status, 403, line)
      }
      // The bound of the field that only administrators set is not that of others.
      await ok('POST /uploads', { as: ada, body: Buffer.alloc(10_000_001) }, 413)
      assert.deepEqual(await database.rows('SELECT "id" FROM "uploads"'), [])
      const { upload } = await ok('POST /uploads', { as: ada, body: 'a' }, 201)
      assert.ok(upload)
      // None before was given a row, even for a moment, but for the one that was too large by its own account.
      assert.deepEqual(
        (await database.rows('SELECT "id" FROM "uploads"')).map(({ id: row }) => Number(row)),
        [1],
      )
    }))
}

test('the type is that of the content, and nothing that browsers run', () =>
  withFiles(databaseKinds[0] ?? assert.fail(), async ({ ok, send, ada }) => {
    for (const [name, content, type] of contents) {
      const form = new FormData()
      form.set('content', new File([content as string], name, { type: 'text/html' }))
      const { content: stored } = await ok('POST /papers', { as: ada, body: form }, 201)
      assert.equal(stored.type, type, `${name}: ${String(content).slice(0, 40)}`)
      const got = await send(`GET ${stored.url}`)
      const policy = type === 'application/pdf' ? "script-src 'none'" : 'sandbox'
      assert.equal(got.headers.get('content-security-policy'), policy)
      assert.equal(got.headers.get('x-content-type-options'), 'nosniff')
      const isShown = /^(image|text\/plain|application\/pdf)/.test(type)
      assert.equal(got.headers.get('content-disposition')?.split(';')[0], isShown ? 'inline' : 'attachment')
      assert.equal(got.headers.get('content-type')?.split(';')[0], type)
      const saved = await send(`GET ${stored.url}?download`)
      assert.match(saved.headers.get('content-disposition') ?? '', /^attachment;/)
    }
  }))

test('names are names, in every header and address', () =>
  withFiles(databaseKinds[0] ?? assert.fail(), async ({ ok, send, ada }) => {
    for (const [sent, stored] of names) {
      const { upload, name } = await ok(`POST /uploads?name=${encodeURIComponent(sent)}`, {
        as: ada,
        body: 'a',
      })
      assert.equal(name, stored)
      const { content } = await ok('POST /papers', { as: ada, body: { content: { upload } } })
      assert.equal(content.name, stored)
      assert.equal(decodeURIComponent(content.url.split('/').at(-1)), stored)
      const got = await send(`GET ${content.url}`)
      assert.equal(got.status, 200)
      assert.equal(got.headers.get('set-cookie'), null)
    }
  }))

test('ranges and conditions', () =>
  withFiles(databaseKinds[0] ?? assert.fail(), async ({ ok, send, ada }) => {
    const form = new FormData()
    form.set('content', new File(['0123456789'], 'a.txt'))
    const { content } = await ok('POST /papers', { as: ada, body: form })
    const tag = `"${content.sha256}"`
    const cases: readonly (readonly [Record<string, string>, number, string, string?])[] = [
      [{ range: 'bytes=0-3' }, 206, '0123', 'bytes 0-3/10'],
      [{ range: 'bytes=4-' }, 206, '456789', 'bytes 4-9/10'],
      [{ range: 'bytes=-3' }, 206, '789', 'bytes 7-9/10'],
      [{ range: 'bytes=-30' }, 206, '0123456789', 'bytes 0-9/10'],
      [{ range: 'bytes=8-99' }, 206, '89', 'bytes 8-9/10'],
      [{ range: 'bytes=10-' }, 416, '', 'bytes */10'],
      [{ range: 'bytes=-0' }, 416, '', 'bytes */10'],
      [{ range: 'bytes=3-1' }, 200, '0123456789'],
      [{ range: 'bytes=0-1,3-4' }, 200, '0123456789'],
      [{ range: 'bytes=99999999999999999999-' }, 200, '0123456789'],
      [{ range: 'items=0-1' }, 200, '0123456789'],
      [{ range: 'bytes=0-1', 'if-range': tag }, 206, '01', 'bytes 0-1/10'],
      [{ range: 'bytes=0-1', 'if-range': '"other"' }, 200, '0123456789'],
      [{ 'if-none-match': tag }, 304, ''],
      [{ 'if-none-match': '"other"' }, 200, '0123456789'],
      [{ 'if-match': '"other"' }, 412, ''],
    ]
    for (const [headers, status, body, range] of cases) {
      const got = await send(`GET ${content.url}`, { headers })
      assert.equal(got.status, status, JSON.stringify(headers))
      if (status !== 412) assert.equal(await got.text(), body)
      assert.equal(got.headers.get('content-range'), range ?? null)
    }
    const head = await send(`HEAD ${content.url}`)
    assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '10', ''])
    for (const wrong of ['x', '', '/', '?x=1', '?download&download', '/more'])
      assert.ok(
        [400, 404].includes((await send(`GET ${content.url}${wrong === '' ? 'x' : wrong}`)).status),
        wrong,
      )
  }))

test('a public file may be kept by caches for ever, but is guarded', () =>
  withFiles(databaseKinds[0] ?? assert.fail(), async ({ ok, send, ada }) => {
    const draft = await ok('POST /drafts', { as: ada, body: { title: 'a' } })
    const { cover } = await ok(`PUT /drafts/${draft.id}/cover?name=a(1).png`, { as: ada, body: png })
    const open = await send(`GET ${cover.url}`)
    assert.equal(open.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal((await send(`GET ${cover.url.replace('(', '%28')}`)).status, 200)
    assert.equal((await send(`GET ${cover.url.replace('a(', '%zz(')}`)).status, 404)
    const { id } = await ok('POST /photos', { as: ada, body: {} })
    const { logo } = await ok(`PUT /photos/${id}/logo`, { as: ada, body: png })
    const got = await send(`GET ${logo.url}`)
    // Not everyone may read every item.
    assert.equal(got.headers.get('cache-control'), 'private, no-cache')
    await ok(`PATCH /photos/${id}`, { as: ada, body: { hidden: true } })
    assert.equal((await send(`GET ${logo.url}`)).status, 404)
  }))

test('an upload whose connection ends leaves nothing', () =>
  withFiles(databaseKinds[0] ?? assert.fail(), async files => {
    const { service, ada, states, folder } = files
    const id = await idOf(files)
    const { port } = new URL(service.service.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `PUT /api/v1/photos/${id}/note HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ada.key}\r\nContent-Length: 100\r\n\r\nbegin`,
    )
    await within(async () => (await states()).length === 1)
    socket.destroy()
    await within(async () => (await states()).length === 0)
    assert.deepEqual(objectsIn(folder), [])
  }))

test('a client that reads only after it has sent gets its refusal', () =>
  withFiles(databaseKinds[0] ?? assert.fail(), async files => {
    const { service, ada } = files
    const id = await idOf(files)
    const socket = connect(Number(new URL(service.service.url).port), '127.0.0.1')
    const block = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 97), Buffer.from('\r\n')])
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    let answer = ''
    socket.on('data', data => {
      answer += data
    })
    socket.on('error', reject).on('close', () => resolve(answer))
    socket.pause()
    socket.write(
      `PUT /api/v1/photos/${id}/note HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ada.key}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    for (let sent = 0; sent < 400; sent++)
      if (!socket.write(block)) await Promise.race([once(socket, 'drain'), promise])
    socket.write('0\r\n\r\n')
    socket.resume()
    assert.match(await promise, /^HTTP\/1\.1 413[\s\S]*\r\nConnection: close\r\n/)
  }))
