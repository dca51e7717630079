/** What a trip to a replica relies on: after its COMMIT, all that is sent with it sees one snapshot, a later one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Connection } from '../../../../src/store/postgres/connections/connection.ts'
import { statementOf } from '../../../../src/store/postgres/connections/statement.ts'
import { sql } from '../../../../src/store/sql/writer.ts'
import { noInputs } from '../../../../src/store/values.ts'
import { query, withPostgres } from '../../../databases/postgres.ts'
import { until } from '../../../databases/replicated.ts'

const count = sql`SELECT count(*) FROM "things"`
const locks = ['1', '2'] as const
const wait = (lock: string) => sql`SELECT pg_advisory_lock(${[lock]})`

test('a transaction that is ended in a trip leaves the rest of it one snapshot of its own', () =>
  withPostgres(async url => {
    await query(url, 'CREATE TABLE things (id int)')
    const wire = await Connection.open({
      url,
      connectTimeout: 10_000,
      answerTimeout: 60_000,
      settings: "SET default_transaction_isolation = 'repeatable read'",
    })
    const other = await Connection.open({
      url,
      connectTimeout: 10_000,
      answerTimeout: 60_000,
      settings: 'SELECT pg_advisory_lock(1), pg_advisory_lock(2)',
    })
    const asked = (text: typeof count) => statementOf(text).with(noInputs)
    try {
      const [first, second] = locks
      const all = [sql`BEGIN`, count, wait(first), sql`COMMIT`, count, wait(second), count]
      const trip = wire.run(all.map(asked))
      for (const lock of locks) {
        await waiting(url, lock)
        await query(url, 'INSERT INTO things VALUES (1)')
        await other.run([asked(sql`SELECT pg_advisory_unlock(${[lock]})`)])
      }
      const { done, error } = await trip
      assert.equal(error, undefined)
      assert.deepEqual(
        [1, 4, 6].map(at => done[at]?.[0]?.[0]),
        [0, 1, 1],
      )
    } finally {
      await wire.close()
      await other.close()
    }
  }))

async function waiting(url: string, lock: string): Promise<void> {
  const text = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = ${lock} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  await until('the trip waits', async () => (await query(url, text)).length > 0)
}
