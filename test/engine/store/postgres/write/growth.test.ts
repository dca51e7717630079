/** What `/readyz` proves on PostgreSQL: that a table can grow, as it must for ordinary writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiError } from '../../../../../src/base/errors.ts'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import { query, withPostgres } from '../../../../setups/databases/postgres.ts'
import { blog, Client } from '../../blog.ts'

async function check(url: string): Promise<void> {
  const store = await openPostgres(blog, { url })
  try {
    await store.check()
  } finally {
    await store.close()
  }
}

async function probes(url: string): Promise<{ readonly bytes: number; readonly rows: number }> {
  const [row] = await query(
    url,
    `SELECT pg_relation_size('_probes') AS bytes, (SELECT count(*) FROM _probes) AS rows`,
  )
  return { bytes: Number(row?.['bytes']), rows: Number(row?.['rows']) }
}

test('each check makes a table grow by a page, although it is vacuumed, and the table stays small', () =>
  withPostgres(async url => {
    const pageBytes = 8192
    for (let checks = 1; checks <= 3; checks++) {
      await check(url)
      await query(url, 'VACUUM _probes')
      assert.deepEqual(await probes(url), { bytes: checks * pageBytes, rows: checks })
    }
    await query(url, `INSERT INTO _probes SELECT repeat('x', 1000) FROM generate_series(1, 200)`)
    await check(url)
    assert.equal((await probes(url)).rows, 1)
  }))

/** Statements that make each new row of a table fail as on a full disk. */
const fullDiskAt = (table: string) => `
  CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$;
  CREATE TRIGGER full_disk BEFORE INSERT ON "${table}" EXECUTE FUNCTION full_disk()`

test('after a write that the disk had no space for, a commit that found space proves nothing', () =>
  withPostgres(async url => {
    const store = await openPostgres(blog, { url })
    const client = new Client(store)
    try {
      const { id } = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
      await store.check()
      for (const table of ['posts', '_probes']) await query(url, fullDiskAt(table))
      await assert.rejects(client.create('posts', { title: 'x', author_id: id }), { code: 'UNAVAILABLE' })
      await client.update('users', id, { name: 'Ben' })
      await assert.rejects(store.check(), (error: ApiError) => {
        assert.equal(error.message, 'Changes cannot be stored: the disk of the database is full.')
        return error.code === 'UNAVAILABLE'
      })
      for (const table of ['posts', '_probes']) await query(url, `DROP TRIGGER full_disk ON "${table}"`)
      await store.check()
    } finally {
      await store.close()
    }
  }))
