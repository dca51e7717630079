/** Group commit without a database: closing, limits, and writes whose transaction fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import pg from 'pg'
import { ApiError } from '../../../../../src/base/errors.ts'
import type { Connection } from '../../../../../src/engine/store/postgres/connections/connection.ts'
import { ConnectionLost } from '../../../../../src/engine/store/postgres/connections/failure.ts'
import { statementOf } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { CacheLease } from '../../../../../src/engine/store/postgres/versions/lease.ts'
import { type CommitOptions, CommitQueue } from '../../../../../src/engine/store/postgres/write/commit.ts'
import type { OwnTransaction, WriteJob } from '../../../../../src/engine/store/postgres/write/group.ts'
import { sql } from '../../../../../src/engine/store/sql/writer.ts'
import { noInputs } from '../../../../../src/engine/store/values.ts'
import { type Answer, stubConnection } from '../connections/stub-connection.ts'

const change = statementOf(sql`INSERT INTO "things" VALUES (1)`)

/** A queue on stub connections; `answer` returns the behaviour of each by its index. */
function open(
  answer: (index: number) => Answer,
  { maxWaiting = 100, opening, beforeCommit = () => () => {} }: Options = {},
) {
  const connections: ReturnType<typeof stubConnection>[] = []
  const answers: string[] = []
  const queue = new CommitQueue<string>({
    open: async () => {
      await opening
      const connection = stubConnection(answer(connections.length))
      connections.push(connection)
      return connection.connection
    },
    lanes: 1,
    maxWaiting,
    timeoutMs: 10_000,
    lockWaitMs: 5000,
    now: () => 0,
    // Without other nodes, a connection is admitted at once.
    lease: Object.assign(new CacheLease(), { admit: async () => {} }),
    betweenGroups: async () => {},
    beforeCommit,
  })
  const add = (
    name: string,
    run: WriteJob<string>['run'] = async () => name,
    ownTransaction?: OwnTransaction,
  ) => {
    const added = queue.add({
      key: undefined,
      runsAlone: false,
      run,
      ...(ownTransaction && { ownTransaction }),
    })
    return added.then(
      () => answers.push(`${name} stored`),
      error => answers.push(`${name} ${error instanceof ApiError ? error.code : error}`),
    )
  }
  return {
    queue,
    connections,
    answers,
    add,
    statements: () => connections.flatMap(({ statements }) => statements),
  }
}

interface Options {
  readonly maxWaiting?: number
  /** Connections open once it is settled. */
  readonly opening?: Promise<void>
  readonly beforeCommit?: CommitOptions<string>['beforeCommit']
}

const fine: Answer = () => undefined
const changing: WriteJob<string>['run'] = async scope => {
  await scope.rows(change, noInputs)
  return 'changed'
}
const databaseError = (message: string, code: string) =>
  Object.assign(new pg.DatabaseError(message, 0, 'error'), { code, severity: 'ERROR' })
const deadlock = databaseError('deadlock detected', '40P01')
const lockTimeout = databaseError('canceling statement due to lock timeout', '55P03')
const tooLarge = databaseError('index row size 2800 exceeds maximum 2712', '54000')

test('closing the queue stores the waiting writes first', async () => {
  const { queue, add, answers, connections } = open(() => fine)
  void add('one')
  void add('two')
  await queue.close()
  assert.deepEqual(answers, ['one stored', 'two stored'])
  assert.equal(connections[0]?.connection.isClosed, true)
})

test('closing the queue waits for the writes in flight', async () => {
  const opening = Promise.withResolvers<void>()
  const { queue, add, answers } = open(() => fine, { opening: opening.promise })
  void add('one')
  await turn()
  let isClosed = false
  const closing = queue.close().then(() => {
    isClosed = true
  })
  await turn()
  await turn()
  assert.equal(isClosed, false)
  opening.resolve()
  await closing
  assert.deepEqual(answers, ['one stored'])
})

