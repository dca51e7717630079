/** A table locked by another session delays its own reads, but not those of other tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import { anyone, collection, model, string } from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import { withPostgres } from '../../../../setups/databases/postgres.ts'
import { Client, fields, listOfPosts } from '../../blog.ts'
import { failure } from '../../contract.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const two = checkModel(
  model({
    locks: collection({ access, fields: { name: string() } }),
    others: collection({ access, fields: { name: string() } }),
  }),
)

interface Fixture {
  readonly client: Client
  /** Reads of the locked table, by statements of several shapes. */
  locked(count: number): Promise<unknown>[]
  unlock(): Promise<unknown>
}

function withLocked(timeoutMs: number, use: (fixture: Fixture) => Promise<void>): Promise<void> {
  return withPostgres(async url => {
    // Without a cache, every read queries the database.
    const store = await openPostgres(two, { url, connections: 10, timeoutMs, cacheBytes: 0 })
    const client = new Client(store, two)
    await client.create('locks', { name: 'x' })
    await client.create('others', { name: 'y' })
    const otherClient = new pg.Client({ connectionString: url })
    await otherClient.connect()
    try {
      const locked = (count: number) =>
        Array.from({ length: count }, (_, n) =>
          n % 2 === 0
            ? client.item('locks', 1)
            : client.list({ ...listOfPosts, collection: 'locks', select: fields('id', 'name') }, [0, 9]),
        )
      await Promise.all(locked(4))
      await client.item('others', 1)
      await otherClient.query('BEGIN; LOCK TABLE locks IN ACCESS EXCLUSIVE MODE')
      await use({ client, locked, unlock: () => otherClient.query('ROLLBACK') })
    } finally {
      await otherClient.end()
      await store.close()
    }
  })
}

/** The sorted durations, in milliseconds, of reads of the other table while reads of the locked one accumulate. */
async function pace({ client, locked }: Fixture, more: (reads: readonly Promise<unknown>[]) => void) {
  const times: number[] = []
  const end = performance.now() + 3000
  while (performance.now() < end) {
    const start = performance.now()
    const blocked = locked(4)
    more(blocked)
    assert.equal(((await client.item('others', 1)) as { name: string }).name, 'y')
    times.push(performance.now() - start)
    await wait(5)
  }
  return times.sort((a, b) => a - b)
}

test('reads of other tables continue while a table is locked, and its own reads complete once it is unlocked', () =>
  withLocked(20_000, async fixture => {
    const blocked: Promise<unknown>[] = []
    const times = await pace(fixture, reads => blocked.push(...reads))
    const median = times[times.length >> 1] ?? Number.NaN
    // Detecting a lock takes a short wait, once for each statement.
    assert.ok(median < 50, `${median} ms`)
    assert.ok((times.at(-1) ?? Number.NaN) < 2000, `${times.at(-1)} ms`)
    await fixture.unlock()
    const answers = await Promise.all(blocked)
    assert.equal(answers.length, blocked.length)
    for (const answer of answers) assert.match(JSON.stringify(answer), /"name":"x"/)
    assert.match(JSON.stringify(await fixture.client.item('locks', 1)), /"name":"x"/)
  }))

test('a read of a locked table is refused after its timeout, and reads succeed once the table is unlocked', () =>
  withLocked(1500, async ({ client, locked, unlock }) => {
    const start = performance.now()
    await Promise.all(locked(3).map(read => assert.rejects(read, failure('UNAVAILABLE'))))
    const waited = performance.now() - start
    assert.ok(waited > 1000 && waited < 6000, `${waited} ms`)
    const next = client.item('locks', 1)
    await unlock()
    assert.match(JSON.stringify(await next), /"name":"x"/)
  }))

test('writes blocked by a lock are refused together within one timeout, and the other writes of their group are stored', () =>
  withPostgres(async url => {
    const timeoutMs = 4000
    const store = await openPostgres(two, { url, connections: 10, timeoutMs })
    const client = new Client(store, two)
    for (const name of ['a', 'b', 'c', 'd']) await client.create('locks', { name })
    const otherClient = new pg.Client({ connectionString: url })
    await otherClient.connect()
    try {
      await otherClient.query('BEGIN; SELECT 1 FROM locks WHERE id <= 3 FOR UPDATE')
      // The second round uses savepoints from the start.
      for (const round of [1, 2]) {
        const start = performance.now()
        const writes = [1, 2, 3, 4].map(id => client.update('locks', id, { name: `changed ${round}` }))
        const results = await Promise.allSettled(writes)
        const waited = performance.now() - start
        assert.deepEqual(
          results.map(result => (result.status === 'fulfilled' ? 'stored' : result.reason.code)),
          ['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE', 'stored'],
        )
        assert.ok(waited > timeoutMs * 0.45 && waited < timeoutMs * 0.85, `${waited} ms`)
      }
    } finally {
      await otherClient.end()
      await store.close()
    }
  }))
