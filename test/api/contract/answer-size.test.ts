/** Answers have a maximum size in bytes, on every transport and both databases, and a write beyond it changes nothing. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { chosen } from '../../chosen.ts'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import type { Answer } from '../../server/serve/service.ts'
import { postgres } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { assertFits, assertTooLarge } from './answers.ts'

const readBytes = 128 * 1024
const writeBytes = 64 * 1024
const settings = { maxAnswer: '128 KiB', graphql: { limits: { cost: 1_000_000 } } } as const

/** Of about 20,000 bytes each in an answer: letters, characters of three bytes, escapes. */
const bodies = {
  letters: 'x'.repeat(20_000),
  'wide characters': '雪'.repeat(6666),
  escapes: '"'.repeat(10_000),
}
const bodyBytes = 20_000

interface Posts extends Fixture {
  readonly ids: readonly number[]
  get(path: string): Promise<Answer>
  write(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  graphql(query: string): Promise<Answer>
}

async function withPosts(
  fixture: Fixture,
  text: string,
  count: number,
  use: (posts: Posts) => Promise<void>,
) {
  const { key, id } = fixture.ann
  const write: Posts['write'] = (method, path, body, headers) =>
    fixture.call(`/api/v1${path}`, { method, key, body, headers })
  const ids: number[] = []
  for (let index = 0; index < count; index++) {
    const created = await write('POST', '/posts?fields=id', {
      title: `post ${index}`,
      body: text,
      author_id: id,
    })
    assert.equal(created.status, 201, created.text)
    ids.push(Number(created.json.id))
  }
  const get: Posts['get'] = path => fixture.call(`/api/v1${path}`, { key })
  await use({
    ...fixture,
    ids,
    write,
    get,
    graphql: query => fixture.call('/graphql', { method: 'POST', key, body: { query } }),
  })
  for (const postId of ids) assert.equal((await write('DELETE', `/posts/${postId}`)).status, 204)
}

const aliases = (count: number, field: string): string =>
  Array.from({ length: count }, (_, index) => `a${index}:${field}`).join(' ')

for (const setup of chosen([sqlite, postgres])) {
  suite(`answers on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup, settings)

    test('a read is refused from the first byte over the bound, whatever characters it has', () =>
      withFixture(async fixture => {
        for (const [name, text] of Object.entries(bodies)) {
          await withPosts(fixture, text, 10, async ({ get, graphql, ann }) => {
            const fitting = Math.floor(readBytes / (bodyBytes + 200))
            const reads: readonly [string, (count: number) => Promise<Answer>][] = [
              ['list', count => get(`/posts?per_page=${count}`)],
              ['cursor', count => get(`/posts?per_page=${count}&sort=-id&cursor=`)],
              ['sorted list', count => get(`/posts?per_page=${count}&sort=-title`)],
              ['GraphQL list', count => graphql(`{ posts(limit: ${count}) { id title body } }`)],
              [
                'connection',
                count => graphql(`{ postsConnection(first: ${count - 1}) { edges { node { id body } } } }`),
              ],
              ['aliases', count => graphql(`{ posts(limit: 1) { ${aliases(count, 'body')} } }`)],
              ['roots', count => graphql(`{ ${aliases(count, 'posts(limit: 1) { id body }')} }`)],
              ['related', count => graphql(`{ user(id: ${ann.id}) { posts(limit: ${count}) { body } } }`)],
            ]
            const isPlain = text === bodies.letters
            for (const [kind, read] of isPlain ? reads : reads.slice(0, 1)) {
              assertFits(await read(fitting), readBytes, `${kind} of ${name}`)
              assertTooLarge(await read(fitting + 1), `${kind} of ${name}`)
            }
          })
        }
      }))

    test('a value that occurs several times in a reply counts each time', () =>
      withFixture(fixture =>
        withPosts(fixture, bodies.letters, 6, async ({ get, graphql, ann }) => {
          const both = 'postsConnection(first: 4) { nodes { body } edges { node { body } } }'
          assertTooLarge(await graphql(`{ ${both} }`), 'nodes and edges')
          assertTooLarge(await get('/posts?fields=id&include=author.posts'), 'include')
          assertFits(await get(`/users/${ann.id}?include=posts.author`), readBytes, 'include of an item')
          assertFits(await get('/posts?fields=id&include=author'), readBytes, 'include of short texts')
          assertFits(await get(`/users/${ann.id}?include=posts`), readBytes, 'one relation')
        }),
      ))

    test('a write that is refused changes nothing, and a smaller answer lets it pass', () =>
      withFixture(fixture =>
        withPosts(fixture, bodies.letters, 4, async posts => {
          const { ids, ann, write, get, graphql } = posts
          const [id] = ids
          const path = `/posts/${id}`
          const before = (await get('/posts?fields=id,title,updated_at')).text
          const long = { title: 'new', body: 'y'.repeat(70_000), author_id: ann.id }
          const short = { title: 'new', author_id: ann.id }
          const createMany = (count: number) =>
            Array.from({ length: count }, () => ({ ...short, body: bodies.letters }))
          const patch = { method: 'PATCH', path, body: { title: 'new' } }
          const update = `updatePost(id: ${id}, title: "new")`
          const idempotent = () => ({ 'Idempotency-Key': randomUUID() })
          const refused: readonly [string, () => Promise<Answer>][] = [
            ['create', () => write('POST', '/posts', long)],
            ['create with a relation', () => write('POST', '/posts?include=author.posts', short)],
            ['bulk create', () => write('POST', '/posts', createMany(4))],
            [
              'bulk create with a relation',
              () =>
                write(
                  'POST',
                  '/posts?fields=id&include=author.posts',
                  createMany(3).map(() => short),
                ),
            ],
            ['idempotent create', () => write('POST', '/posts', long, idempotent())],
            ['idempotent bulk create', () => write('POST', '/posts', createMany(4), idempotent())],
            ['PATCH', () => write('PATCH', `${path}?include=author.posts`, { title: 'new' })],
            [
              'idempotent PATCH',
              () => write('PATCH', `${path}?include=author.posts`, { title: 'new' }, idempotent()),
            ],
            ['PUT', () => write('PUT', path, long)],
            [
              'batch of a write and reads',
              () => write('POST', '/batch', { operations: [patch, { method: 'GET', path: '/posts' }] }),
            ],
            [
              'batch of writes',
              () =>
                write('POST', '/batch', {
                  operations: ids.map(each => ({ ...patch, path: `/posts/${each}` })),
                }),
            ],
            [
              'batch of reads',
              () =>
                write('POST', '/batch', { operations: [0, 1, 2, 3].map(() => ({ method: 'GET', path })) }),
            ],
            ['mutation', () => graphql(`mutation { ${update} { ${aliases(4, 'body')} } }`)],
            [
              'mutation with a relation',
              () => graphql(`mutation { ${update} { author { posts { body } } } }`),
            ],
            [
              'mutation with nodes and edges',
              () =>
                graphql(
                  `mutation { ${update} { author { postsConnection(first: 2) { nodes { body } edges { node { body } } } } } }`,
                ),
            ],
            [
              'creating mutation',
              () =>
                graphql(
                  `mutation { createPost(title: "new", authorId: ${ann.id}, body: "${long.body}") { body } }`,
                ),
            ],
            ['@atomic mutations', () => graphql(`mutation @atomic { ${aliases(4, `${update} { body }`)} }`)],
          ]
          for (const [name, send] of refused) {
            assertTooLarge(await send(), name)
            assert.equal((await get('/posts?fields=id,title,updated_at')).text, before, name)
          }
          const created = await write('POST', '/posts?fields=id', long)
          assertFits(created, writeBytes, 'create without the text')
          assert.equal((await write('DELETE', `/posts/${created.json.id}`)).status, 204)
          assertFits(
            await write('POST', '/posts?fields=id', createMany(4)),
            writeBytes,
            'bulk create without the text',
          )
          assertFits(
            await graphql(`mutation { ${update} { ${aliases(3, 'body')} } }`),
            writeBytes,
            'mutation',
          )
        }),
      ))

    test('an item over the bound of writes can be read, changed with conditions and deleted', () =>
      withFixture(fixture =>
        withPosts(fixture, 'z'.repeat(100_000), 1, async ({ ids: [id], get, write }) => {
          const path = `/posts/${id}`
          const read = await get(path)
          assertFits(read, readBytes, 'read')
          const condition = { 'If-Match': read.headers.get('ETag') ?? '' }
          const changed = await write('PATCH', `${path}?fields=title`, { title: 'changed' }, condition)
          assertFits(changed, writeBytes, 'PATCH')
          assert.equal(
            (await write('PATCH', `${path}?fields=title`, { title: 'late' }, condition)).status,
            412,
          )
        }),
      ))

    test('mutations that run one after the other stop before their answers exceed the bound', () =>
      withFixture(fixture =>
        withPosts(fixture, 'z'.repeat(60_000), 1, async ({ ids: [id], graphql, get }) => {
          const update = (title: string) => `updatePost(id: ${id}, title: "${title}") { body }`
          const answer = await graphql(`mutation { a:${update('1')} b:${update('2')} c:${update('3')} }`)
          const { data, errors } = answer.json as never as {
            data: { a: object; b: object; c: null }
            errors: { path: string[] }[]
          }
          assert.ok(answer.text.length < readBytes + 1000)
          assert.ok(data.a)
          assert.equal(data.c, null)
          assert.equal(errors.at(-1)?.path[0], 'c')
          const done = [data.a, data.b, data.c].filter(value => value !== null).length
          assert.equal((await get(`/posts/${id}?fields=title`)).json.title, String(done))
        }),
      ))
  })
}