test('a closed queue refuses writes', async () => {
  const { queue, add, answers } = open(() => fine)
  await queue.close()
  await add('late')
  assert.deepEqual(answers, ['late UNAVAILABLE'])
})

test('a write beyond maxWaiting is refused', async () => {
  const { queue, add, answers } = open(() => fine, { maxWaiting: 2 })
  await Promise.all([add('one'), add('two'), add('three')])
  assert.deepEqual(answers.toSorted(), ['one stored', 'three UNAVAILABLE', 'two stored'])
  await queue.close()
})

test('consecutive groups share one connection', async () => {
  const { queue, add, connections } = open(() => fine)
  for (const name of ['one', 'two', 'three']) await add(name)
  assert.equal(connections.length, 1)
  await queue.close()
})

test('a failing write undoes its own changes and none of the other writes of its group', async () => {
  const { queue, add, answers, statements } = open(() => fine)
  const failing: WriteJob<string>['run'] = async scope => {
    await changing(scope)
    throw new ApiError('CONFLICT')
  }
  await Promise.all([add('good', changing), add('bad', failing)])
  assert.deepEqual(answers.toSorted(), ['bad CONFLICT', 'good stored'])
  const insert = change.text
  assert.deepEqual(statements(), [
    'BEGIN',
    insert,
    insert,
    // The group is rolled back and its writes repeated one by one.
    'ROLLBACK',
    'BEGIN',
    'SAVEPOINT "one_write"',
    insert,
    'RELEASE "one_write"',
    'SAVEPOINT "one_write"',
    insert,
    'ROLLBACK TO "one_write"',
    'RELEASE "one_write"',
    'COMMIT',
  ])
  await queue.close()
})

const index = statementOf(sql`INSERT INTO "terms" VALUES (1)`)

/** Behaves like a transaction of PostgreSQL: once the index statement has failed, all others fail until a rollback. */
function refusingIndex(): Answer {
  let refused: Error | undefined
  return text => {
    if (text === index.text) refused = tooLarge
    else if (text.startsWith('ROLLBACK')) refused = undefined
    return refused
  }
}

test('a deferred statement that the database refuses fails its write alone', async () => {
  const { queue, add, answers } = open(refusingIndex)
  const indexing: WriteJob<string>['run'] = async scope => {
    await changing(scope)
    scope.defer(index, noInputs)
    return 'indexed'
  }
  await Promise.all([add('good', changing), add('bad', indexing)])
  assert.deepEqual(answers.toSorted(), ['bad VALIDATION_FAILED', 'good stored'])
  await queue.close()
})

test('a write that fails before its commit is not stored by the next commit', async () => {
  let failures = 1
  const beforeCommit = () => {
    if (failures-- > 0) throw new RangeError('Invalid string length')
    return () => {}
  }
  const { queue, add, answers, connections } = open(() => fine, { beforeCommit })
  await add('large', changing)
  await add('small', changing)
  assert.deepEqual(answers, ['large UNAVAILABLE', 'small stored'])
  assert.deepEqual(
    connections.map(({ statements }) => statements),
    [
      ['BEGIN', change.text],
      ['BEGIN', change.text, 'COMMIT'],
    ],
  )
  await queue.close()
})

test('a transaction whose code caught a lock timeout is retried', async () => {
  let failures = 1
  const busy: Answer = text => (text === change.text && failures-- > 0 ? lockTimeout : undefined)
  const { queue, add, answers, statements } = open(() => busy)
  const catching: WriteJob<string>['run'] = scope => changing(scope).catch(() => 'caught')
  await add('one', catching, { isSnapshot: false, locks: () => [], isLong: true, tries: 3 })
  assert.deepEqual(answers, ['one stored'])
  assert.deepEqual(statements(), ['BEGIN', change.text, 'ROLLBACK', 'BEGIN', change.text, 'COMMIT'])
  await queue.close()
})

