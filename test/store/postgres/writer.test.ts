/** Connections that write: one that the server ends before its COMMIT costs no write. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { openPostgres } from '../../../src/store/postgres.ts'
import { query, withPostgres } from '../../databases/postgres.ts'
import { blog, Client } from '../blog.ts'

const waiting = `SELECT pid FROM pg_stat_activity WHERE application_name = 'portico' AND wait_event_type = 'Lock'`

test('a write whose connection the server ends is done again on another, and once', async () => {
  await withPostgres(async url => {
    const client = new Client(await openPostgres(blog, { url }))
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    try {
      const { id: author } = await client.create('users', { name: 'Ada', email: 'ada@example.com' })
      const { id } = await client.create('posts', { title: 'before', author_id: author })
      await other.query('BEGIN')
      await other.query('SELECT 1 FROM posts WHERE id = $1 FOR UPDATE', [id])
      const last = Number(await client.store.changes.last())
      const update = client.update('posts', id, { title: 'after' })
      let [row] = await query(url, waiting)
      while (row === undefined) {
        await wait(20)
        ;[row] = await query(url, waiting)
      }
      await query(url, 'SELECT pg_terminate_backend($1)', [row.pid])
      await other.query('COMMIT')
      await update
      const events = await client.store.changes.after(last, 10)
      assert.deepEqual(
        events.map(({ kind, row: text }) => [kind, JSON.parse(text).title]),
        [['updated', 'after']],
      )
    } finally {
      await other.end()
      await client.store.close()
    }
  })
})
