/** The order in which queued writes start: no other write waits for the long ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnTransaction, QueuedWrite } from '../../../../../src/engine/store/postgres/write/group.ts'
import { WriteQueues } from '../../../../../src/engine/store/postgres/write/queues.ts'

const own: OwnTransaction = { isSnapshot: false, locks: () => [], isLong: false }
const long: OwnTransaction = { isSnapshot: true, locks: () => [], isLong: true }

function write(name: string, ownTransaction?: OwnTransaction): QueuedWrite<string> {
  const job = {
    key: undefined,
    runsAlone: false,
    run: async () => name,
    ...(ownTransaction && { ownTransaction }),
  }
  return { job, resolve: () => {}, reject: () => {} }
}

const namesOf = (group: readonly QueuedWrite<string>[]) =>
  Promise.all(group.map(({ job }) => job.run(undefined as never)))

test('the kinds of writes take turns, and single writes share a transaction', async () => {
  const queues = new WriteQueues<string>(2)
  for (const name of ['a', 'b']) queues.add(write(name))
  for (const name of ['c', 'd']) queues.add(write(name, own))
  for (const name of ['e', 'f']) queues.add(write(name, long))
  assert.equal(queues.count, 6)
  const order: string[][] = []
  for (let group = queues.take(); group.length > 0; group = queues.take()) {
    order.push(await namesOf(group))
    queues.finish(group)
  }
  assert.deepEqual(order, [['c'], ['e'], ['a', 'b'], ['d'], ['f']])
  assert.equal(queues.count, 0)
})

test('while the maximum of long writes runs, only other writes start', async () => {
  const queues = new WriteQueues<string>(2)
  for (const name of ['e', 'f']) queues.add(write(name, long))
  const first = queues.take()
  assert.deepEqual(await namesOf(first), ['e'])
  assert.deepEqual(queues.take(), [])
  queues.add(write('a'))
  queues.add(write('c', own))
  assert.deepEqual(await namesOf(queues.take()), ['a'])
  assert.deepEqual(await namesOf(queues.take()), ['c'])
  assert.deepEqual(queues.take(), [])
  queues.finish(first)
  assert.deepEqual(await namesOf(queues.take()), ['f'])
})
