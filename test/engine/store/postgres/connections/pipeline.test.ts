/** Pipelines to a replica rely on this: all statements after a COMMIT share one later snapshot. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Connection } from '../../../../../src/engine/store/postgres/connections/connection.ts'
import { statementOf } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { sql } from '../../../../../src/engine/store/sql/writer.ts'
import { noInputs } from '../../../../../src/engine/store/values.ts'
import { query, withPostgres } from '../../../../setups/databases/postgres.ts'
import { until } from '../../../../setups/databases/replicated.ts'

const count = sql`SELECT count(*) FROM "things"`
const locks = ['1', '2'] as const
const wait = (lock: string) => sql`SELECT pg_advisory_lock(${[lock]})`

test('statements that follow a COMMIT in one pipeline share a single new snapshot', () =>
  withPostgres(async url => {
    await query(url, 'CREATE TABLE things (id int)')
    const connection = await Connection.open({
      url,
      connectTimeoutMs: 10_000,
      answerTimeoutMs: 60_000,
      settings: "SET default_transaction_isolation = 'repeatable read'",
    })
    const other = await Connection.open({
      url,
      connectTimeoutMs: 10_000,
      answerTimeoutMs: 60_000,
      settings: 'SELECT pg_advisory_lock(1), pg_advisory_lock(2)',
    })
    const queryOf = (text: typeof count) => statementOf(text).with(noInputs)
    try {
      const [first, second] = locks
      const all = [sql`BEGIN`, count, wait(first), sql`COMMIT`, count, wait(second), count]
      const pipeline = connection.run(all.map(queryOf))
      for (const lock of locks) {
        await waiting(url, lock)
        await query(url, 'INSERT INTO things VALUES (1)')
        await other.run([queryOf(sql`SELECT pg_advisory_unlock(${[lock]})`)])
      }
      const { results, error } = await pipeline
      assert.equal(error, undefined)
      assert.deepEqual(
        [1, 4, 6].map(at => results[at]?.[0]?.[0]),
        [0, 1, 1],
      )
    } finally {
      await connection.close()
      await other.close()
    }
  }))

async function waiting(url: string, lock: string): Promise<void> {
  const text = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = ${lock} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  await until('the pipeline waits for the lock', async () => (await query(url, text)).length > 0)
}
