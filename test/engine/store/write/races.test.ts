/** Races between stores on one PostgreSQL database, and broken connections. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entityTag } from '../../../../src/base/conditional.ts'
import { ApiError } from '../../../../src/base/errors.ts'
import { user } from '../../../../src/base/principal.ts'
import { anyone, collection, model, relation, string } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { chosen } from '../../../chosen.ts'
import { Client } from '../blog.ts'
import { failure } from '../contract.ts'
import { type OpenOptions, postgres, rowSecurityPostgres, type TestDatabase } from '../databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const shop = checkModel(
  model({
    shelves: collection({ access, fields: { name: string({ max: 10_000, unique: true }) } }),
    goods: collection({ access, fields: { name: string(), shelf_id: relation('shelves') } }),
  }),
)

/** Defines a test with the clients of two stores, for PostgreSQL with and without row security. */
function race(
  title: string,
  use: (clients: readonly Client[], database: TestDatabase) => Promise<void>,
  options?: OpenOptions,
): void {
  for (const { name, within } of chosen([postgres, rowSecurityPostgres])) {
    test(`${title} (${name})`, () =>
      within(async database => {
        const stores = [await database.open(shop, options), await database.open(shop, options)]
        try {
          await use(
            stores.map(store => new Client(store, shop, user(1, 'user', 'all'))),
            database,
          )
        } finally {
          for (const store of stores) await store.close()
        }
      }))
  }
}

const each = <T>(
  count: number,
  clients: readonly Client[],
  act: (client: Client, at: number) => Promise<T>,
) =>
  Promise.allSettled(
    Array.from({ length: count }, (_, index) => act(clients[index % clients.length] ?? assert.fail(), index)),
  )

const done = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.filter(outcome => outcome.status === 'fulfilled').length

function codes(outcomes: readonly PromiseSettledResult<unknown>[]): readonly string[] {
  const failed = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []))
  return [...new Set(failed.map(error => (error instanceof ApiError ? error.code : String(error))))].sort()
}

race('of many concurrent updates with the same If-Match, one succeeds', async clients => {
  const [first] = clients
  assert.ok(first)
  const { id, text } = await first.create('shelves', { name: 'a' })
  const tag = [entityTag(text ?? '')]
  const outcomes = await each(30, clients, (client, index) =>
    client.updateIf('shelves', id, { name: `n${index}` }, tag),
  )
  assert.equal(done(outcomes), 1)
  assert.deepEqual(codes(outcomes), ['PRECONDITION_FAILED'])
})

race(
  'of many concurrent creates with the same unique value, one succeeds, and other writes of the group are unaffected',
  async clients => {
    const outcomes = await each(40, clients, (client, index) =>
      client.create('shelves', { name: index % 2 === 0 ? 'wanted' : `own ${index}` }),
    )
    assert.equal(done(outcomes), 21)
    assert.deepEqual(codes(outcomes), ['CONFLICT'])
  },
)

race(
  'concurrent creates and deletes leave no dangling references and correct totals',
  async (clients, database) => {
    const [first] = clients
    assert.ok(first)
    const created = await each(12, clients, (client, index) =>
      client.create('shelves', { name: `s${index}` }),
    )
    const ids = created.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value.id] : []))
    const outcomes = await each(72, clients, async (client, index) => {
      const shelf = ids[index % ids.length] ?? 0
      if (index % 3 === 0) await client.remove('shelves', shelf)
      else await client.create('goods', { name: `g${index}`, shelf_id: shelf })
    })
    assert.ok(
      codes(outcomes).every(code => ['CONFLICT', 'NOT_FOUND', 'VALIDATION_FAILED'].includes(code)),
      `${codes(outcomes)}`,
    )
    const count = async (table: string) =>
      Number((await database.rows(`SELECT count(*) AS n FROM ${table}`))[0]?.n)
    for (const table of ['shelves', 'goods']) {
      const [total] = await database.rows(`SELECT sum(n) AS n FROM _totals WHERE collection = '${table}'`)
      assert.equal(Number(total?.n ?? 0), await count(table), table)
    }
    const lost = await database.rows('SELECT 1 FROM goods WHERE shelf_id NOT IN (SELECT id FROM shelves)')
    assert.deepEqual(lost, [])
  },
)

