/** The pool of reading connections. A read survives the loss of its connection. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { Connection } from '../../../../../src/engine/store/postgres/connections/connection.ts'
import { ConnectionSet } from '../../../../../src/engine/store/postgres/connections/connection-set.ts'
import { ConnectionLost, Unreachable } from '../../../../../src/engine/store/postgres/connections/failure.ts'
import { Pool } from '../../../../../src/engine/store/postgres/connections/pool.ts'
import { statementOf } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { ReadQueue } from '../../../../../src/engine/store/postgres/read/read-queue.ts'
import { WaitingCallers } from '../../../../../src/engine/store/read/waiting-callers.ts'
import { sql } from '../../../../../src/engine/store/sql/writer.ts'
import { noInputs } from '../../../../../src/engine/store/values.ts'
import { query, withPostgres } from '../../../../setups/databases/postgres.ts'
import { type Answer, stubConnection } from './stub-connection.ts'

const ask = statementOf(sql`SELECT 1`)

/** A pool of stub connections; `answer` returns the behaviour of each by its index. */
function stubPool(answer: (index: number) => Answer, { size = 1, maxWaiting = 10, waitMs = 10_000 } = {}) {
  const connections: ReturnType<typeof stubConnection>[] = []
  const open = async () => {
    const connection = stubConnection(answer(connections.length))
    connections.push(connection)
    return connection.connection
  }
  return { pool: new Pool({ open, size, maxWaiting, waitMs }), connections }
}

test('a read is sent up to three times if connections break, and then refused', async () => {
  const { pool, connections } = stubPool(() => () => new ConnectionLost('broken'))
  await assert.rejects(pool.rows(ask, noInputs), { code: 'UNAVAILABLE' })
  assert.equal(connections.length, 3)
  const mending = stubPool(index => () => (index < 2 ? new ConnectionLost('broken') : [[7]]))
  assert.deepEqual(await mending.pool.rows(ask, noInputs), [[7]])
})

test('after a failed attempt to connect, reads are refused as in normal operation, so that the log has one error for many', async () => {
  const open = async () => {
    throw new Unreachable(new Error('connect ECONNREFUSED'))
  }
  const pool = new Pool({ open, size: 1, maxWaiting: 10 })
  await assert.rejects(pool.rows(ask, noInputs), { code: 'UNAVAILABLE', isExpected: false })
  await assert.rejects(pool.rows(ask, noInputs), { code: 'UNAVAILABLE', isExpected: true })
})

test('the pool never opens more connections than its size, however many reads wait', async () => {
  const answers: (() => void)[] = []
  const slow: Answer = () => new Promise(resolve => answers.push(() => resolve([[1]])))
  const { pool, connections } = stubPool(() => slow, { size: 2, maxWaiting: 200 })
  let isDone = false
  const all = Promise.all(Array.from({ length: 150 }, () => pool.rows(ask, noInputs))).then(() => {
    isDone = true
  })
  while (!isDone) {
    await turn()
    assert.ok(connections.length <= 2)
    for (const answer of answers.splice(0)) answer()
  }
  await all
  assert.equal(connections.length, 2)
})

test('after the server has refused a connection, the pool does not try again while another connection works', async () => {
  const busy = Promise.withResolvers<readonly (readonly number[])[]>()
  const { connection } = stubConnection(() => busy.promise)
  let tries = 0
  const open = async () => {
    tries++
    if (tries > 1) throw new Unreachable(new Error('sorry, too many clients already'))
    return connection
  }
  const pool = new Pool({ open, size: 3, maxWaiting: 10 })
  const first = pool.rows(ask, noInputs)
  await turn()
  await turn()
  const second = pool.rows(ask, noInputs)
  for (let turns = 0; turns < 20; turns++) await turn()
  const triesBefore = tries
  busy.resolve([[7]])
  assert.equal(triesBefore, 2)
  assert.deepEqual(await Promise.all([first, second]), [[[7]], [[7]]])
})

test('a read beyond maxWaiting is refused', async () => {
  const { pool } = stubPool(() => () => [[1]], { maxWaiting: 2 })
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => pool.rows(ask, noInputs)))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  )
})

