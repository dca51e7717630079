/** A COMMIT that fails although its frames may be in the WAL: the error of its writes, and the writes that follow. */
import assert from 'node:assert/strict'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ApiError } from '../../../../../src/base/errors.ts'
import { slot, sql } from '../../../../../src/engine/store/sql/writer.ts'
import { Connection } from '../../../../../src/engine/store/sqlite/connection.ts'
import { isCertainlyUndone } from '../../../../../src/engine/store/sqlite/failure.ts'
import { Checkpoints } from '../../../../../src/engine/store/sqlite/file/checkpoints.ts'
import { noOtherThreads } from '../../../../../src/engine/store/sqlite/file/other-threads.ts'
import { CommitQueue } from '../../../../../src/engine/store/sqlite/write/commit.ts'
import { WriteHealth } from '../../../../../src/engine/store/write-health.ts'
import { withFile } from '../../blog.ts'

const IOERR_FSYNC = 1034

/** A database that behaves as if its syncs failed while it is `broken`. */
class Failing extends DatabaseSync {
  broken = false
  errcode = IOERR_FSYNC
  marks = 0

  override exec(text: string): void {
    if (text.includes('user_version')) {
      this.marks++
      if (this.broken) throw this.#failure()
    }
    super.exec(text)
  }

  override prepare(text: string): StatementSync {
    const statement = super.prepare(text)
    if (text !== 'COMMIT') return statement
    const get: (...values: SQLInputValue[]) => unknown = statement.get.bind(statement)
    const failing = () => {
      if (!this.broken) return get()
      super.exec('ROLLBACK')
      throw this.#failure()
    }
    Object.defineProperty(statement, 'get', { value: failing })
    return statement
  }

  #failure(): Error {
    return Object.assign(new Error('disk I/O error'), { errcode: this.errcode })
  }
}

interface Fixture {
  readonly database: Failing
  readonly health: WriteHealth
  readonly queue: CommitQueue<number, number>
  /** The number of calls of `afterCommit`, which runs checkpoints. */
  readonly after: { readonly count: number }
  insert(n: number): Promise<number>
  stored(): unknown[]
}

function withQueue(use: (fixture: Fixture) => Promise<void>): Promise<void> {
  return withFile(async file => {
    const database = new Failing(file, { timeout: 0 })
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE numbers (n INTEGER PRIMARY KEY)')
    const connection = new Connection(
      database,
      { file, otherThreads: noOtherThreads, busyTimeoutMs: 0 },
      () => {},
    )
    const statement = connection.prepare(sql`INSERT INTO numbers VALUES (${slot(0)})`)
    const health = new WriteHealth()
    const after = { count: 0 }
    const { lock } = noOtherThreads
    const queue = new CommitQueue<number, number>(connection, {
      maxWaiting: 100,
      lockWaitMs: 0,
      lock,
      onBegin() {},
      onCommit() {},
      afterCommit: () => void after.count++,
      answer: n => n,
      health,
    })
    const insert = (n: number) =>
      queue.add(() => {
        statement.run({ args: [], userId: null, slots: [n] })
        return n
      })
    const storedNumbers = () =>
      database
        .prepare('SELECT n FROM numbers ORDER BY n')
        .all()
        .map(row => row.n)
    try {
      await use({ database, health, queue, after, insert, stored: storedNumbers })
    } finally {
      queue.close()
      connection.close()
    }
  })
}

async function refusalOf(write: Promise<unknown>): Promise<ApiError> {
  const error = await write.then(
    () => assert.fail('acknowledged'),
    (cause: unknown) => cause,
  )
  assert.ok(error instanceof ApiError)
  assert.equal(error.code, 'UNAVAILABLE')
  return error
}

test('isCertainlyUndone recognizes the errors of a COMMIT that store nothing', () => {
  const withCode = (errcode: number) => Object.assign(new Error(), { errcode })
  for (const code of [5, 6, 13, 19, 261, 517, 787])
    assert.equal(isCertainlyUndone(withCode(code)), true, `${code}`)
  for (const code of [7, 10, 778, 1034, 4874, 11])
    assert.equal(isCertainlyUndone(withCode(code)), false, `${code}`)
  assert.equal(isCertainlyUndone(new Error()), false)
})

test('writes of a failed COMMIT are unconfirmed, and later writes are refused until the WAL is settled', () =>
  withQueue(async ({ database, queue, insert, stored }) => {
    database.broken = true
    const shared = await Promise.all([insert(1), insert(2)].map(refusalOf))
    assert.deepEqual(
      shared.map(error => error.isUnconfirmed),
      [true, true],
    )
    const later = await refusalOf(insert(3))
    assert.equal(later.isUnconfirmed, false)
    assert.equal(later.message, 'Changes cannot be stored: the disk fails.')
    assert.equal((await refusalOf(queue.confirm())).message, later.message)
    database.broken = false
    const end = performance.now() + 120_000
    const isSettled = () =>
      queue.confirm().then(
        () => true,
        () => false,
      )
    while (!(await isSettled())) {
      assert.ok(performance.now() < end, 'the queue recovers automatically')
      await wait(10)
    }
    assert.equal(await insert(4), 4)
    assert.deepEqual(stored(), [4])
  }))