race('updates of the same rows in different orders all succeed', async clients => {
  const [first] = clients
  assert.ok(first)
  const created = await each(6, clients, (client, index) => client.create('shelves', { name: `s${index}` }))
  const ids = created.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value.id] : []))
  for (let round = 0; round < 8; round++) {
    const outcomes = await each(36, clients, (client, index) =>
      client.update('shelves', ids[(index * 5 + round) % ids.length] ?? 0, { name: `${round}.${index}` }),
    )
    assert.equal(done(outcomes), 36, `${codes(outcomes)}`)
  }
})

race(
  'no acknowledged write is lost while connections are terminated, and reads and writes continue',
  async (clients, database) => {
    let over = false
    const cutting = (async () => {
      while (!over) {
        await database.rows(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portico' AND datname = current_database() AND random() < 0.3",
        )
        await new Promise(resolve => setTimeout(resolve, 15))
      }
    })()
    const acknowledged: string[] = []
    await each(8, clients, async (client, index) => {
      // A new connection must wait before it writes, and few survive that long.
      for (let round = 0; round < 30 || (acknowledged.length <= 20 && round < 3000); round++) {
        const name = `${index}.${round}`
        await client.create('shelves', { name }).then(
          () => acknowledged.push(name),
          error => assert.equal(error.code, 'UNAVAILABLE'),
        )
        await client.item('shelves', 1).catch(error => assert.equal(error.code, 'UNAVAILABLE'))
      }
    })
    over = true
    await cutting
    const stored = new Set((await database.rows('SELECT name FROM shelves')).map(row => String(row.name)))
    assert.deepEqual(
      acknowledged.filter(name => !stored.has(name)),
      [],
    )
    assert.ok(acknowledged.length > 20, `${acknowledged.length}`)
    await new Promise(resolve => setTimeout(resolve, 300))
    await clients[0]?.create('shelves', { name: 'after all' })
  },
)

race('a text too long for an index is a validation error of its field', async ([client]) => {
  const text = (length: number) =>
    Array.from({ length }, () => String.fromCodePoint(0x4e00 + Math.floor(Math.random() * 20_000))).join('')
  const create = async (name: string) => client?.create('shelves', { name })
  await assert.rejects(create(text(2000)), failure('VALIDATION_FAILED', 'name', 'too_long'))
  await assert.rejects(create(text(9000)), failure('VALIDATION_FAILED'))
  await create(text(500))
})

const clock = { now: Date.parse('2026-01-01T00:00:00Z') }
const hourMs = 3_600_000

race(
  'later writes prune old events and old rows of _touched, and event ids are not reused',
  async ([client, other], database) => {
    assert.ok(client && other)
    for (const name of ['a', 'b', 'c']) await client.create('shelves', { name })
    const nameOf = async (id: number) => ((await other.item('shelves', id)) as { name: string }).name
    assert.equal(await nameOf(1), 'a')
    await client.update('shelves', 1, { name: 'A' })
    clock.now += 2 * hourMs
    // The cleanup runs after the commit of a write.
    for (const name of ['d', 'e']) await client.create('shelves', { name })
    const ids = async () =>
      (await database.rows('SELECT id FROM _events ORDER BY id')).map(({ id }) => Number(id))
    for (let wait = 0; wait < 1200 && (await ids()).length > 2; wait++)
      await new Promise(resolve => setTimeout(resolve, 100))
    assert.deepEqual(await ids(), [5, 6])
    // Rows that a transaction anywhere on the server may still need are kept.
    const touchedCount = async () =>
      (await database.rows("SELECT 1 FROM _touched WHERE xid > '0'::xid8")).length
    for (let round = 0; (await touchedCount()) > 4; round++) {
      assert.ok(round < 1200, 'rows of _touched are pruned')
      clock.now += hourMs
      await client.update('shelves', 2, { name: `b${round}` })
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    assert.equal(await nameOf(1), 'A', 'its row in _touched is pruned')
    await client.create('shelves', { name: 'f' })
    assert.ok(Number((await ids()).at(-1)) >= 7)
    assert.equal(await nameOf(6), 'f')
  },
  { retention: { maxAgeMs: hourMs }, now: () => clock.now },
)
