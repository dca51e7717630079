/** Writes with an `Idempotency-Key` whose answers are as large as they may be, or larger. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { assertFits, assertTooLarge } from '../../api/contract/answers.ts'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import type { Answer } from '../../server/serve/service.ts'
import { postgres } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'

const writeBytes = 64 * 1024
/** Writes may have an eighth, and at least 64 KiB. */
const settings = { maxAnswer: '128 KiB' } as const
const short = 'f'.repeat(30_000)
const long = 'l'.repeat(70_000)

const isReplayed = ({ headers }: Answer) => headers.get('Idempotent-Replayed') === 'true'

/** A request that may be sent again with the same key. */
type Request = readonly [path: string, body: unknown]

const create = (body: string, query = ''): Request => [`/api/v1/posts${query}`, { title: 'new', body }]
const bulk = (body: string, count: number): Request => [
  '/api/v1/posts',
  Array.from({ length: count }, () => ({ title: 'new', body })),
]
const batch = (body: string, count: number): Request => [
  '/api/v1/batch',
  {
    operations: Array.from({ length: count }, () => {
      return { method: 'POST', path: '/posts', body: { title: 'new', body } }
    }),
  },
]
const mutation = (authorId: number, body: string, count: number): Request => {
  const fields = Array.from({ length: count }, (_, index) => {
    return `a${index}: createPost(title: "new", authorId: ${authorId}, body: "${body}") { body }`
  })
  return ['/graphql', { query: `mutation @atomic { ${fields.join(' ')} }` }]
}

/** Sends requests of Ann's, and counts her posts. */
function clientOf({ call, ann: { key, id } }: Fixture) {
  return {
    send: ([path, body]: Request, idempotencyKey: string) =>
      call(path, { method: 'POST', key, body, headers: { 'Idempotency-Key': idempotencyKey } }),
    count: async () => {
      const { json } = await call(`/api/v1/posts?author_id=${id}&fields=id`, { key })
      return (json['meta'] as { total: number }).total
    },
  }
}

for (const setup of [sqlite, postgres]) {
  suite(`large replies to an Idempotency-Key on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup, settings)

    test('a refused write is undone with its record: a retry is carried out, and refused again', () =>
      withFixture(async fixture => {
        const { send, count } = clientOf(fixture)
        const refused = [create(long), bulk(short, 3), batch(short, 3), mutation(fixture.ann.id, short, 3)]
        for (const request of refused) {
          const key = randomUUID()
          for (let times = 0; times < 2; times++) {
            const answer = await send(request, key)
            assertTooLarge(answer, request[0])
            assert.equal(isReplayed(answer), false, request[0])
          }
          assert.equal(await count(), 0, request[0])
        }
      }))

    test('the key of a refused write is free for a request with a smaller answer', () =>
      withFixture(async fixture => {
        const { send, count } = clientOf(fixture)
        const key = randomUUID()
        assertTooLarge(await send(create(long), key), 'with the text')
        const smaller = create(long, '?fields=id')
        const created = await send(smaller, key)
        assertFits(created, writeBytes, 'without the text')
        assert.equal(isReplayed(created), false)
        const again = await send(smaller, key)
        assert.deepEqual([again.status, again.text, isReplayed(again)], [201, created.text, true])
        const other = await send(create(long), key)
        assert.equal(other.code, 'IDEMPOTENCY_KEY_REUSED')
        assert.equal(await count(), 1)
      }))

    test('an answer within the bound is stored once, and replayed as a whole', () =>
      withFixture(async fixture => {
        const { send, count } = clientOf(fixture)
        const fitting = [
          [create(short.repeat(2)), 1],
          [bulk(short, 2), 2],
          [batch(short, 2), 2],
          [mutation(fixture.ann.id, short, 2), 2],
        ] as const
        let posts = 0
        for (const [request, created] of fitting) {
          const key = randomUUID()
          const first = await send(request, key)
          assertFits(first, writeBytes, request[0])
          assert.ok(first.text.length > 60_000, request[0])
          for (let times = 0; times < 2; times++) {
            const again = await send(request, key)
            assert.deepEqual([again.status, isReplayed(again)], [first.status, true], request[0])
            assert.equal(again.text, first.text, request[0])
          }
          posts += created
          assert.equal(await count(), posts, request[0])
        }
      }))
  })
}