test('a write that fails before its first change does not make its group start again', async () => {
  const { queue, add, answers, statements } = open(() => fine)
  const refused: WriteJob<string>['run'] = async () => {
    throw new ApiError('NOT_FOUND')
  }
  await Promise.all([add('good', changing), add('bad', refused)])
  assert.deepEqual(answers.toSorted(), ['bad NOT_FOUND', 'good stored'])
  assert.deepEqual(statements(), ['BEGIN', change.text, 'COMMIT'])
  await queue.close()
})

test('a deadlock is retried, and reported after five attempts', async () => {
  let failures = 1
  const meeting: Answer = text => (text === change.text && failures-- > 0 ? deadlock : undefined)
  const once = open(() => meeting)
  await once.add('one', changing)
  assert.deepEqual(once.answers, ['one stored'])
  await once.queue.close()
  const always = open(() => text => (text === change.text ? deadlock : undefined))
  await always.add('one', changing)
  assert.deepEqual(always.answers, ['one UNAVAILABLE'])
  assert.equal(always.statements().filter(text => text === 'BEGIN').length, 5)
  await always.queue.close()
})

test('a write is retried if the connection breaks before COMMIT, and fails without a retry if it breaks at COMMIT', async () => {
  const breaking =
    (statement: string) =>
    (index: number): Answer =>
    text =>
      index === 0 && text === statement ? new ConnectionLost('broken') : undefined
  const early = open(breaking(change.text))
  await early.add('one', changing)
  assert.deepEqual(early.answers, ['one stored'])
  await early.queue.close()
  const late = open(breaking('COMMIT'))
  await late.add('one', changing)
  assert.deepEqual(late.answers, ['one UNAVAILABLE'])
  assert.equal(late.statements().filter(text => text === change.text).length, 1)
  await late.queue.close()
})

test('a connection that breaks during a rollback fails no other write', async () => {
  const failing: WriteJob<string>['run'] = async scope => {
    await changing(scope)
    throw new ApiError('CONFLICT')
  }
  for (const statement of ['ROLLBACK', 'ROLLBACK TO "one_write"']) {
    const breaking = (index: number): Answer => {
      return text => (index === 0 && text === statement ? new ConnectionLost('broken') : undefined)
    }
    const { queue, add, answers } = open(breaking)
    await Promise.all([add('good', changing), add('bad', failing)])
    assert.deepEqual(answers.toSorted(), ['bad CONFLICT', 'good stored'], statement)
    await queue.close()
    const alone = open(breaking)
    await alone.add('alone', failing, { isSnapshot: false, locks: () => [], isLong: false })
    assert.deepEqual(alone.answers, ['alone CONFLICT'], statement)
    await alone.queue.close()
  }
})

test('an action is retried if the connection breaks while one of its steps is rolled back', async () => {
  const { queue, add, answers, connections } = open(index => text => {
    return index === 0 && text === 'ROLLBACK TO "one_step"' ? new ConnectionLost('broken') : undefined
  })
  const catching: WriteJob<string>['run'] = scope =>
    scope
      .savepoint(async own => {
        await own.rows(change, noInputs)
        throw new ApiError('CONFLICT')
      })
      .catch(() => 'caught')
  await add('action', catching, { isSnapshot: false, locks: () => [], isLong: false })
  assert.deepEqual(answers, ['action stored'])
  assert.equal(connections.length, 2)
  assert.equal(connections[1]?.statements.at(-1), 'COMMIT')
  await queue.close()
})

test('a write fails if the server answers its COMMIT with ROLLBACK', async () => {
  const { queue, connections, add, answers } = open(() => fine)
  await add('one', changing)
  const connection: Connection = connections[0]?.connection ?? assert.fail()
  const run = connection.run.bind(connection)
  connection.run = async queries => {
    const outcome = await run(queries)
    return { ...outcome, tags: outcome.tags.map(tag => (tag === 'COMMIT' ? 'ROLLBACK' : tag)) }
  }
  await add('two', changing)
  assert.deepEqual(answers, ['one stored', 'two UNAVAILABLE'])
  await queue.close()
})
