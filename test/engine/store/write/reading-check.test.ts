/** Which checks that read a write may run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GuardedWrite } from '../../../../src/engine/plan/guarded.ts'
import { checkedBy } from '../../../../src/engine/store/write/reading-check.ts'
import { anyone, check, collection, model, relation, string } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const fields = { name: string() }
const to = (target: string, onDelete: 'cascade' | 'clear' | 'restrict') =>
  relation(target, { onDelete, optional: true })

const checked = checkModel(
  model(
    {
      houses: collection({ fields, access }),
      rooms: collection({ fields: { house_id: to('houses', 'cascade') }, access }),
      bookings: collection({ fields: { room_id: to('rooms', 'clear') }, access }),
      notes: collection({ fields: { booking_id: to('bookings', 'cascade') }, access }),
      keys: collection({ fields: { room_id: to('rooms', 'restrict') }, access }),
    } as never,
    {
      checks: {
        bookings: check(() => undefined),
        rooms: check(() => undefined),
        keys: check(() => undefined),
      },
    } as never,
  ),
)

const shape = (kind: 'create' | 'update' | 'delete', name: string) =>
  ({ kind, collection: checked.collections.get(name) }) as GuardedWrite['shape']

test('a write runs the check of its collection; a deletion those of the items that lose a reference, also by a cascade', () => {
  const rows: readonly (readonly [
    kind: 'create' | 'update' | 'delete',
    name: string,
    checks: readonly string[],
  ])[] = [
    ['create', 'bookings', ['bookings']],
    ['update', 'rooms', ['rooms']],
    ['update', 'houses', []],
    // Its own items are gone: nothing is left to check.
    ['delete', 'bookings', []],
    ['delete', 'rooms', ['bookings']],
    ['delete', 'houses', ['bookings']],
    ['delete', 'notes', []],
  ]
  for (const [kind, name, checks] of rows)
    assert.deepEqual(checkedBy(shape(kind, name), checked), checks, `${kind} ${name}`)
})
