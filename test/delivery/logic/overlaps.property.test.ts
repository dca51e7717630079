/**
 * `noOverlap` against a model of intervals: one writer is refused exactly what overlaps; after writes of two nodes, the log
 * in commit order shows no overlap, and that each refusal had a reason.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../src/base/errors.ts'
import { user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Plan, WriteShape } from '../../../src/engine/plan/plan.ts'
import { createPlan, deleteShape, updateShape } from '../../../src/engine/plan/system-plans.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { anyone, choice, collection, field, integer, model, noOverlap, relation } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { caseCount, cases, seed, seeded } from '../../cases.ts'
import { databaseKinds, type TestDatabase } from '../../engine/store/databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const optional = { optional: true } as const
const rooms = 2

const booked = checkModel(
  model({
    rooms: collection({ fields: { n: integer() }, access }),
    bookings: collection({
      fields: {
        from: integer(optional),
        to: integer(optional),
        status: choice(['kept', 'cancelled']),
        room_id: relation('rooms', { inverse: 'bookings', optional: true, onDelete: 'clear' }),
      },
      limits: [noOverlap('from', 'to', { per: 'room_id', where: field('status').ne('cancelled') })],
      access,
    }),
  }),
)

const guard = createGuard(booked)
const caller = user(1, 'user', 'all')

interface Values {
  readonly from: number | null
  readonly to: number | null
  readonly status: 'kept' | 'cancelled'
  readonly room_id: number | null
}

type Booking = Values & { readonly id: number }

type Operation =
  | { readonly kind: 'create'; readonly values: Values }
  | { readonly kind: 'update'; readonly at: number; readonly values: Partial<Values> }
  | { readonly kind: 'delete'; readonly at: number }
  | { readonly kind: 'close'; readonly room: number }

function isReversed({ from, to }: Values): boolean {
  return from !== null && to !== null && from >= to
}

function overlap(left: Booking, right: Booking): boolean {
  if (left.id === right.id || left.room_id === null || left.room_id !== right.room_id) return false
  if (left.status === 'cancelled' || right.status === 'cancelled') return false
  const endsBefore = (to: number | null, from: number | null) => to !== null && from !== null && to <= from
  return !endsBefore(left.to, right.from) && !endsBefore(right.to, left.from)
}

function planOf(operation: Operation, ids: readonly number[]): Plan<WriteShape> | undefined {
  if (operation.kind === 'create') return createPlan('bookings', { ...operation.values }, {})
  if (operation.kind === 'close') return { shape: deleteShape('rooms'), args: [operation.room] }
  const id = ids[operation.at % ids.length]
  if (id === undefined) return undefined
  if (operation.kind === 'delete') return { shape: deleteShape('bookings'), args: [id] }
  const { values } = operation
  return { shape: updateShape('bookings', Object.keys(values)), args: [id, ...Object.values(values)] }
}

type Outcome = { readonly id: number } | { readonly code: string; readonly other: number | undefined }

async function outcomeOf(store: Store, plan: Plan<WriteShape>): Promise<Outcome> {
  try {
    return { id: (await store.write(guard(plan, caller))).id }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [detail] = error.details ?? []
    const other = /item (\d+)\.$/.exec(detail?.message ?? '')?.[1]
    return { code: error.code, other: other === undefined ? undefined : Number(other) }
  }
}

const moments = fc.option(fc.integer({ min: 0, max: 8 }), { freq: 6 })
const record = {
  from: moments,
  to: moments,
  status: fc.constantFrom('kept' as const, 'kept' as const, 'cancelled' as const),
  room_id: fc.option(fc.integer({ min: 1, max: rooms }), { freq: 8 }),
}
const operations: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('create' as const), values: fc.record(record) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      at: fc.nat(20),
      values: fc.record(record, { requiredKeys: [] }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('close' as const), room: fc.integer({ min: 1, max: rooms }) }),
  },
)

/** What one write does to the bookings; the code with which it is refused. */
function expected(
  operation: Operation,
  bookings: ReadonlyMap<number, Booking>,
  openRooms: ReadonlySet<number>,
): Booking | 'VALIDATION_FAILED' | 'CONFLICT' | undefined {
  if (operation.kind === 'delete' || operation.kind === 'close') return undefined
  const id = operation.kind === 'update' ? ([...bookings.keys()][operation.at % bookings.size] ?? 0) : 0
  const next = { ...(bookings.get(id) as Booking), ...operation.values, id }
  const { room_id } = operation.values
  if (typeof room_id === 'number' && !openRooms.has(room_id)) return 'VALIDATION_FAILED'
  const before = bookings.get(id)
  const isChanged = Object.entries(operation.values).some(([key, value]) => before?.[key as 'id'] !== value)
  if (isReversed(next) && isChanged) return 'VALIDATION_FAILED'
  return [...bookings.values()].some(other => overlap(next, other)) ? 'CONFLICT' : next
}

