/** Rings of references that may not be empty: no row of them can be deleted first, and yet all go. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { anyone, collection, model, relation } from '../../src/index.ts'
import { checkModel } from '../../src/model/check.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { Client, withFile } from './blog.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const rings = checkModel(
  model({
    links: collection({
      access,
      fields: { next_id: relation('links', { onDelete: 'cascade', unique: true }) },
    }),
    hens: collection({ access, fields: { egg_id: relation('eggs', { onDelete: 'cascade' }) } }),
    eggs: collection({ access, fields: { hen_id: relation('hens', { onDelete: 'cascade' }) } }),
  }),
)

// Deeper than SQLite lets the tables' own cascades nest.
const DEPTH = 1500

/** Rows with the ids 1 to `depth`, each referring to the id that `reference` computes from its own, `n`. */
const filled = (table: string, field: string, reference: string, depth: number) =>
  `INSERT INTO ${table} (id, ${field}, created_at)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${depth})
    SELECT n, ${reference}, '2026-01-01T00:00:00.000Z' FROM numbers;`

async function withRings(
  rows: string,
  use: (client: Client, count: (table: string, where?: string) => unknown) => Promise<void>,
): Promise<void> {
  await withFile(async file => {
    const store = openSqlite(rings, { file })
    const other = new DatabaseSync(file)
    const count = (table: string, where = 'true') =>
      other.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${where}`).get()?.n
    try {
      other.exec(`PRAGMA foreign_keys = OFF; ${rows}`)
      await use(new Client(store, rings), count)
      assert.deepEqual(other.prepare('PRAGMA foreign_key_check').all(), [])
      for (const table of ['links', 'hens', 'eggs']) {
        const total = other.prepare('SELECT n FROM _totals WHERE collection = ?').get(table)
        assert.equal(total?.n, count(table))
      }
    } finally {
      other.close()
      await store.close()
    }
  })
}

test('a long ring within one collection goes', () =>
  withRings(filled('links', 'next_id', `n % ${DEPTH} + 1`, DEPTH), async (client, count) => {
    await client.remove('links', 7)
    assert.equal(count('links'), 0)
    assert.equal(count('_events', `kind = 'deleted' AND json_extract(data, '$.next_id') > 0`), DEPTH)
  }))

test('a long ring through two collections goes', () =>
  withRings(
    filled('hens', 'egg_id', 'n', DEPTH) + filled('eggs', 'hen_id', `n % ${DEPTH} + 1`, DEPTH),
    async (client, count) => {
      await client.remove('hens', 9)
      assert.deepEqual([count('hens'), count('eggs')], [0, 0])
      assert.equal(count('_events', `kind = 'deleted'`), 2 * DEPTH)
    },
  ))

test('one that refers to itself goes', () =>
  withRings(filled('links', 'next_id', '1', 1), async (client, count) => {
    await client.remove('links', 1)
    assert.equal(count('links'), 0)
  }))
