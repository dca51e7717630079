/**
 * A limit that is a field of the parent, declared or as a check that reads, while two nodes create and move items and change the
 * field: the log in commit order shows that no write exceeded it, and that each refusal had a reason.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, type ErrorCode } from '../../../src/base/errors.ts'
import { user } from '../../../src/base/principal.ts'
import { createGuard, type Guard } from '../../../src/engine/plan/guard/guard.ts'
import type { Plan, WriteShape } from '../../../src/engine/plan/plan.ts'
import { createPlan, deleteShape, updateShape } from '../../../src/engine/plan/system-plans.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import {
  anyone,
  atMost,
  boolean,
  check,
  collection,
  field,
  integer,
  model,
  relation,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Model } from '../../../src/model/model.ts'
import { checksOf } from '../../../src/server/serve/store.ts'
import { caseCount, seed, seeded } from '../../cases.ts'
import { databaseKinds, type OpenOptions, type TestDatabase } from '../../engine/store/databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const sessionsOnly = collection({ fields: { capacity: integer({ optional: true }) }, access })
const bookingFields = {
  cancelled: boolean({ default: false }),
  session_id: relation('sessions', { inverse: 'bookings', optional: true, onDelete: 'clear' }),
}

const isKept = field('cancelled').eq(false)
const limited = checkModel(
  model({
    sessions: sessionsOnly,
    bookings: collection({
      fields: bookingFields,
      limits: [atMost(field('session.capacity'), { per: 'session_id', where: isKept })],
      access,
    }),
  }),
)

/** The same limit as code. */
const checked = checkModel(
  model(
    { sessions: sessionsOnly, bookings: collection({ fields: bookingFields, access }) },
    {
      checks: {
        bookings: check(async ({ next: { cancelled, session_id }, previous, data }) => {
          const counted = previous && !previous.cancelled && previous.session_id === session_id
          if (cancelled || session_id === null || counted) return
          const session = await data.sessions.get(session_id)
          const count = await data.bookings.count({ session_id, cancelled: false })
          return count > (session?.capacity ?? count) ? [{ message: 'The session is full.' }] : []
        }),
      },
    },
  ),
)

interface Limit {
  readonly name: string
  readonly model: Model
  readonly code: ErrorCode
  readonly options: OpenOptions
  readonly guard: Guard
}

const guardOfLimited = createGuard(limited)
const checks = checksOf(checked, { 'logic.limits': { action: 60_000 } })
const limits: readonly Limit[] = [
  { name: 'atMost', model: limited, code: 'CONFLICT', options: {}, guard: guardOfLimited },
  {
    name: 'a check',
    model: checked,
    code: 'VALIDATION_FAILED',
    options: { checks },
    guard: createGuard(checked),
  },
]

/** A check that conflicts with others for too long refuses its write, which then says nothing about the limit. */
const isOutOfTries = ({ code }: ApiError) => code === 'CONFLICT' || code === 'UNAVAILABLE'

const caller = user(1, 'user', 'all')
const sessions = 2
const writers = 32
const rounds = 4

interface Booking {
  readonly id: number
  readonly cancelled: boolean
  readonly session_id: number | null
}

interface State {
  readonly event: number
  readonly capacities: ReadonlyMap<number, number | null>
  readonly bookings: ReadonlyMap<number, Booking>
}

function countIn({ bookings }: State, session: number): number {
  return [...bookings.values()].filter(booking => !booking.cancelled && booking.session_id === session).length
}

/** The state after each event. Throws if an event let a booking in that exceeded the capacity of its session. */
async function checkedStates(store: Store): Promise<readonly State[]> {
  const states: State[] = [{ event: 0, capacities: new Map(), bookings: new Map() }]
  for (const { event, collection: name, kind, id, row } of await store.changes.after(0, 10_000)) {
    const last = states.at(-1) as State
    const capacities = new Map(last.capacities)
    const bookings = new Map(last.bookings)
    const item = JSON.parse(row)
    if (name === 'sessions') capacities.set(id, item.capacity)
    else if (kind === 'deleted') bookings.delete(id)
    else bookings.set(id, item)
    const state = { event, capacities, bookings }
    for (const [session, capacity] of capacities) {
      const count = countIn(state, session)
      const isWithin = capacity === null || count <= capacity || count <= countIn(last, session)
      assert.ok(isWithin, `event ${event}: ${count} bookings of session ${session}, of ${capacity}`)
    }
    states.push(state)
  }
  return states
}

interface Refusal {
  readonly from: number
  readonly to: number
}

async function attempt(
  store: Store,
  plan: Plan<WriteShape>,
  { code, guard }: Limit,
): Promise<Refusal | undefined> {
  const from = await store.changes.last()
  try {
    await store.write(guard(plan, caller))
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'NOT_FOUND') return undefined
    if (code !== 'CONFLICT' && isOutOfTries(error)) return undefined
    assert.equal(error.code, code, error.message)
    return { from, to: await store.changes.last() }
  }
}

