/** Connections that read: one that the server ends costs no read its answer. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { Connection } from '../../../../src/store/postgres/connections/connection.ts'
import { ConnectionSet } from '../../../../src/store/postgres/connections/connection-set.ts'
import { ConnectionLost, Unreachable } from '../../../../src/store/postgres/connections/failure.ts'
import { Pool } from '../../../../src/store/postgres/connections/pool.ts'
import { statementOf } from '../../../../src/store/postgres/connections/statement.ts'
import { sql } from '../../../../src/store/sql/writer.ts'
import { noInputs } from '../../../../src/store/values.ts'
import { query, withPostgres } from '../../../databases/postgres.ts'
import { type Answer, stubWire } from './stub-wire.ts'

const ask = statementOf(sql`SELECT 1`)

/** A pool on connections that answer as a test says, by their number. */
function stubPool(answer: (wire: number) => Answer, { size = 1, maxWaiting = 10 } = {}) {
  const wires: ReturnType<typeof stubWire>[] = []
  const open = async () => {
    const made = stubWire(answer(wires.length))
    wires.push(made)
    return made.wire
  }
  return { pool: new Pool({ open, size, maxWaiting }), wires }
}

test('a read is asked three times where connections break, and then refused', async () => {
  const { pool, wires } = stubPool(() => () => new ConnectionLost('broken'))
  await assert.rejects(pool.rows(ask, noInputs), { code: 'UNAVAILABLE' })
  assert.equal(wires.length, 3)
  const mending = stubPool(wire => () => (wire < 2 ? new ConnectionLost('broken') : [[7]]))
  assert.deepEqual(await mending.pool.rows(ask, noInputs), [[7]])
})

test('no more connections are opened than may be, however many wait', async () => {
  const answers: (() => void)[] = []
  const slow: Answer = () => new Promise(resolve => answers.push(() => resolve([[1]])))
  const { pool, wires } = stubPool(() => slow, { size: 2, maxWaiting: 200 })
  let isDone = false
  const all = Promise.all(Array.from({ length: 150 }, () => pool.rows(ask, noInputs))).then(() => {
    isDone = true
  })
  while (!isDone) {
    await turn()
    assert.ok(wires.length <= 2)
    for (const answer of answers.splice(0)) answer()
  }
  await all
  assert.equal(wires.length, 2)
})

test('a server that refuses one more connection is left alone while another one answers', async () => {
  const busy = Promise.withResolvers<readonly (readonly number[])[]>()
  const { wire } = stubWire(() => busy.promise)
  let tries = 0
  const open = async () => {
    tries++
    if (tries > 1) throw new Unreachable(new Error('sorry, too many clients already'))
    return wire
  }
  const pool = new Pool({ open, size: 3, maxWaiting: 10 })
  const first = pool.rows(ask, noInputs)
  await turn()
  await turn()
  const second = pool.rows(ask, noInputs)
  for (let turns = 0; turns < 20; turns++) await turn()
  const found = tries
  busy.resolve([[7]])
  assert.equal(found, 2)
  assert.deepEqual(await Promise.all([first, second]), [[[7]], [[7]]])
})

test('exactly so many reads may wait', async () => {
  const { pool } = stubPool(() => () => [[1]], { maxWaiting: 2 })
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => pool.rows(ask, noInputs)))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  )
})

test('a read under way when the pool closes is refused, and not asked again on another connection', async () => {
  const answered = Promise.withResolvers<ConnectionLost>()
  const { pool, wires } = stubPool(() => () => answered.promise)
  const read = pool.rows(ask, noInputs)
  while (wires[0]?.asked.length !== 1) await turn()
  const closed = pool.close()
  answered.resolve(new ConnectionLost('closed'))
  await assert.rejects(read, { code: 'UNAVAILABLE' })
  await closed
  assert.equal(wires.length, 1)
})

test('a read whose connection the server ends is asked again on another', async () => {
  await withPostgres(async url => {
    const open = () => Connection.open({ url, connectTimeout: 20_000, answerTimeout: 60_000, settings: '' })
    const pool = new Pool({ open, size: 1, maxWaiting: 10 })
    try {
      const slow = pool.rows(statementOf(sql`SELECT pg_backend_pid() FROM pg_sleep(1)`), noInputs)
      const running = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico' AND state = 'active'`
      let [first] = await query(url, running)
      while (first === undefined) {
        await wait(20)
        ;[first] = await query(url, running)
      }
      await query(url, 'SELECT pg_terminate_backend($1)', [first.pid])
      const [[second] = []] = await slow
      assert.equal(typeof second, 'number')
      assert.notEqual(second, first.pid)
    } finally {
      await pool.close()
    }
  })
})

test('a connection that is lost before it is handed over is not counted as open', async () => {
  await withPostgres(async url => {
    const open = async () => {
      const connection = await Connection.open({
        url,
        connectTimeout: 20_000,
        answerTimeout: 60_000,
        settings: '',
      })
      connection.destroy()
      return connection
    }
    const connections = new ConnectionSet(open)
    await connections.one()
    assert.equal(connections.size, 0)
  })
})
