/** Aggregates with long texts have the maximum size of answers, on REST and GraphQL and both databases. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import notes from '../../models/notes.ts'
import type { Answer } from '../../server/serve/service.ts'
import { postgres } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { assertFits, assertTooLarge } from './answers.ts'

const readBytes = 64 * 1024
const settings = { maxAnswer: '64 KiB', graphql: { limits: { cost: 1_000_000 } } } as const

/** Of characters of one byte, of three, and of escapes: about 10,000 bytes each in an answer. */
const titles = ['x'.repeat(10_000), '雪'.repeat(3333), '"'.repeat(5000)]
const fitting = 6

type Ask = (path: string) => Promise<Answer>

async function withGroups(fixture: Fixture, title: string, use: (get: Ask, query: Ask) => Promise<void>) {
  const { key } = fixture.ann
  const created: unknown[] = []
  for (let index = 0; index < fitting + 2; index++) {
    const body = { title: `${index}${title}`, state: `state ${index}` }
    const answer = await fixture.call('/api/v1/notes?fields=id', { method: 'POST', key, body })
    assert.equal(answer.status, 201, answer.text)
    created.push(answer.json['id'])
  }
  await use(
    path => fixture.call(`/api/v1${path}`, { key }),
    query => fixture.call('/graphql', { method: 'POST', key, body: { query } }),
  )
  for (const id of created) await fixture.call(`/api/v1/notes/${id}`, { method: 'DELETE', key })
}

for (const setup of [sqlite, postgres]) {
  suite(`aggregates on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup, settings, notes)

    test('groups and the smallest and largest texts count, whatever characters they have', () =>
      withFixture(async fixture => {
        for (const title of titles) {
          await withGroups(fixture, title, async (get, query) => {
            const reads: readonly [string, (count: number) => Promise<Answer>][] = [
              ['groups', count => get(`/notes/aggregate?group_by=title&per_page=${count}`)],
              ['max', count => get(`/notes/aggregate?group_by=state&max=title&per_page=${count}`)],
              [
                'related',
                count => get(`/users/${fixture.ann.id}/notes/aggregate?group_by=title&per_page=${count}`),
              ],
              [
                'GraphQL groups',
                count => query(`{ notesAggregate(groupBy: [TITLE], limit: ${count}) { group { title } } }`),
              ],
              [
                'GraphQL max',
                count =>
                  query(
                    `{ notesAggregate(groupBy: [STATE], limit: ${count}) { group { state } max { title } } }`,
                  ),
              ],
            ]
            for (const [kind, read] of reads) {
              const name = `${kind} of ${title.slice(0, 1)}`
              assertFits(await read(fitting), readBytes, name)
              assertTooLarge(await read(fitting + 1), name)
            }
          })
        }
      }))

    test('the aggregates of one request count together, also in a batch', () =>
      withFixture(fixture =>
        withGroups(fixture, titles[0] ?? '', async (get, query) => {
          const field = 'notesAggregate(groupBy: [TITLE], limit: 2) { group { title } }'
          const aliases = (count: number) =>
            `{ ${Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ')} }`
          assertFits(await query(aliases(3)), readBytes, 'three aliases')
          assertTooLarge(await query(aliases(4)), 'four aliases')
          const path = '/notes/aggregate?group_by=title&per_page=2'
          assertFits(await get(path), readBytes, 'one aggregate')
          const batch = (count: number) =>
            fixture.call('/api/v1/batch', {
              method: 'POST',
              key: fixture.ann.key,
              body: { operations: Array.from({ length: count }, () => ({ method: 'GET', path })) },
            })
          assertFits(await batch(3), readBytes, 'a batch of three')
          assertTooLarge(await batch(4), 'a batch of four')
        }),
      ))
  })
}