/** Whether a session was full at some time during the attempt. */
function hasReason({ from, to }: Refusal, states: readonly State[]): boolean {
  const first = states.findLastIndex(({ event }) => event <= from)
  const during = states.filter(({ event }, index) => index >= first && event <= to)
  return [1, 2].some(session => {
    const capacities = during.map(({ capacities: all }) => all.get(session) ?? Number.POSITIVE_INFINITY)
    const ids = during.flatMap(({ bookings }) => [...bookings.values()])
    const counted = ids.filter(booking => !booking.cancelled && booking.session_id === session)
    return new Set(counted.map(({ id }) => id)).size >= Math.min(...capacities)
  })
}

/** Returns how many writes the limit has refused. */
async function run(database: TestDatabase, limit: Limit, random: () => number): Promise<number> {
  const { model: opened, options, guard } = limit
  const below = (bound: number) => Math.floor(random() * bound)
  const nodes = [await database.open(opened, options), await database.open(opened, options)] as const
  const capacityOf = () => (below(5) === 0 ? null : below(8) - 1)
  const write = (plan: Plan<WriteShape>) => attempt(nodes[below(2) === 0 ? 0 : 1], plan, limit)
  const set = (collectionName: string, id: number, values: Readonly<Record<string, JsonValue>>) => ({
    shape: updateShape(collectionName, Object.keys(values)),
    args: [id, ...Object.values(values)],
  })
  try {
    for (let n = 0; n < sessions; n++)
      await nodes[0].write(guard(createPlan('sessions', { capacity: 3 }, {}), caller))
    const refusals: Refusal[] = []
    let ids: readonly number[] = []
    for (let round = 0; round < rounds; round++) {
      await Promise.all(nodes.map(node => node.refresh()))
      const writes = Array.from({ length: writers }, () => {
        const session_id = 1 + below(sessions)
        const id = ids[below(ids.length)]
        const kind = below(8)
        if (kind === 0) return write(set('sessions', session_id, { capacity: capacityOf() }))
        if (id === undefined || kind < 4) return write(createPlan('bookings', { session_id }, {}))
        if (kind < 5) return write({ shape: deleteShape('bookings'), args: [id] })
        if (kind < 6) return write(set('bookings', id, { session_id }))
        return write(set('bookings', id, { cancelled: below(2) === 0 }))
      })
      for (const refusal of await Promise.all(writes)) if (refusal !== undefined) refusals.push(refusal)
      ids = [...((await checkedStates(nodes[0])).at(-1)?.bookings.keys() ?? [])]
    }
    const states = await checkedStates(nodes[0])
    for (const refusal of refusals) assert.ok(hasReason(refusal, states), 'refused without a reason')
    assert.ok(
      states.some(({ bookings }) => bookings.size > 0),
      'nothing was booked',
    )
    return refusals.length
  } finally {
    await Promise.all(nodes.map(node => node.close()))
  }
}

for (const { name, within } of databaseKinds) {
  for (const limit of limits) {
    test(`no booking exceeds a capacity, and none within it is refused: ${limit.name} (${name})`, async () => {
      let refused = 0
      for (let n = 0; n < caseCount(12, 4); n++) {
        const random = seeded(seed + n)
        await within(async database => {
          refused += await run(database, limit, random)
        })
      }
      assert.ok(refused > 0, 'nothing was refused')
    })
  }
}

for (const { name, within } of databaseKinds) {
  test(`capacities that are lowered, raised, negative and missing (${name})`, () =>
    within(async database => {
      const store = await database.open(limited)
      const write = async (plan: Plan<WriteShape>) => {
        try {
          return (await store.write(guardOfLimited(plan, caller))).id
        } catch (error) {
          return error instanceof ApiError ? error.message : error
        }
      }
      const setCapacity = (capacity: number | null) =>
        write({ shape: updateShape('sessions', ['capacity']), args: [1, capacity] })
      const book = () => write(createPlan('bookings', { session_id: 1 }, {}))
      try {
        await write(createPlan('sessions', { capacity: 2 }, {}))
        assert.deepEqual([await book(), await book()], [1, 2])
        const full =
          'There can be at most as many bookings with the same session_id as session.capacity says, and this limit is reached.'
        assert.equal(await book(), full)
        // Lowering it removes nothing: what counts already can still be changed.
        assert.equal(await setCapacity(-5), 1)
        assert.equal(await write({ shape: updateShape('bookings', ['cancelled']), args: [1, false] }), 1)
        assert.equal(await book(), full)
        await setCapacity(0)
        assert.equal(await book(), full)
        await setCapacity(null)
        assert.equal(typeof (await book()), 'number')
        await setCapacity(Number.MAX_SAFE_INTEGER)
        assert.equal(typeof (await book()), 'number')
        assert.equal(typeof (await write(createPlan('bookings', { session_id: null }, {}))), 'number')
      } finally {
        await store.close()
      }
    }))
}
