/** What a check's answer makes of the versions, without a database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pool } from '../../../../src/store/postgres/connections/pool.ts'
import type { Query, Row } from '../../../../src/store/postgres/connections/statement.ts'
import { Checks, isTouched } from '../../../../src/store/postgres/versions/checks.ts'
import { Lease } from '../../../../src/store/postgres/versions/lease.ts'
import { Versions } from '../../../../src/store/versions.ts'

/** What a check tells: a snapshot; the transactions that came with it, and what each touched. */
function row(snapshot: string, commits: Readonly<Record<string, readonly string[]>>, isLost = 0): Row {
  const texts = Object.entries(commits).map(([xid, names]) => [xid, ...names].join('\n'))
  return [snapshot, texts.length === 0 ? null : texts.join('\n\n'), isLost]
}

function open() {
  const versions = new Versions()
  const answers: Row[] = []
  const snapshots: unknown[] = []
  let changes = 0
  const pool = {
    ask: async (queries: readonly Query[]) => {
      snapshots.push(queries.at(-1)?.values[0])
      return queries.map((_, at) => (at === queries.length - 1 ? [answers.shift() ?? assert.fail()] : []))
    },
  } as unknown as Pool
  const checks = new Checks({ pool, versions, lease: new Lease(), onChange: () => changes++ })
  /** The versions, after a check that is told so. */
  const seen = async (told: Row) => {
    answers.push(told)
    await checks.look()
    return ['posts', 'users'].map(name => versions.cell(name).value)
  }
  return { checks, versions, snapshots, seen, changes: () => changes }
}

test('what others have touched counts, once, and is told', async () => {
  const { seen, changes, snapshots } = open()
  assert.deepEqual(await seen(row('s1', {})), [1, 1])
  assert.equal(changes(), 0)
  assert.deepEqual(await seen(row('s2', { 7: ['posts'], 8: ['posts', 'users'] })), [3, 2])
  assert.equal(changes(), 1)
  assert.deepEqual(snapshots, ['1:1:', 's1'], 'the next check begins where the last one ended')
})

test('an own commit counts when it is done, and not again when a check finds it', async () => {
  const { checks, versions, seen, changes } = open()
  await seen(row('s1', {}))
  checks.committed('7', ['posts'])
  assert.equal(versions.cell('posts').value, 2)
  assert.deepEqual(await seen(row('s2', { 7: ['posts'] })), [2, 1])
  assert.equal(changes(), 0)
  assert.deepEqual(await seen(row('s3', { 7: ['posts'] })), [3, 1], 'of another server, perhaps')
})

test('where rows of the log may be gone, or are too many, everything counts as changed', async () => {
  const { seen, changes } = open()
  assert.deepEqual(await seen(row('s1', {})), [1, 1])
  assert.deepEqual(await seen(row('s2', { 7: ['posts'] }, 1)), [2, 2])
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, xid) => [`${xid}`, ['tags']]))
  assert.deepEqual(await seen(row('s3', many)), [3, 3])
  assert.equal(changes(), 2)
  const full = Object.fromEntries(Array.from({ length: 1000 }, (_, xid) => [`${xid}`, ['tags']]))
  assert.deepEqual(await seen(row('s4', full)), [3, 3], 'exactly so many can be told')
})

test('after a change of servers everything counts as changed, once', async () => {
  const { checks, seen } = open()
  await seen(row('s1', {}))
  checks.forget()
  assert.deepEqual(await seen(row('s2', {})), [2, 2])
  assert.deepEqual(await seen(row('s3', {})), [2, 2])
})

test('whether a snapshot has anything new of some collections', () => {
  assert.equal(isTouched(row('s', {}), ['posts']), false)
  assert.equal(isTouched(row('s', { 7: ['users'] }), ['posts']), false)
  assert.equal(isTouched(row('s', { 7: ['users'], 8: ['users', 'posts'] }), ['posts']), true)
  assert.equal(isTouched(row('s', {}, 1), ['posts']), true)
  assert.equal(isTouched(undefined, ['posts']), true)
  assert.equal(isTouched(row('s', { 7: ['users'] }), ['7']), false, 'a transaction is no collection')
})
