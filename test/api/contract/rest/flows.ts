/** Behaviour that takes more than one request: entity tags, cursors, links. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reply } from '../../../../src/base/call.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import blog from '../../../models/blog.ts'
import { ann, nobody, posts, seedBlog } from './blog.ts'
import type { Harness, OpenHarness } from './harness.ts'
import { seededHarnesses } from './scenario.ts'

function header({ headers }: Reply, name: string): string {
  const value = headers[headers.indexOf(name) + 1]
  assert.ok(headers.includes(name) && value !== undefined, `${name} is sent`)
  return value
}

function parse({ body, status }: Reply) {
  assert.equal(status, 200, String(body))
  return JSON.parse(String(body))
}

function follow(reply: Reply, relation: string): string | undefined {
  return new RegExp(`<([^>]*)>; rel="${relation}"`).exec(header(reply, 'Link'))?.[1]
}

export function flowContract(open: OpenHarness): void {
  const withHarness = seededHarnesses(checkModel(blog), open, seedBlog)
  const reading = (name: string, run: (harness: Harness) => Promise<void>) =>
    test(name, () => withHarness(false, ({ harness }) => run(harness)))
  const writing = (name: string, run: (harness: Harness) => Promise<void>) =>
    test(name, () => withHarness(true, ({ harness }) => run(harness)))

  writing('an entity tag changes exactly when the representation changes', async harness => {
    for (const url of [
      '/api/v1/posts/1',
      '/api/v1/posts',
      '/api/v1/posts?cursor=',
      '/api/v1/posts/1?fields=title',
    ]) {
      const first = await harness.send({ url }, nobody)
      const etag = header(first, 'ETag')
      const second = await harness.send({ url, headers: { 'if-none-match': `"x", W/${etag}` } }, nobody)
      assert.equal(second.status, 304)
      assert.equal(second.body, null)
      assert.equal(header(second, 'ETag'), etag)
      assert.equal(header(second, 'Cache-Control'), header(first, 'Cache-Control'))
      await harness.send(
        { method: 'PATCH', url: '/api/v1/posts/1', body: { title: `Changed for ${url}` } },
        ann,
      )
      const changed = await harness.send({ url, headers: { 'if-none-match': etag } }, nobody)
      assert.equal(changed.status, 200)
      assert.notEqual(header(changed, 'ETag'), etag)
    }
  })

  writing('the entity tag of one read allows one change, not two', async harness => {
    const etag = header(await harness.send({ url: '/api/v1/posts/1' }, ann), 'ETag')
    const change = (title: string) =>
      harness.send(
        { method: 'PATCH', url: '/api/v1/posts/1', headers: { 'if-match': `"x", ${etag}` }, body: { title } },
        ann,
      )
    assert.equal((await change('First')).status, 200)
    assert.equal((await change('Second')).status, 412)
    assert.equal(parse(await harness.send({ url: '/api/v1/posts/1' }, ann)).title, 'First')
  })

  writing('If-Match compares the tag of the whole item, however the response is shaped', async harness => {
    const plain = header(await harness.send({ url: '/api/v1/posts/1' }, ann), 'ETag')
    const sparse = header(await harness.send({ url: '/api/v1/posts/1?fields=title' }, ann), 'ETag')
    const change = (etag: string) =>
      harness.send(
        {
          method: 'PATCH',
          url: '/api/v1/posts/1?fields=title',
          headers: { 'if-match': etag },
          body: { title: 'Changed' },
        },
        ann,
      )
    assert.equal((await change(sparse)).status, 412)
    const changed = await change(plain)
    assert.deepEqual(parse(changed), { title: 'Changed' })
    assert.ok(!changed.headers.includes('ETag'), 'a response with selected fields has no tag to send back')
  })

  writing('the entity tag of a write is that of the next read', async harness => {
    const requests = [
      { method: 'POST', url: '/api/v1/posts', body: { title: 'x' } },
      { method: 'PUT', url: '/api/v1/posts/1', body: { title: 'x' } },
      { method: 'PATCH', url: '/api/v1/posts/1', body: { title: 'y' } },
    ]
    for (const request of requests) {
      const written = await harness.send(request, ann)
      const { id } = JSON.parse(String(written.body))
      const answer = await harness.send({ url: `/api/v1/posts/${id}` }, ann)
      assert.equal(header(written, 'ETag'), header(answer, 'ETag'), request.method)
    }
    const etag = header(await harness.send({ url: '/api/v1/posts/1' }, ann), 'ETag')
    const deletion = await harness.send(
      { method: 'DELETE', url: '/api/v1/posts/1', headers: { 'if-match': etag } },
      ann,
    )
    assert.equal(deletion.status, 204)
    assert.equal((await harness.send({ url: '/api/v1/posts/1' }, ann)).status, 404)
  })

  for (const query of [
    '',
    'sort=-title&',
    'sort=author_id,-body&',
    'author_id=2&fields=id&',
    'sort=body&include=author&',
  ]) {
    reading(
      `a cursor visits every item once, in the order of the numbered pages: ${query}`,
      async harness => {
        const walked: number[] = []
        let url: string | undefined = `/api/v1/posts?${query}cursor=&per_page=4`
        while (url !== undefined) {
          const reply: Reply = await harness.send({ url }, ann)
          const { data, meta } = parse(reply)
          walked.push(...data.map((item: { id: number }) => item.id))
          url = follow(reply, 'next')
          assert.equal(url !== undefined, meta.next_cursor !== null)
          if (url) assert.ok(url.includes(`cursor=${meta.next_cursor}`))
        }
        const { data, meta } = parse(await harness.send({ url: `/api/v1/posts?${query}per_page=100` }, ann))
        assert.deepEqual(
          walked,
          data.map((item: { id: number }) => item.id),
        )
        assert.equal(walked.length, meta.total)
        assert.ok(walked.length >= posts - 1)
      },
    )
  }

  reading('a cursor is valid for its own list and order only', async harness => {
    const { meta } = parse(await harness.send({ url: '/api/v1/posts?cursor=&per_page=2&sort=title' }, ann))
    for (const url of [
      'posts?sort=-title',
      'posts?sort=body',
      'posts?per_page=2',
      'users?sort=name',
      'users?per_page=2',
    ]) {
      const reply = await harness.send({ url: `/api/v1/${url}&cursor=${meta.next_cursor}` }, ann)
      assert.equal(reply.status, 400, url)
      assert.equal(JSON.parse(String(reply.body)).error.code, 'INVALID_CURSOR')
    }
  })

  reading('the links of the pages lead through all of them and back to the first', async harness => {
    const ids: number[] = []
    let url: string | undefined = '/api/v1/posts?title[contains]=Post%201&per_page=3'
    let last: Reply | undefined
    while (url !== undefined) {
      last = await harness.send({ url }, nobody)
      ids.push(...parse(last).data.map((item: { id: number }) => item.id))
      url = follow(last, 'next')
    }
    assert.deepEqual(ids, [1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
    assert.ok(last)
    const first = follow(last, 'first') ?? ''
    assert.deepEqual(parse(await harness.send({ url: first }, nobody)).data[0].id, 1)
  })

  reading('HEAD sends the headers of GET', async harness => {
    for (const url of ['/api/v1/posts', '/api/v1/posts/1', '/api/v1/openapi.json']) {
      const get = await harness.send({ url }, nobody)
      const head = await harness.send({ method: 'HEAD', url }, nobody)
      assert.deepEqual({ ...head, body: null }, { ...get, body: null })
    }
  })

  writing(
    'responses to authenticated callers are private, those to anonymous callers are public',
    async harness => {
      const tags = new Set<string>()
      await harness.send({ method: 'POST', url: '/api/v1/api_keys', body: { name: 'Mine' } }, ann)
      for (const who of [ann, nobody]) {
        const reply = await harness.send({ url: '/api/v1/posts/1' }, who)
        tags.add(header(reply, 'Cache-Control'))
      }
      assert.deepEqual([...tags], ['private, no-cache', 'public, no-cache'])
    },
  )
}
