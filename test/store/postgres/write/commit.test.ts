/** Group commit without a database: what closing waits for, and what becomes of writes whose transaction fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import pg from 'pg'
import { ApiError } from '../../../../src/errors.ts'
import type { Connection } from '../../../../src/store/postgres/connections/connection.ts'
import { ConnectionLost } from '../../../../src/store/postgres/connections/failure.ts'
import { statementOf } from '../../../../src/store/postgres/connections/statement.ts'
import { Lease } from '../../../../src/store/postgres/versions/lease.ts'
import { CommitQueue } from '../../../../src/store/postgres/write/commit.ts'
import type { Job } from '../../../../src/store/postgres/write/group.ts'
import { sql } from '../../../../src/store/sql/writer.ts'
import { noInputs } from '../../../../src/store/values.ts'
import { type Answer, stubWire } from '../connections/stub-wire.ts'

const change = statementOf(sql`INSERT INTO "things" VALUES (1)`)

/** A queue on stub connections: how they answer, by their number. */
function open(answer: (wire: number) => Answer, { maxWaiting = 100, opening }: Options = {}) {
  const wires: ReturnType<typeof stubWire>[] = []
  const answers: string[] = []
  const queue = new CommitQueue<string>({
    open: async () => {
      await opening
      const made = stubWire(answer(wires.length))
      wires.push(made)
      return made.wire
    },
    lanes: 1,
    maxWaiting,
    patience: 10_000,
    lockWaitMs: 5000,
    now: () => 0,
    // Nobody else writes: whoever is admitted is so at once.
    lease: Object.assign(new Lease(), { admit: async () => {} }),
    atRest: async () => {},
    beforeCommit: () => () => {},
  })
  const add = (name: string, run: Job<string>['run'] = async () => name) => {
    const added = queue.add({ key: undefined, alone: false, run })
    const told = added.then(
      () => answers.push(`${name} stored`),
      error => answers.push(`${name} ${error instanceof ApiError ? error.code : error}`),
    )
    return told
  }
  return { queue, wires, answers, add, asked: () => wires.flatMap(({ asked }) => asked) }
}

interface Options {
  readonly maxWaiting?: number
  /** Connections come when it has settled. */
  readonly opening?: Promise<void>
}

const fine: Answer = () => undefined
const changing: Job<string>['run'] = async scope => {
  await scope.rows(change, noInputs)
  return 'changed'
}
const deadlock = Object.assign(new pg.DatabaseError('deadlock detected', 0, 'error'), {
  code: '40P01',
  severity: 'ERROR',
})

test('what waits when the queue is closed is stored first', async () => {
  const { queue, add, answers, wires } = open(() => fine)
  void add('one')
  void add('two')
  await queue.close()
  assert.deepEqual(answers, ['one stored', 'two stored'])
  assert.equal(wires[0]?.wire.isClosed, true)
})

test('what is under way when the queue is closed is stored first, too', async () => {
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

test('a queue that is closed takes nothing more', async () => {
  const { queue, add, answers } = open(() => fine)
  await queue.close()
  await add('late')
  assert.deepEqual(answers, ['late UNAVAILABLE'])
})

test('exactly so many may wait', async () => {
  const { queue, add, answers } = open(() => fine, { maxWaiting: 2 })
  await Promise.all([add('one'), add('two'), add('three')])
  assert.deepEqual(answers.toSorted(), ['one stored', 'three UNAVAILABLE', 'two stored'])
  await queue.close()
})

test('one connection serves group after group', async () => {
  const { queue, add, wires } = open(() => fine)
  for (const name of ['one', 'two', 'three']) await add(name)
  assert.equal(wires.length, 1)
  await queue.close()
})

test('of two writes one’s fault undoes what it changed, and nothing of the other’s', async () => {
  const { queue, add, answers, asked } = open(() => fine)
  const failing: Job<string>['run'] = async scope => {
    await changing(scope)
    throw new ApiError('CONFLICT')
  }
  await Promise.all([add('good', changing), add('bad', failing)])
  assert.deepEqual(answers.toSorted(), ['bad CONFLICT', 'good stored'])
  const insert = change.text
  assert.deepEqual(asked(), [
    'BEGIN',
    insert,
    insert,
    // Undone, and done again one after the other.
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

test('a write that fails before it has changed anything costs the others nothing', async () => {
  const { queue, add, answers, asked } = open(() => fine)
  const refused: Job<string>['run'] = async () => {
    throw new ApiError('NOT_FOUND')
  }
  await Promise.all([add('good', changing), add('bad', refused)])
  assert.deepEqual(answers.toSorted(), ['bad NOT_FOUND', 'good stored'])
  assert.deepEqual(asked(), ['BEGIN', change.text, 'COMMIT'])
  await queue.close()
})

test('a deadlock is tried again; one that goes on is told after five tries', async () => {
  let failures = 1
  const meeting: Answer = text => (text === change.text && failures-- > 0 ? deadlock : undefined)
  const once = open(() => meeting)
  await once.add('one', changing)
  assert.deepEqual(once.answers, ['one stored'])
  await once.queue.close()
  const always = open(() => text => (text === change.text ? deadlock : undefined))
  await always.add('one', changing)
  assert.deepEqual(always.answers, ['one UNAVAILABLE'])
  assert.equal(always.asked().filter(text => text === 'BEGIN').length, 5)
  await always.queue.close()
})

test('a connection that breaks before its COMMIT costs no write; at the COMMIT nobody knows, and it is not done again', async () => {
  const breaking =
    (at: string) =>
    (wire: number): Answer =>
    text =>
      wire === 0 && text === at ? new ConnectionLost('broken') : undefined
  const early = open(breaking(change.text))
  await early.add('one', changing)
  assert.deepEqual(early.answers, ['one stored'])
  await early.queue.close()
  const late = open(breaking('COMMIT'))
  await late.add('one', changing)
  assert.deepEqual(late.answers, ['one UNAVAILABLE'])
  assert.equal(late.asked().filter(text => text === change.text).length, 1)
  await late.queue.close()
})

test('a COMMIT that the server answers with ROLLBACK has stored nothing', async () => {
  const { queue, wires, add, answers } = open(() => fine)
  await add('one', changing)
  const wire: Connection = wires[0]?.wire ?? assert.fail()
  const run = wire.run.bind(wire)
  wire.run = async queries => {
    const outcome = await run(queries)
    return { ...outcome, tags: outcome.tags.map(tag => (tag === 'COMMIT' ? 'ROLLBACK' : tag)) }
  }
  await add('two', changing)
  assert.deepEqual(answers, ['one stored', 'two UNAVAILABLE'])
  await queue.close()
})