test('writes of a COMMIT that fails once are refused as not stored, after an empty commit has ensured that', () =>
  withQueue(async ({ database, insert, stored }) => {
    const { exec } = DatabaseSync.prototype
    database.broken = true
    Object.defineProperty(database, 'exec', {
      configurable: true,
      value(text: string) {
        database.broken = false
        database.marks += Number(text.includes('user_version'))
        exec.call(database, text)
      },
    })
    const error = await refusalOf(insert(1))
    assert.equal(error.isUnconfirmed, false)
    assert.equal(database.marks, 1)
    assert.equal(await insert(2), 2)
    assert.deepEqual(stored(), [2])
  }))

test('writes refused by a full disk need no empty commit', () =>
  withQueue(async ({ database, insert }) => {
    database.broken = true
    database.errcode = 13
    const error = await refusalOf(insert(1))
    assert.equal(error.isUnconfirmed, false)
    assert.equal(database.marks, 0)
    database.broken = false
    assert.equal(await insert(2), 2)
  }))

test('confirm uses the commit of waiting writes, or else an empty commit', () =>
  withQueue(async ({ database, health, queue, after, insert }) => {
    assert.equal(health.isProven, false)
    await Promise.all([queue.confirm(), insert(1), queue.confirm()])
    assert.equal(database.marks, 0)
    await Promise.all([queue.confirm(), queue.confirm()])
    assert.equal(database.marks, 1)
    assert.equal(after.count, 2, 'otherwise empty commits would fill the WAL')
    assert.equal(health.isProven, true)
    database.broken = true
    assert.equal((await refusalOf(queue.confirm())).message, 'Changes cannot be stored: the disk fails.')
    assert.equal(health.isProven, false)
  }))

test('a transaction of refused writes does not prove that changes can be stored', () =>
  withQueue(async ({ database, health, queue }) => {
    const refuseWrite = () =>
      assert.rejects(
        queue.add(() => {
          throw new ApiError('NOT_FOUND')
        }),
        { code: 'NOT_FOUND' },
      )
    await refuseWrite()
    assert.equal(health.isProven, false)
    await Promise.all([queue.confirm(), refuseWrite()])
    assert.equal(database.marks, 1)
    assert.equal(health.isProven, true)
  }))

test('confirm succeeds while another process holds the write lock', () =>
  withQueue(async ({ database, queue, health }) => {
    const other = new DatabaseSync(database.location() ?? '')
    other.exec('BEGIN IMMEDIATE')
    await queue.confirm()
    assert.equal(health.isProven, false)
    other.exec('ROLLBACK')
    other.close()
    await queue.confirm()
    assert.equal(health.isProven, true)
  }))

/** A WAL of a thousand pages, `copied` of which are already in the file. */
function checkpointsOn(copied: number, failure: { errcode: number } | undefined) {
  const state = { failure, checkpoints: 0, unsafe: 0, now: 0, hidesLog: false }
  const connection = {
    logState() {
      if (state.hidesLog) throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
      return { pages: 1000, copied }
    },
    checkpoint() {
      state.checkpoints++
      if (state.failure) throw Object.assign(new Error('disk I/O error'), state.failure)
    },
  } as unknown as Connection
  const told: string[] = []
  const listener = {
    onFailing: (cause: unknown) => void told.push(String(cause)),
    onWorking: (failures: number) => void told.push(`works after ${failures}`),
  }
  const options = { onUnsafe: () => void state.unsafe++, clock: () => state.now, listener }
  return { state, told, checkpoints: new Checkpoints(connection, options) }
}

test('a checkpoint whose sync fails is repeated if no page was copied before', () => {
  const { state, checkpoints } = checkpointsOn(0, { errcode: IOERR_FSYNC })
  checkpoints.run()
  assert.match(checkpoints.trouble ?? '', /log of the database grows/)
  checkpoints.run()
  assert.equal(state.checkpoints, 1, 'not repeated at once')
  state.now = 1000
  state.failure = undefined
  checkpoints.run()
  assert.equal(state.checkpoints, 2)
  assert.equal(checkpoints.trouble, undefined)
  assert.equal(state.unsafe, 0)
})

test('if pages were copied before, no checkpoint follows and onUnsafe is called', () => {
  const { state, checkpoints } = checkpointsOn(7, { errcode: IOERR_FSYNC })
  checkpoints.run()
  assert.equal(state.unsafe, 1)
  state.now = 1e9
  state.failure = undefined
  checkpoints.run()
  assert.equal(state.checkpoints, 1)
})

test('if the length of the WAL cannot be read, the checkpoint fails, but not the commit before it', () => {
  const { state, checkpoints } = checkpointsOn(0, undefined)
  state.hidesLog = true
  checkpoints.run()
  assert.match(checkpoints.trouble ?? '', /log of the database grows/)
  assert.equal(state.unsafe, 0, 'no copied page could be lost')
  state.hidesLog = false
  state.now = 1000
  checkpoints.run()
  assert.equal(checkpoints.trouble, undefined)
})

test('a checkpoint that fails because the disk is full does not call onUnsafe', () => {
  const { state, checkpoints } = checkpointsOn(7, { errcode: 13 })
  checkpoints.run()
  assert.equal(state.unsafe, 0)
})

test('checkpoints that fail are told once, counted, and their end is told', () => {
  const { state, told, checkpoints } = checkpointsOn(7, { errcode: 13 })
  for (let times = 0; times < 5; times++) {
    checkpoints.run()
    state.now += 100_000
  }
  assert.deepEqual(told, ['Error: disk I/O error'])
  assert.equal(checkpoints.counts.failedCheckpoints, 5)
  state.failure = undefined
  for (let times = 0; times < 2; times++) checkpoints.run()
  assert.deepEqual(told.slice(1), ['works after 5'])
  assert.equal(checkpoints.counts.failedCheckpoints, 5)
})
