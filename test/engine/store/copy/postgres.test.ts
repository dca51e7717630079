/** PostgreSQL as the source of a copy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyDatabase } from '../../../../src/engine/store/copy/copy.ts'
import { PostgresSource } from '../../../../src/engine/store/copy/postgres.ts'
import { pruneTouched } from '../../../../src/engine/store/postgres/log/event-log.ts'
import { openPostgres } from '../../../../src/engine/store/postgres/postgres.ts'
import { connect } from '../../../../src/engine/store/schema/postgres/session.ts'
import { slotInputs } from '../../../../src/engine/store/values.ts'
import { query, withPostgres } from '../../../setups/databases/postgres.ts'
import { openProxy } from '../../../setups/databases/proxy.ts'
import { until } from '../../../setups/databases/replicated.ts'
import { blog, Client } from '../blog.ts'
import { postgresLocation } from './locations.ts'

async function fillDatabase(url: string): Promise<void> {
  const store = await openPostgres(blog, { url })
  await new Client(store).create('users', { name: 'x', email: 'x@example.com' })
  await store.close()
}

test('a transaction open when the copy began counts as a change, even if its row in _touched is pruned', () =>
  withPostgres(async url => {
    await fillDatabase(url)
    const touch = `INSERT INTO _touched (xid, names, at) VALUES (pg_current_xact_id(), 'posts', 1)`
    const slow = await connect(url)
    try {
      await slow.query(`BEGIN; ${touch}`)
      await query(url, touch)
      const source = await PostgresSource.open(url, blog)
      await slow.query('COMMIT')
      const { statement, values } = pruneTouched.with(slotInputs([2]))
      // A row is not pruned while an older transaction is open on the server.
      await until('one of the two rows is pruned', async () => {
        await query(url, statement.text, values)
        return (await query(url, 'SELECT 1 FROM _touched WHERE at = 1')).length === 1
      })
      assert.equal(await source.hasChanged(), true)
      await source.close()
      const next = await PostgresSource.open(url, blog)
      assert.equal(await next.hasChanged(), false)
      await next.close()
    } finally {
      await slow.end()
    }
  }))

test('a copy whose connection breaks says how to resume it', () =>
  withPostgres(async from =>
    withPostgres(async to => {
      await fillDatabase(from)
      const proxy = await openProxy(from)
      const copy = (source: string, onProgress: () => void) =>
        copyDatabase(blog, {
          from: postgresLocation(source),
          to: postgresLocation(to),
          live: false,
          onProgress,
        })
      await assert.rejects(
        copy(proxy.url, () => proxy.close()),
        /CopyError: The copy has stopped: .*the same command again, which resumes/,
      )
      await copy(from, () => {})
      assert.deepEqual(await query(to, 'SELECT name FROM users'), [{ name: 'x' }])
    }),
  ))

test('a source that cannot be read closes its connection, so the command can exit', () =>
  withPostgres(async url => {
    await fillDatabase(url)
    const connections = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico migrate'`
    const others = await connect(url)
    await others.query(`SET application_name = 'others'; BEGIN; LOCK TABLE _touched`)
    const source = assert.rejects(PostgresSource.open(url, blog), /canceling statement/)
    const cancel = `SELECT pg_cancel_backend(pid) ${connections} AND wait_event_type = 'Lock'`
    await until(
      'the statement of the source is cancelled',
      async () => (await query(url, cancel)).length === 1,
    )
    await source
    await others.end()
    await until(
      'the connection of the source is closed',
      async () => (await query(url, `SELECT 1 ${connections}`)).length === 0,
    )
  }))