test('a read that waits behind a slow one is refused in time, and the slow one is not', async () => {
  const answer = Promise.withResolvers<readonly (readonly number[])[]>()
  const { pool, connections } = stubPool(() => () => answer.promise, { waitMs: 50 })
  const slow = pool.rows(ask, noInputs)
  while (connections[0]?.statements.length !== 1) await turn()
  const started = performance.now()
  await assert.rejects(pool.rows(ask, noInputs), { code: 'UNAVAILABLE', isExpected: true })
  assert.ok(performance.now() - started >= 50)
  answer.resolve([[7]])
  assert.deepEqual(await slow, [[7]])
  assert.deepEqual(await pool.rows(ask, noInputs), [[7]])
})

/** A statement that each connection answers when the test does. */
const slowRead = statementOf(sql`SELECT 'slow'`)

test('the slow reads of one caller leave a connection to the others, and delay none of their reads', async () => {
  const answer = Promise.withResolvers<readonly (readonly number[])[]>()
  const { pool, connections } = stubPool(() => text => (text === slowRead.text ? answer.promise : [[1]]), {
    size: 3,
  })
  const sent = () => connections.flatMap(({ statements }) => statements)
  const asSlow = () => pool.ask([slowRead.with(noInputs)], { waitingCallers: new WaitingCallers('slow') })
  const asOther = () => pool.ask([ask.with(noInputs)], { waitingCallers: new WaitingCallers('other') })
  const slow: Promise<unknown>[] = []
  for (let count = 1; count <= 2; count++) {
    slow.push(asSlow())
    while (sent().length < count) await turn()
  }
  // Long enough that their pipelines count as slow.
  await wait(300)
  slow.push(asSlow())
  for (let count = 0; count < 20; count++) {
    assert.deepEqual(await asOther(), [[[1]]])
    assert.equal(sent().filter(text => text === slowRead.text).length, 2)
  }
  answer.resolve([[7]])
  assert.deepEqual(await Promise.all(slow), [[[[7]]], [[[7]]], [[[7]]]])
})

test('reads of one caller never occupy all connections, however soon they follow each other', async () => {
  const answer = Promise.withResolvers<readonly (readonly number[])[]>()
  const { pool, connections } = stubPool(() => text => (text === slowRead.text ? answer.promise : [[1]]), {
    size: 3,
    maxWaiting: 100,
  })
  const sent = () => connections.flatMap(({ statements }) => statements)
  const slow: Promise<unknown>[] = []
  for (let count = 1; count <= 2; count++) {
    slow.push(pool.ask([slowRead.with(noInputs)], { waitingCallers: new WaitingCallers('slow') }))
    while (sent().length < count) await turn()
  }
  slow.push(pool.ask([slowRead.with(noInputs)], { waitingCallers: new WaitingCallers('slow') }))
  for (let turns = 0; connections.length < 3 || turns < 20; turns++) await turn()
  assert.equal(sent().length, 2)
  for (const caller of ['other', '']) {
    assert.deepEqual(await pool.ask([ask.with(noInputs)], { waitingCallers: new WaitingCallers(caller) }), [
      [[1]],
    ])
  }
  assert.equal(sent().filter(text => text === slowRead.text).length, 2)
  answer.resolve([[7]])
  assert.equal((await Promise.all(slow)).length, 3)
})

test('a read that another caller joins is sent at once, however slow the reads of the first one are', async () => {
  const answer = Promise.withResolvers<readonly (readonly number[])[]>()
  const { pool, connections } = stubPool(() => text => (text === slowRead.text ? answer.promise : [[1]]), {
    size: 3,
    maxWaiting: 100,
  })
  const sent = () => connections.flatMap(({ statements }) => statements)
  const slow: Promise<unknown>[] = []
  for (let count = 1; count <= 2; count++) {
    slow.push(pool.ask([slowRead.with(noInputs)], { waitingCallers: new WaitingCallers('slow') }))
    while (sent().length < count) await turn()
  }
  const waitingCallers = new WaitingCallers('slow')
  const shared = pool.ask([ask.with(noInputs)], { waitingCallers })
  for (let turns = 0; connections.length < 3 || turns < 20; turns++) await turn()
  assert.equal(sent().length, 2)
  waitingCallers.join('other')
  assert.deepEqual(await shared, [[[1]]])
  answer.resolve([[7]])
  assert.equal((await Promise.all(slow)).length, 2)
})

test('a read is refused at its own deadline, if it has one', async () => {
  const answer = Promise.withResolvers<readonly (readonly number[])[]>()
  const { pool, connections } = stubPool(() => () => answer.promise)
  const slow = pool.rows(ask, noInputs)
  while (connections[0]?.statements.length !== 1) await turn()
  const other = pool.rows(ask, noInputs)
  const deadline = performance.now() + 50
  await assert.rejects(pool.ask([ask.with(noInputs)], { deadline }), {
    code: 'UNAVAILABLE',
    isExpected: true,
  })
  answer.resolve([[7]])
  assert.deepEqual(await Promise.all([slow, other]), [[[7]], [[7]]])
})