async function checkSerial(database: TestDatabase, all: readonly Operation[]): Promise<void> {
  const store = await database.open(booked)
  try {
    const bookings = new Map<number, Booking>()
    const openRooms = new Set([1, 2])
    for (let n = 0; n < rooms; n++) await store.write(guard(createPlan('rooms', { n }, {}), caller))
    for (const operation of all) {
      const ids = [...bookings.keys()]
      const plan = planOf(operation, ids)
      if (plan === undefined) continue
      const result = expected(operation, bookings, openRooms)
      const outcome = await outcomeOf(store, plan)
      const context = JSON.stringify({ operation, bookings: [...bookings.values()], outcome })
      if (typeof result === 'string') {
        assert.equal('code' in outcome && outcome.code, result, context)
        if (result === 'CONFLICT') assert.ok('other' in outcome && bookings.has(outcome.other ?? 0), context)
      } else if (operation.kind === 'close') {
        assert.equal('id' in outcome, openRooms.delete(operation.room), context)
        for (const [id, booking] of bookings)
          if (booking.room_id === operation.room) bookings.set(id, { ...booking, room_id: null })
      } else {
        assert.ok('id' in outcome, context)
        if (result === undefined) bookings.delete(outcome.id)
        else bookings.set(outcome.id, { ...result, id: outcome.id })
      }
    }
  } finally {
    await store.close()
  }
}

for (const { name, within } of databaseKinds) {
  test(`one writer is refused exactly what overlaps (${name})`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(operations, { minLength: 10, maxLength: 40 }), all =>
        within(database => checkSerial(database, all)),
      ),
      { ...(name === 'SQLite' ? cases(80, 30) : cases(16, 6)), endOnFailure: true },
    ))
}

interface State {
  readonly event: number
  readonly bookings: ReadonlyMap<number, Booking>
}

async function disjointStates(store: Store): Promise<readonly State[]> {
  const states: State[] = [{ event: 0, bookings: new Map() }]
  for (const { event, collection: name, kind, id, row } of await store.changes.after(0, 10_000)) {
    if (name !== 'bookings') continue
    const bookings = new Map(states.at(-1)?.bookings)
    if (kind === 'deleted') bookings.delete(id)
    else bookings.set(id, JSON.parse(row))
    const changed = bookings.get(id)
    for (const other of bookings.values()) {
      const pair = JSON.stringify([changed, other])
      assert.ok(changed === undefined || !overlap(changed, other), `event ${event}: ${pair}`)
    }
    states.push({ event, bookings })
  }
  return states
}

interface Attempt {
  readonly operation: Operation
  readonly id: number | undefined
  readonly from: number
  readonly to: number
}

/** Whether an item that existed during the attempt overlapped with one that the write would have stored. */
function hasReason({ operation, id, from, to }: Attempt, states: readonly State[]): boolean {
  const first = states.findLastIndex(({ event }) => event <= from)
  const during = states.filter(({ event }, index) => index >= first && event <= to)
  const versions = during.flatMap(({ bookings }) => [...bookings.values()])
  if (operation.kind !== 'create' && operation.kind !== 'update') return false
  const own = operation.kind === 'create' ? [{ id: 0 } as Booking] : versions.filter(each => each.id === id)
  return own
    .map(version => ({ ...version, ...operation.values }))
    .some(next => versions.some(other => overlap(next, other)))
}

const writers = 32
const rounds = 4

async function checkConcurrent(database: TestDatabase, random: () => number): Promise<void> {
  const below = (bound: number) => Math.floor(random() * bound)
  const nodes = [await database.open(booked), await database.open(booked)] as const
  const valuesOf = (): Values => {
    const from = below(12)
    return {
      from: below(12) === 0 ? null : from,
      to: below(12) === 0 ? null : from + 1 + below(3),
      status: below(4) === 0 ? 'cancelled' : 'kept',
      room_id: below(8) === 0 ? null : 1 + below(rooms),
    }
  }
  const operationOf = (): Operation => {
    const kind = below(8)
    if (kind < 4) return { kind: 'create', values: valuesOf() }
    if (kind < 5) return { kind: 'delete', at: below(100) }
    const { status, room_id, ...interval } = valuesOf()
    const values = [interval, { status }, { room_id }][kind - 5] ?? {}
    return { kind: 'update', at: below(100), values }
  }
  try {
    for (let n = 0; n < rooms; n++) await nodes[0].write(guard(createPlan('rooms', { n }, {}), caller))
    const refused: Attempt[] = []
    for (let round = 0; round < rounds; round++) {
      await Promise.all(nodes.map(node => node.refresh()))
      const ids = [...((await disjointStates(nodes[0])).at(-1)?.bookings.keys() ?? [])]
      const attempts = Array.from({ length: writers }, async (_, index) => {
        const node = nodes[index % 2] ?? nodes[0]
        const operation = operationOf()
        const plan = planOf(operation, ids)
        if (plan === undefined) return
        const from = await node.changes.last()
        const outcome = await outcomeOf(node, plan)
        // Another write has deleted the item.
        if (!('code' in outcome) || outcome.code === 'NOT_FOUND') return
        // Both writers change one end of the same interval.
        if (outcome.code === 'VALIDATION_FAILED' && operation.kind === 'update') return
        assert.equal(outcome.code, 'CONFLICT')
        const id = operation.kind === 'update' ? ids[operation.at % ids.length] : undefined
        refused.push({ operation, id, from, to: await node.changes.last() })
      })
      await Promise.all(attempts)
    }
    const states = await disjointStates(nodes[0])
    for (const attempt of refused)
      assert.ok(hasReason(attempt, states), `refused without a reason: ${JSON.stringify(attempt)}`)
    assert.ok(refused.length > 0)
  } finally {
    await Promise.all(nodes.map(node => node.close()))
  }
}

for (const { name, within } of databaseKinds) {
  test(`concurrent writers never store an overlap, and are refused for one (${name})`, async () => {
    for (let n = 0; n < caseCount(12, 4); n++) {
      const random = seeded(seed + n)
      await within(database => checkConcurrent(database, random))
    }
  })
}
