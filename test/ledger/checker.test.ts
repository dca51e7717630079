/** The checker of the ledger can fail: each kind of loss is found. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareLog, type EntryEvent, Heard, type Kind } from './checker.ts'

const event = (id: number, item: number, kind: Kind, version: number): EntryEvent => ({
  id,
  item,
  kind,
  version,
})
const log = [
  event(3, 1, 'created', 0),
  event(4, 2, 'created', 0),
  event(6, 1, 'updated', 1),
  event(7, 1, 'updated', 2),
  event(8, 2, 'deleted', 0),
]
const all: readonly Kind[] = ['created', 'updated', 'deleted']

function faultsOf(heard: readonly EntryEvent[], kinds = all): readonly string[] {
  const listener = new Heard('L', kinds)
  for (const each of heard) listener.hear(each)
  return listener.compare(log).listed
}

test('what was heard as it is in the log has no fault, with the last events again after a cut', () => {
  assert.deepEqual(faultsOf(log), [])
  assert.deepEqual(faultsOf([...log.slice(0, 4), ...log.slice(2)]), [])
  assert.deepEqual(
    faultsOf([log[1], log[0], ...log.slice(2)] as EntryEvent[]),
    [],
    'items have no order between them',
  )
  const listener = new Heard('L', all)
  for (const each of [...log, ...log.slice(3)]) listener.hear(each)
  assert.deepEqual([listener.repeated, listener.count, listener.last], [2, 5, 8])
})

test('whoever asks for some kinds is compared with these', () => {
  const updates = log.filter(({ kind }) => kind === 'updated')
  assert.deepEqual(faultsOf(updates, ['updated']), [])
  assert.match(faultsOf(log, ['updated'])[0] ?? '', /event 3 .* was not asked for/)
})

test('a lost event is found', () => {
  for (let at = 0; at < log.length; at++) {
    const [fault, ...others] = faultsOf(log.toSpliced(at, 1))
    assert.match(fault ?? '', new RegExp(`event ${log[at]?.id} .* was never heard`))
    assert.deepEqual(others, [])
  }
})

test('an event that comes again under another id is found', () => {
  const faults = faultsOf([...log, event(9, 1, 'updated', 2)])
  assert.match(faults[0] ?? '', /event 9 .* came after step 2 of its item/)
  assert.match(faults[1] ?? '', /event 9 is not like that in the log/)
})

test('events of one item in the wrong order are found', () => {
  const swapped = [log[0], log[1], log[3], log[2], log[4]] as EntryEvent[]
  assert.match(faultsOf(swapped)[0] ?? '', /event 6 .* came after step 2 of its item/)
})

test('an event whose content changes is found', () => {
  const faults = faultsOf([...log, event(7, 1, 'updated', 3)])
  assert.match(faults[0] ?? '', /event 7 .* had another content before/)
})

test('a log that lacks a write, has one twice, or has them in another order is found', () => {
  const written = log.map(({ id: _, ...write }) => write)
  assert.deepEqual(compareLog(log, written.toReversed()).listed, [])
  assert.match(
    compareLog(log.toSpliced(3, 1), written).listed[0] ?? '',
    /item 1 updated, version 2, has no event/,
  )
  assert.match(
    compareLog([...log, event(9, 2, 'deleted', 0)], written).listed[0] ?? '',
    /event 9 .* of no acknowledged/,
  )
  const swapped = [
    log[0],
    log[1],
    event(6, 1, 'updated', 2),
    event(7, 1, 'updated', 1),
    log[4],
  ] as EntryEvent[]
  assert.match(compareLog(swapped, written).listed[0] ?? '', /event 6 .* where step 1 of its item belongs/)
})