test('one slow read does not delay the other reads of its caller', async () => {
  const answer = Promise.withResolvers<readonly (readonly number[])[]>()
  const { pool, connections } = stubPool(() => text => (text === slowRead.text ? answer.promise : [[1]]), {
    size: 2,
  })
  const slow = pool.ask([slowRead.with(noInputs)], { waitingCallers: new WaitingCallers('one') })
  while (connections[0]?.statements.length !== 1) await turn()
  await wait(300)
  assert.deepEqual(await pool.ask([ask.with(noInputs)], { waitingCallers: new WaitingCallers('one') }), [
    [[1]],
  ])
  answer.resolve([[7]])
  assert.deepEqual(await slow, [[[7]]])
})

test('the reads of one caller occupy at most a quarter of the queue', async () => {
  const answer = Promise.withResolvers<readonly (readonly number[])[]>()
  const { pool, connections } = stubPool(() => () => answer.promise, { maxWaiting: 8 })
  const asCaller = (caller: string) =>
    pool.ask([ask.with(noInputs)], { waitingCallers: new WaitingCallers(caller) })
  const reads = [asCaller('one')]
  while (connections[0]?.statements.length !== 1) await turn()
  reads.push(asCaller('one'), asCaller('one'))
  await assert.rejects(asCaller('one'), { code: 'UNAVAILABLE' })
  reads.push(asCaller('other'), asCaller('other'))
  await assert.rejects(asCaller('other'), { code: 'UNAVAILABLE' })
  // Portico itself.
  for (let count = 0; count < 4; count++) reads.push(asCaller(''))
  await assert.rejects(asCaller(''), { code: 'UNAVAILABLE' })
  answer.resolve([[7]])
  assert.equal((await Promise.all(reads)).length, 9)
})

test('reads of locked tables count as reads of their caller', () => {
  const queue = new ReadQueue({ size: 3, maxWaiting: 8 })
  const locked = { waiting: 3, waitingOf: (caller: string) => (caller === 'one' ? 2 : 1) }
  assert.deepEqual(
    ['one', 'other', ''].map(caller => queue.isFullFor(new Set([caller]), locked)),
    [true, false, false],
  )
  assert.equal(queue.isFullFor(new Set(['']), { ...locked, waiting: 8 }), true)
})

test('a read in flight when the pool closes is refused and not sent on another connection', async () => {
  const answer = Promise.withResolvers<ConnectionLost>()
  const { pool, connections } = stubPool(() => () => answer.promise)
  const read = pool.rows(ask, noInputs)
  while (connections[0]?.statements.length !== 1) await turn()
  const closed = pool.close()
  answer.resolve(new ConnectionLost('closed'))
  await assert.rejects(read, { code: 'UNAVAILABLE' })
  await closed
  assert.equal(connections.length, 1)
})

test('a read whose connection the server terminates is repeated on another connection', async () => {
  await withPostgres(async url => {
    const open = () =>
      Connection.open({ url, connectTimeoutMs: 20_000, answerTimeoutMs: 60_000, settings: '' })
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

test('a connection that is lost before its first use is not counted as open', async () => {
  await withPostgres(async url => {
    const open = async () => {
      const connection = await Connection.open({
        url,
        connectTimeoutMs: 20_000,
        answerTimeoutMs: 60_000,
        settings: '',
      })
      connection.destroy()
      return connection
    }
    const connections = new ConnectionSet(open)
    await connections.acquire()
    assert.equal(connections.size, 0)
  })
})

test('no read waits for a locked table longer than its limit, however many wait', async () => {
  const refusal = Object.assign(new Error('canceling statement due to lock timeout'), {
    ...{ code: '55P03', severity: 'ERROR' },
  })
  const open = async () => stubConnection(() => wait(20).then(() => refusal)).connection
  const pool = new Pool({ open, size: 2, maxWaiting: 200, waitMs: 200 })
  const start = performance.now()
  const reads = Array.from({ length: 100 }, () =>
    assert.rejects(pool.rows(statementOf(sql`SELECT 1 FROM "locks"`), noInputs), { code: 'UNAVAILABLE' }),
  )
  await Promise.all(reads)
  const waited = performance.now() - start
  assert.ok(waited >= 199 && waited < 1000, `${waited} ms`)
  await pool.close()
})
