/** One connection to PostgreSQL: what stays prepared on it, and what becomes of a batch that fails or loses it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Connection } from '../../../../src/store/postgres/connections/connection.ts'
import { ConnectionLost } from '../../../../src/store/postgres/connections/failure.ts'
import { type Statement, statementOf } from '../../../../src/store/postgres/connections/statement.ts'
import { slot, sql } from '../../../../src/store/sql/writer.ts'
import { noInputs, slotted } from '../../../../src/store/values.ts'
import { query, withPostgres } from '../../../databases/postgres.ts'

/** As many as a connection keeps prepared. */
const KEPT = 400

async function withWire(use: (wire: Connection, url: string) => Promise<void>): Promise<void> {
  await withPostgres(async url => {
    const wire = await Connection.open({ url, connectTimeout: 20_000, answerTimeout: 60_000, settings: '' })
    try {
      await use(wire, url)
    } finally {
      await wire.close()
    }
  })
}

const numbered = (count: number): readonly Statement[] =>
  Array.from({ length: count }, (_, at) => statementOf(sql`SELECT ${[String(at)]}::int`))

const quotient = statementOf(sql`SELECT 1 / ${slot(0)}::int`)
const prepared = statementOf(sql`SELECT count(*) FROM pg_prepared_statements`)

/** Runs statements together; each answers one number. */
async function numbers(wire: Connection, statements: readonly Statement[]): Promise<readonly unknown[]> {
  const { done, error } = await wire.run(statements.map(statement => statement.with(noInputs)))
  assert.equal(error, undefined)
  return done.map(rows => rows[0]?.[0])
}

test('a statement that gave way to a batch that failed can be prepared again', async () => {
  await withWire(async wire => {
    const statements = numbered(KEPT)
    const all = statements.map((_, at) => at)
    assert.deepEqual(await numbers(wire, statements), all)
    // It takes the place of the first, and fails when it is run.
    const { done, error } = await wire.run([quotient.with(slotted([0]))])
    assert.deepEqual(done, [])
    assert.match(String(error), /division by zero/)
    assert.deepEqual(await numbers(wire, statements), all)
    assert.deepEqual(await numbers(wire, [prepared]), [KEPT])
  })
})

test('a statement that a failed batch never reached is prepared by the next', async () => {
  await withWire(async wire => {
    const [one, other] = numbered(2)
    assert.ok(one !== undefined && other !== undefined)
    const failed = await wire.run([one.with(noInputs), quotient.with(slotted([0])), other.with(noInputs)])
    assert.deepEqual(failed.done, [[[0]]])
    assert.deepEqual(await numbers(wire, [other, one, prepared]), [1, 0, 4])
    const { done } = await wire.run([quotient.with(slotted([1]))])
    assert.deepEqual(done, [[[1]]])
  })
})

test('more statements than a connection keeps, in batches of any size: every one answers, few stay', async () => {
  await withWire(async wire => {
    const statements = numbered(KEPT + 150)
    for (const size of [1, 90, 549, 7]) {
      for (let at = 0; at < statements.length; at += size) {
        const some = statements.slice(at, at + size)
        assert.deepEqual(
          await numbers(wire, some),
          some.map((_, index) => at + index),
        )
      }
    }
    assert.deepEqual(await numbers(wire, [prepared]), [KEPT])
  })
})

test('a connection that ends amid a batch: what was answered is known, the rest failed, and no more is asked', async () => {
  await withWire(async (wire, url) => {
    let closed = 0
    wire.onClose(() => closed++)
    const [one] = numbered(1)
    assert.ok(one !== undefined)
    const [pid] = await numbers(wire, [statementOf(sql`SELECT pg_backend_pid()`)])
    const sleep = statementOf(sql`SELECT 1 FROM pg_sleep(60)`)
    const running = wire.run([sleep.with(noInputs), one.with(noInputs)])
    await query(url, 'SELECT pg_terminate_backend($1)', [pid])
    const { done, error } = await running
    assert.deepEqual(done, [])
    assert.ok(error instanceof ConnectionLost, String(error))
    while (closed === 0) await new Promise(resolve => setTimeout(resolve, 5))
    assert.equal(wire.isClosed, true)
    const after = await wire.run([one.with(noInputs)])
    assert.ok(after.error instanceof ConnectionLost)
    assert.equal(closed, 1)
  })
})
