/** Files of items, from the upload to the removal of the object. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { databaseKinds } from '../../../engine/store/databases.ts'
import { png, withFiles } from './fixture.ts'

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

for (const kind of databaseKinds) {
  test(`${kind.name}: a file is put, read, replaced and removed`, () =>
    withFiles(kind, async ({ ok, send, ada, states }) => {
      const { id, image } = await ok('POST /photos', { as: ada, body: { title: 'one' } })
      assert.equal(image, null)
      const put = await ok(`PUT /photos/${id}/image?name=a%20%22b%22.png`, { as: ada, body: png })
      assert.deepEqual(put.image, {
        url: put.image.url,
        name: 'a "b".png',
        type: 'image/png',
        size: png.length,
        sha256: sha256(png),
      })
      assert.match(put.image.url, new RegExp(`^/api/v1/photos/${id}/image/[\\w-]{22}/a%20%22b%22\\.png$`))
      assert.deepEqual((await ok(`GET /photos/${id}`)).image, put.image)
      const got = await send(`GET ${put.image.url}`)
      assert.equal(got.status, 200)
      assert.deepEqual(Buffer.from(await got.arrayBuffer()), png)
      assert.equal(got.headers.get('content-type'), 'image/png')
      assert.equal(got.headers.get('content-length'), String(png.length))
      assert.equal(got.headers.get('etag'), `"${sha256(png)}"`)
      assert.equal(got.headers.get('cache-control'), 'private, no-cache')
      assert.equal(got.headers.get('content-security-policy'), 'sandbox')
      assert.equal(got.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(
        got.headers.get('content-disposition'),
        `inline; filename="a _b_.png"; filename*=UTF-8''a%20%22b%22.png`,
      )
      const other = Buffer.concat([png, Buffer.from('more')])
      const replaced = await ok(`PUT /photos/${id}/image`, { as: ada, body: other })
      assert.equal(replaced.image.name, 'image')
      assert.deepEqual(await states(), ['deleted', 'live'])
      assert.equal((await send(`GET ${put.image.url}`)).status, 404)
      await ok(`DELETE /photos/${id}/image`, { as: ada }, 204)
      assert.deepEqual(await states(), ['deleted', 'deleted'])
      assert.equal((await ok(`GET /photos/${id}`)).image, null)
    }))

  test(`${kind.name}: uploads become files by reference, once, of their owner`, () =>
    withFiles(kind, async ({ ok, ada, bob, states }) => {
      const { upload } = await ok('POST /uploads?name=x.png', { as: ada, body: png }, 201)
      assert.deepEqual(await states(), ['pending'])
      await ok('POST /photos', { as: bob, body: { image: { upload } } }, 400)
      assert.deepEqual(await states(), ['pending'])
      const { id, image } = await ok('POST /photos', { as: ada, body: { image: { upload } } }, 201)
      assert.equal(image.url, `/api/v1/photos/${id}/image/${upload}/x.png`)
      assert.deepEqual(await states(), ['live'])
      await ok('POST /photos', { as: ada, body: { image: { upload } } }, 400)
      await ok(`PATCH /photos/${id}`, { as: ada, body: { note: { upload } } }, 400)
      // What was read can be sent back.
      const item = await ok(`PUT /photos/${id}`, { as: ada, body: { title: 'two', image } })
      assert.deepEqual(item.image, image)
      await ok(`PATCH /photos/${id}`, { as: ada, body: { note: image } }, 400)
      await ok('POST /photos', { as: ada, body: { image } }, 400)
      assert.deepEqual(await states(), ['live'])
      const patched = await ok(`PATCH /photos/${id}`, { as: ada, body: { image: null } })
      assert.equal(patched.image, null)
      assert.deepEqual(await states(), ['deleted'])
    }))

  test(`${kind.name}: forms write fields and files together`, () =>
    withFiles(kind, async ({ ok, ada, states }) => {
      const form = new FormData()
      form.set('title', 'three')
      form.set('stars', '4')
      form.set('hidden', 'false')
      form.set('labels', '{"a":[1]}')
      form.set('image', new File([png], '../../etc/été.png', { type: 'text/html' }))
      form.set('note', new File(['hello'], 'note.html', { type: 'text/html' }))
      const item = await ok('POST /photos', { as: ada, body: form }, 201)
      assert.equal(item.title, 'three')
      assert.equal(item.stars, 4)
      assert.deepEqual(item.labels, { a: [1] })
      assert.equal(item.image.name, 'été.png')
      assert.equal(item.image.type, 'image/png')
      assert.equal(item.note.type, 'text/plain')
      const change = new FormData()
      change.set('stars', '5')
      change.set('image', new File([png, 'x'], 'b.png'))
      const patched = await ok(`PATCH /photos/${item.id}`, { as: ada, body: change })
      assert.equal(patched.stars, 5)
      assert.equal(patched.image.name, 'b.png')
      assert.equal(patched.note.name, 'note.html')
      assert.deepEqual(await states(), ['deleted', 'live', 'live'])
    }))

  test(`${kind.name}: a file that \`prepare\` removes is no file of the item`, () =>
    withFiles(kind, async ({ ok, ada, states }) => {
      const upload = async () => ({ upload: (await ok('POST /uploads', { as: ada, body: png })).upload })
      const strip = async () => ({ title: 'strip', a: await upload() })
      assert.equal((await ok('POST /drafts', { as: ada, body: await strip() }, 201)).a, null)
      assert.deepEqual(await states(), ['deleted'])
      const { id } = await ok('POST /drafts', { as: ada, body: { title: 'keep' } }, 201)
      assert.equal((await ok(`PATCH /drafts/${id}`, { as: ada, body: await strip() })).a, null)
      assert.deepEqual(await states(), ['deleted', 'deleted'])
      const kept = await ok(`PATCH /drafts/${id}`, { as: ada, body: { title: 'keep', a: await upload() } })
      assert.equal(kept.a.type, 'image/png')
      assert.deepEqual(await states(), ['deleted', 'deleted', 'live'])
      const both = { ...(await strip()), b: await upload() }
      const replaced = await ok(`PATCH /drafts/${id}`, { as: ada, body: both })
      assert.deepEqual([replaced.a, replaced.b.size], [null, png.length])
      assert.deepEqual(await states(), ['deleted', 'deleted', 'deleted', 'deleted', 'live'])
      // What was read can be sent back, even if it is removed.
      const again = await ok(`PATCH /drafts/${id}`, { as: ada, body: { title: 'keep', a: await upload() } })
      const put = await ok(`PUT /drafts/${id}`, { as: ada, body: { title: 'strip', a: again.a } })
      assert.deepEqual([put.a, put.b], [null, null])
      assert.deepEqual(await states(), Array(6).fill('deleted'))
    }))

  test(`${kind.name}: files go with their items, and by cascade`, () =>
    withFiles(kind, async ({ ok, ada, states }) => {
      const album = await ok('POST /albums', { as: ada, body: { name: 'all' } })
      for (const title of ['a', 'b']) {
        const form = new FormData()
        form.set('title', title)
        form.set('album_id', String(album.id))
        form.set('image', new File([png], 'a.png'))
        await ok('POST /photos', { as: ada, body: form }, 201)
      }
      assert.deepEqual(await states(), ['live', 'live'])
      await ok(`DELETE /albums/${album.id}`, { as: ada }, 204)
      assert.deepEqual(await states(), ['deleted', 'deleted'])
    }))

  test(`${kind.name}: a file follows the rules of its item and field`, () =>
    withFiles(kind, async ({ ok, send, ada, bob, person }) => {
      const form = new FormData()
      form.set('image', new File([png], 'a.png'))
      form.set('note', new File(['secret'], 'n.txt'))
      const { id, image, note } = await ok('POST /photos', { as: ada, body: form }, 201)
      const reader = await person('reader', ['read:album'])
      const statusOf = async (url: string, as?: typeof ada) => (await send(`GET ${url}`, { as })).status
      assert.deepEqual(
        [await statusOf(image.url), await statusOf(image.url, bob), await statusOf(image.url, reader)],
        [200, 200, 403],
      )
      assert.deepEqual(
        [await statusOf(note.url), await statusOf(note.url, bob), await statusOf(note.url, ada)],
        [404, 404, 200],
      )
      await ok(`PATCH /photos/${id}`, { as: ada, body: { hidden: true } })
      assert.deepEqual(
        [await statusOf(image.url), await statusOf(image.url, bob), await statusOf(image.url, ada)],
        [404, 404, 200],
      )
      for (const line of [`PUT /photos/${id}/image`, `DELETE /photos/${id}/image`]) {
        assert.equal(
          (await send(line, { as: bob, body: line.startsWith('PUT') ? png : undefined })).status,
          404,
        )
        assert.equal((await send(line, { body: line.startsWith('PUT') ? png : undefined })).status, 401)
      }
      await ok(`PATCH /photos/${id}`, { as: ada, body: { hidden: false } })
      assert.equal((await send(`PUT /photos/${id}/image`, { as: bob, body: png })).status, 403)
    }))

  test(`${kind.name}: every credential reads and sets the files that it may`, () =>
    withFiles(kind, async ({ ok, send, ada, person }) => {
      const own = { hidden: true }
      const keyed = async (scopes: readonly string[]) => {
        const someone = await person(scopes.join('-').replaceAll(/[^a-z]/g, ''), scopes)
        return { ...someone, scopes }
      }
      const { id } = await ok('POST /photos', { as: ada, body: own })
      const { image } = await ok(`PUT /photos/${id}/image`, { as: ada, body: png })
      const status = async (url: string, headers: Record<string, string>) =>
        (await send(`GET ${url}`, { headers })).status
      assert.equal(await status(image.url, { authorization: `Bearer ${ada.key}` }), 200)
      assert.equal(await status(image.url, { 'x-api-key': ada.key }), 200)
      assert.equal(await status(`${image.url}?api_key=${ada.key}`, {}), 200)
      assert.equal(await status(`${image.url}?download&api_key=${ada.key}`, {}), 200)
      assert.equal(await status(image.url, { authorization: `Bearer ${ada.key.slice(0, -1)}x` }), 401)
      assert.equal(await status(image.url, { authorization: 'Bearer x' }), 401)
      assert.equal(await status(image.url, { authorization: `Bearer ${ada.key}`, 'x-api-key': 'pk_x' }), 400)
      assert.equal(await status(image.url, { cookie: 'session=x' }), 404)
      await ok(`PATCH /photos/${id}`, { as: ada, body: { hidden: false } })
      const cases = [
        { scopes: ['read:photo'], read: 200, upload: 403 },
        { scopes: ['write:photo'], read: 200, upload: 201 },
        { scopes: ['write:paper'], read: 403, upload: 201 },
        { scopes: ['write:album'], read: 403, upload: 403 },
      ]
      for (const { scopes, read, upload } of cases) {
        const as = await keyed(scopes)
        assert.equal((await send(`GET ${image.url}`, { as })).status, read, String(scopes))
        const sent = await send('POST /uploads', { as, body: png })
        assert.equal(sent.status, upload, String(scopes))
        if (upload === 403) assert.equal((await sent.json()).error.code, 'INSUFFICIENT_SCOPE')
        assert.equal((await send(`PUT /photos/${id}/image`, { as, body: png })).status, 403, String(scopes))
      }
    }))

  test(`${kind.name}: explanations say who may read and set a file`, () =>
    withFiles(kind, async ({ ok, ada, bob, person, service }) => {
      const admin = await person('root')
      await service.service.data.users?.update(admin.id, { role: 'admin' })
      const form = new FormData()
      form.set('image', new File([png], 'a.png'))
      form.set('note', new File(['secret'], 'n.txt'))
      const { id, image, note } = await ok('POST /photos', { as: ada, body: form }, 201)
      const explain = async (as: number, method: string, url: string) => {
        const path = url.replace('/api/v1', '')
        const { allowed, status } = await ok('POST /explain', { as: admin, body: { as, method, path } })
        return [allowed, status]
      }
      assert.deepEqual(await explain(bob.id, 'GET', image.url), [true, 200])
      assert.deepEqual(await explain(bob.id, 'GET', note.url), [false, 404])
      assert.deepEqual(await explain(ada.id, 'GET', note.url), [true, 200])
      assert.deepEqual(await explain(bob.id, 'PUT', `/photos/${id}/image`), [false, 403])
      assert.deepEqual(await explain(ada.id, 'PUT', `/photos/${id}/image`), [true, 204])
      assert.deepEqual(await explain(ada.id, 'POST', '/uploads'), [true, 201])
    }))

  test(`${kind.name}: events tell of files, GraphQL selects their members`, () =>
    withFiles(kind, async ({ ok, ada, bob }) => {
      const { next_after: after } = (await ok('GET /events', { as: ada })).meta
      const { id } = await ok('POST /photos', { as: ada, body: {} })
      const { image } = await ok(`PUT /photos/${id}/image`, { as: ada, body: png })
      const { note } = await ok(`PUT /photos/${id}/note`, { as: ada, body: 'hello' })
      const { data } = await ok(`GET /events?after=${after}&collections=photos`, { as: ada })
      assert.deepEqual(
        data.map((event: { changed?: unknown; data: { image: unknown; note: unknown } }) => [
          event.changed,
          event.data.image,
          event.data.note,
        ]),
        [
          [undefined, null, null],
          [['image'], image, null],
          [['note'], image, note],
        ],
      )
      assert.equal((await ok(`GET /events?after=${after}&collections=photos`, { as: bob })).data.length, 2)
      const query = `{ photo(id: ${id}) { image { __typename url n: name type size sha256 } logo { url } note { name } } }`
      const { data: graph } = await ok('POST /graphql', { as: ada, body: { query } })
      const { name: n, ...rest } = image
      assert.deepEqual(graph.photo, {
        image: { __typename: 'StoredFile', ...rest, n },
        logo: null,
        note: { name: 'note' },
      })
      assert.deepEqual(
        (await ok('GET /photos?image[null]=false&note[null]=false&logo[null]=true', { as: ada })).meta.total,
        1,
      )
    }))

  test(`${kind.name}: large files of random bytes`, () =>
    withFiles(kind, async ({ ok, send, ada }) => {
      const bytes = randomBytes(4_000_000)
      const form = new FormData()
      form.set('content', new File([bytes], 'big.bin'))
      const { content } = await ok('POST /papers', { as: ada, body: form }, 201)
      assert.equal(content.sha256, sha256(bytes))
      const got = await send(`GET ${content.url}`)
      assert.equal(
        got.headers.get('content-disposition'),
        `attachment; filename="big.bin"; filename*=UTF-8''big.bin`,
      )
      assert.ok(Buffer.from(await got.arrayBuffer()).equals(bytes))
    }))
}
