/** The checker of the ledger detects each kind of loss. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareLog, type EntryEvent, type Kind, ReceivedEvents } from './checker.ts'

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

function faultsOf(received: readonly EntryEvent[], kinds = all): readonly string[] {
  const listener = new ReceivedEvents('L', kinds)
  for (const event of received) listener.add(event)
  return listener.compare(log).listed
}

test('events received as logged are no fault, even if the last ones are repeated after a reconnect', () => {
  assert.deepEqual(faultsOf(log), [])
  assert.deepEqual(faultsOf([...log.slice(0, 4), ...log.slice(2)]), [])
  assert.deepEqual(
    faultsOf([log[1], log[0], ...log.slice(2)] as EntryEvent[]),
    [],
    'the order of different items does not matter',
  )
  const listener = new ReceivedEvents('L', all)
  for (const event of [...log, ...log.slice(3)]) listener.add(event)
  assert.deepEqual([listener.repeated, listener.count, listener.last], [2, 5, 8])
})

test('a subscriber to some kinds is compared with those', () => {
  const updates = log.filter(({ kind }) => kind === 'updated')
  assert.deepEqual(faultsOf(updates, ['updated']), [])
  assert.match(faultsOf(log, ['updated'])[0] ?? '', /event 3 .* was not subscribed to/)
})

test('a lost event is detected', () => {
  for (let index = 0; index < log.length; index++) {
    const [fault, ...others] = faultsOf(log.toSpliced(index, 1))
    assert.match(fault ?? '', new RegExp(`event ${log[index]?.id} .* was never received`))
    assert.deepEqual(others, [])
  }
})

test('an event repeated under another id is detected', () => {
  const faults = faultsOf([...log, event(9, 1, 'updated', 2)])
  assert.match(faults[0] ?? '', /event 9 .* came after step 2 of its item/)
  assert.match(faults[1] ?? '', /event 9 is not like that in the log/)
})

test('events of one item in the wrong order are detected', () => {
  const swapped = [log[0], log[1], log[3], log[2], log[4]] as EntryEvent[]
  assert.match(faultsOf(swapped)[0] ?? '', /event 6 .* came after step 2 of its item/)
})

test('an event with different content is detected', () => {
  const faults = faultsOf([...log, event(7, 1, 'updated', 3)])
  assert.match(faults[0] ?? '', /event 7 .* had another content before/)
})

test('a log with a missing, repeated or misplaced write is detected', () => {
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
