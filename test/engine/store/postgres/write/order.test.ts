/** The order of the writes in a group: rows are locked in the order of their keys, deletions come last and alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { inLockOrder, runConcurrently } from '../../../../../src/engine/store/postgres/write/lock-order.ts'

const waiting = (name: string, key: string | undefined, runsAlone = false) => ({
  name,
  job: { key, runsAlone },
})
const group = [
  waiting('delete c', 'c', true),
  waiting('update b', 'b'),
  waiting('create', undefined),
  waiting('update a', 'a'),
  waiting('update b again', 'b'),
  waiting('delete a', 'a', true),
]
const names = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name)

test('writes are ordered by key and then by arrival, followed by writes without a key and by deletions', () => {
  assert.deepEqual(names(inLockOrder(group)), [
    'update a',
    'update b',
    'update b again',
    'create',
    'delete a',
    'delete c',
  ])
})

test('writes of one key run one after the other, others concurrently, and a deletion runs alone', async () => {
  const log: string[] = []
  let running = 0
  await runConcurrently(group, async ({ name, job }) => {
    log.push(`begin ${name}`)
    running++
    if (job.runsAlone) assert.equal(running, 1, name)
    await turn()
    running--
    log.push(`end ${name}`)
  })
  assert.deepEqual(log, [
    'begin update a',
    'begin update b',
    'begin create',
    'end update a',
    'end update b',
    'begin update b again',
    'end create',
    'end update b again',
    'begin delete a',
    'end delete a',
    'begin delete c',
    'end delete c',
  ])
})
