/** One connection to PostgreSQL: its prepared statements, and batches that fail or lose the connection. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { Connection } from '../../../../../src/engine/store/postgres/connections/connection.ts'
import { ConnectionLost, Unreachable } from '../../../../../src/engine/store/postgres/connections/failure.ts'
import {
  type Statement,
  statementOf,
} from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { slot, sql } from '../../../../../src/engine/store/sql/writer.ts'
import { noInputs, slotInputs } from '../../../../../src/engine/store/values.ts'
import { query, withPostgres } from '../../../../setups/databases/postgres.ts'

/** The number of statements that a connection keeps prepared. */
const maxPrepared = 400

async function withConnection(use: (connection: Connection, url: string) => Promise<void>): Promise<void> {
  await withPostgres(async url => {
    const connection = await Connection.open({
      url,
      connectTimeoutMs: 20_000,
      answerTimeoutMs: 60_000,
      settings: '',
    })
    try {
      await use(connection, url)
    } finally {
      await connection.close()
    }
  })
}

const numbered = (count: number): readonly Statement[] =>
  Array.from({ length: count }, (_, at) => statementOf(sql`SELECT ${[String(at)]}::int`))

const quotient = statementOf(sql`SELECT 1 / ${slot(0)}::int`)
const prepared = statementOf(sql`SELECT count(*) FROM pg_prepared_statements`)

/** Runs statements that each return one number as one batch. */
async function numbers(
  connection: Connection,
  statements: readonly Statement[],
): Promise<readonly unknown[]> {
  const { results, error } = await connection.run(statements.map(statement => statement.with(noInputs)))
  assert.equal(error, undefined)
  return results.map(rows => rows[0]?.[0])
}

test('a statement evicted by a failed batch can be prepared again', async () => {
  await withConnection(async connection => {
    const statements = numbered(maxPrepared)
    const all = statements.map((_, at) => at)
    assert.deepEqual(await numbers(connection, statements), all)
    // It evicts the first statement and fails when it is executed.
    const { results, error } = await connection.run([quotient.with(slotInputs([0]))])
    assert.deepEqual(results, [])
    assert.match(String(error), /division by zero/)
    assert.deepEqual(await numbers(connection, statements), all)
    assert.deepEqual(await numbers(connection, [prepared]), [maxPrepared])
  })
})

test('a statement that a failed batch did not reach is prepared by the next batch', async () => {
  await withConnection(async connection => {
    const [one, other] = numbered(2)
    assert.ok(one !== undefined && other !== undefined)
    const failed = await connection.run([
      one.with(noInputs),
      quotient.with(slotInputs([0])),
      other.with(noInputs),
    ])
    assert.deepEqual(failed.results, [[[0]]])
    assert.deepEqual(await numbers(connection, [other, one, prepared]), [1, 0, 4])
    const { results } = await connection.run([quotient.with(slotInputs([1]))])
    assert.deepEqual(results, [[[1]]])
  })
})

test('batches with more statements than a connection keeps all succeed, and at most that many stay prepared', async () => {
  await withConnection(async connection => {
    const statements = numbered(maxPrepared + 150)
    for (const size of [1, 90, 549, 7]) {
      for (let at = 0; at < statements.length; at += size) {
        const some = statements.slice(at, at + size)
        assert.deepEqual(
          await numbers(connection, some),
          some.map((_, index) => at + index),
        )
      }
    }
    assert.deepEqual(await numbers(connection, [prepared]), [maxPrepared])
  })
})

test('a connection lost during a batch fails the unanswered statements and every later batch', async () => {
  await withConnection(async (connection, url) => {
    let closed = 0
    connection.onClose(() => closed++)
    const [one] = numbered(1)
    assert.ok(one !== undefined)
    const [pid] = await numbers(connection, [statementOf(sql`SELECT pg_backend_pid()`)])
    const sleep = statementOf(sql`SELECT 1 FROM pg_sleep(60)`)
    const running = connection.run([sleep.with(noInputs), one.with(noInputs)])
    await query(url, 'SELECT pg_terminate_backend($1)', [pid])
    const { results, error } = await running
    assert.deepEqual(results, [])
    assert.ok(error instanceof ConnectionLost, String(error))
    while (closed === 0) await new Promise(resolve => setTimeout(resolve, 5))
    assert.equal(connection.isClosed, true)
    const after = await connection.run([one.with(noInputs)])
    assert.ok(after.error instanceof ConnectionLost)
    assert.equal(closed, 1)
  })
})

test('opening a connection fails in time if the server falls silent after the login', async () => {
  const sockets: Socket[] = []
  // AuthenticationOk and ReadyForQuery.
  const login = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])
  const server = createServer(socket => {
    sockets.push(socket)
    socket.once('data', () => socket.write(login))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `postgres://ann@127.0.0.1:${(server.address() as AddressInfo).port}/blog?sslmode=disable`
  const timeout = setTimeout(() => sockets.forEach(socket => void socket.destroy()), 5000)
  const began = performance.now()
  try {
    const settings = 'SET jit = off'
    await assert.rejects(
      Connection.open({ url, connectTimeoutMs: 300, answerTimeoutMs: 300, settings }),
      Unreachable,
    )
    const waited = performance.now() - began
    assert.ok(waited < 2000, `${waited} ms`)
    await Promise.all(sockets.map(socket => socket.closed || once(socket, 'close')))
  } finally {
    clearTimeout(timeout)
    server.close()
  }
})
