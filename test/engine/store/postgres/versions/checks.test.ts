/** How the result of a check changes the versions, without a database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pool } from '../../../../../src/engine/store/postgres/connections/pool.ts'
import type {
  BoundStatement,
  DataRow,
} from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { Checks, isTouched } from '../../../../../src/engine/store/postgres/versions/checks.ts'
import { CacheLease } from '../../../../../src/engine/store/postgres/versions/lease.ts'
import { Versions } from '../../../../../src/engine/store/versions.ts'

/** The result of a check: a snapshot, the transactions since the previous one, and the names that each touched. */
function row(snapshot: string, commits: Readonly<Record<string, readonly string[]>>, isLost = 0): DataRow {
  const texts = Object.entries(commits).map(([xid, names]) => [xid, ...names].join('\n'))
  return [snapshot, texts.length === 0 ? null : texts.join('\n\n'), isLost]
}

function open() {
  const versions = new Versions()
  const answers: DataRow[] = []
  const snapshots: unknown[] = []
  let changes = 0
  const pool = {
    ask: async (queries: readonly BoundStatement[]) => {
      snapshots.push(queries.at(-1)?.values[0])
      return queries.map((_, index) =>
        index === queries.length - 1 ? [answers.shift() ?? assert.fail()] : [],
      )
    },
  } as unknown as Pool
  const checks = new Checks({ pool, versions, lease: new CacheLease(), onChange: () => changes++ })
  /** The versions after a check with this result. */
  const seen = async (result: DataRow) => {
    answers.push(result)
    await checks.poll()
    return ['posts', 'users'].map(name => versions.cell(name).value)
  }
  return { checks, versions, snapshots, seen, changes: () => changes }
}

test('each commit of another node increases the versions once and is reported', async () => {
  const { seen, changes, snapshots } = open()
  assert.deepEqual(await seen(row('s1', {})), [1, 1])
  assert.equal(changes(), 0)
  assert.deepEqual(await seen(row('s2', { 7: ['posts'], 8: ['posts', 'users'] })), [3, 2])
  assert.equal(changes(), 1)
  assert.deepEqual(snapshots, ['1:1:', 's1'], 'the next check starts from the last snapshot')
})

test('an own commit increases the version at once, and not again when a check finds it', async () => {
  const { checks, versions, seen, changes } = open()
  await seen(row('s1', {}))
  checks.committed('7', ['posts'])
  assert.equal(versions.cell('posts').value, 2)
  assert.deepEqual(await seen(row('s2', { 7: ['posts'] })), [2, 1])
  assert.equal(changes(), 0)
  assert.deepEqual(await seen(row('s3', { 7: ['posts'] })), [3, 1], 'it may come from another server')
})

test('if rows may be lost or are too many, all collections count as changed', async () => {
  const { seen, changes } = open()
  assert.deepEqual(await seen(row('s1', {})), [1, 1])
  assert.deepEqual(await seen(row('s2', { 7: ['posts'] }, 1)), [2, 2])
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, xid) => [`${xid}`, ['tags']]))
  assert.deepEqual(await seen(row('s3', many)), [3, 3])
  assert.equal(changes(), 2)
  const full = Object.fromEntries(Array.from({ length: 1000 }, (_, xid) => [`${xid}`, ['tags']]))
  assert.deepEqual(await seen(row('s4', full)), [3, 3], '1000 commits are not too many')
})

test('after a change of servers, all collections count as changed once', async () => {
  const { checks, seen } = open()
  await seen(row('s1', {}))
  checks.forget()
  assert.deepEqual(await seen(row('s2', {})), [2, 2])
  assert.deepEqual(await seen(row('s3', {})), [2, 2])
})

test('isTouched tells whether a snapshot has changes of the given collections', () => {
  assert.equal(isTouched(row('s', {}), ['posts']), false)
  assert.equal(isTouched(row('s', { 7: ['users'] }), ['posts']), false)
  assert.equal(isTouched(row('s', { 7: ['users'], 8: ['users', 'posts'] }), ['posts']), true)
  assert.equal(isTouched(row('s', {}, 1), ['posts']), true)
  assert.equal(isTouched(undefined, ['posts']), true)
  assert.equal(
    isTouched(row('s', { 7: ['users'] }), ['7']),
    false,
    '7 is the id of a transaction, not a collection',
  )
})
