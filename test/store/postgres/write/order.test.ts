/** The order in which the writes of a group are done: rows are locked in one order, deletions come last and alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ordered, sideBySide } from '../../../../src/store/postgres/write/lock-order.ts'

const waiting = (name: string, key: string | undefined, alone = false) => ({ name, job: { key, alone } })
const group = [
  waiting('delete c', 'c', true),
  waiting('update b', 'b'),
  waiting('create', undefined),
  waiting('update a', 'a'),
  waiting('update b again', 'b'),
  waiting('delete a', 'a', true),
]
const names = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name)

test('by key first, in the order of arrival for one key; then what locks nothing; deletions last', () => {
  assert.deepEqual(names(ordered(group)), [
    'update a',
    'update b',
    'update b again',
    'create',
    'delete a',
    'delete c',
  ])
})

test('those of one key one after the other, others side by side, a deletion when nothing else is under way', async () => {
  const log: string[] = []
  let running = 0
  await sideBySide(group, async ({ name, job }) => {
    log.push(`begin ${name}`)
    running++
    if (job.alone) assert.equal(running, 1, name)
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
