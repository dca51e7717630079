/** Which tables transactions with code remember, and whose later transactions lock them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AsyncStepLocks } from '../../../../../src/engine/store/postgres/write/async-step-locks.ts'
import { TableLocks } from '../../../../../src/engine/store/postgres/write/table-locks.ts'
import type { GuardedPlanStep } from '../../../../../src/engine/store/write/transaction.ts'
import { anyone, collection, model, relation, string } from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const declared = checkModel(
  model({
    rooms: collection({ fields: { name: string() }, access }),
    slots: collection({
      fields: { room_id: relation('rooms', { inverse: 'slots', onDelete: 'cascade' }) },
      access,
    }),
    prices: collection({ fields: { name: string() }, access }),
    bookings: collection({ fields: { name: string() }, access }),
  }),
)

const deletion = (name: string) =>
  ({
    shape: { kind: 'delete', collection: declared.collections.get(name) },
    args: [],
  }) as unknown as GuardedPlanStep
const read = (name: string) =>
  ({ shape: { kind: 'list', reads: [name] }, args: [] }) as unknown as GuardedPlanStep

/** The tables that a transaction locks before its first statement. */
function lockedBy(locks: AsyncStepLocks, steps: Parameters<AsyncStepLocks['begin']>[0]): readonly string[] {
  const text = JSON.stringify(locks.begin(steps, { writes: ['bookings'] }).initialStatements)
  return ['bookings', 'prices', 'rooms', 'slots'].filter(name => new RegExp(`\\b${name}\\b`).test(text))
}

test('a check remembers what it reads, and not what the transaction around it changes and reads', () => {
  const locks = new AsyncStepLocks(new TableLocks(declared))
  const place = 'checks.bookings'
  const steps = () => ({ places: [place], areChecks: true, tries: 5, limitMs: 1000 })
  assert.deepEqual(lockedBy(locks, steps()), ['bookings'])
  const around = steps()
  const held = locks.begin(around, {})
  held.missingFor(deletion('rooms'))
  held.missingFor(read('slots'))
  held.missingFor(read('prices'), place)
  assert.deepEqual(lockedBy(locks, steps()), ['bookings', 'prices'])
  // Another try of the same transaction knows all of it.
  assert.deepEqual(lockedBy(locks, around), ['bookings', 'prices', 'rooms', 'slots'])
})

test('an action remembers all that it has used', () => {
  const locks = new AsyncStepLocks(new TableLocks(declared))
  const steps = () => ({ places: ['actions.book'], tries: 5, limitMs: 1000 })
  const held = locks.begin(steps(), {})
  held.missingFor(deletion('rooms'))
  held.missingFor(read('prices'), 'checks.bookings')
  assert.deepEqual(lockedBy(locks, steps()), ['bookings', 'prices', 'rooms', 'slots'])
  assert.deepEqual(lockedBy(locks, { ...steps(), places: ['checks.bookings'] }), ['bookings'])
})
