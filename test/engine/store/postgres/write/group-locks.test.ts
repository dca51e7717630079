/** Writes of two nodes whose groups of limited items differ: no order of locks ends in a deadlock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../../src/base/principal.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import type { Plan, WriteShape } from '../../../../../src/engine/plan/plan.ts'
import { createPlan, updateShape } from '../../../../../src/engine/plan/system-plans.ts'
import {
  anyone,
  atMost,
  collection,
  field,
  integer,
  model,
  noOverlap,
  relation,
  string,
} from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../../src/model/fields/type.ts'
import { seed, seeded } from '../../../../cases.ts'
import { postgres } from '../../databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const limited = checkModel(
  model({
    bookings: collection({
      fields: {
        title: string({ default: '' }),
        room: integer(),
        teacher: integer({ optional: true }),
        starts: integer(),
        ends: integer(),
      },
      limits: [noOverlap('starts', 'ends', { per: 'room' })],
      access,
    }),
    lessons: collection({
      fields: { room: integer(), teacher: integer(), starts: integer(), ends: integer() },
      limits: [noOverlap('starts', 'ends', { per: 'room' }), noOverlap('starts', 'ends', { per: 'teacher' })],
      access,
    }),
    sessions: collection({
      fields: { title: string({ default: '' }), capacity: integer({ default: 1_000_000 }) },
      access,
    }),
    seats: collection({
      fields: { session_id: relation('sessions', { inverse: 'seats' }) },
      limits: [atMost(field('session.capacity'), { per: 'session_id' })],
      access,
    }),
  }),
)
const guard = createGuard(limited)
const caller = user(1, 'user', 'all')
const groups = 6
const rounds = 25
const writers = 32

function update(name: string, id: number, values: Readonly<Record<string, JsonValue>>): Plan<WriteShape> {
  return { shape: updateShape(name, Object.keys(values)), args: [id, ...Object.values(values)] }
}

const stored: readonly Plan<WriteShape>[] = Array.from({ length: 4 * groups }, (_, n) => n).flatMap(n => [
  createPlan('bookings', { room: n % groups, starts: n * 1000, ends: n * 1000 + 1 }, {}),
  ...(n < groups ? [createPlan('sessions', {}, {})] : []),
])

type Below = (bound: number) => number

/** Both nodes write concurrently; returns how many deadlocks the database has resolved. */
async function deadlocksOf(planOf: (below: Below, n: number) => Plan<WriteShape>): Promise<number> {
  const random = seeded(seed)
  const below: Below = bound => Math.floor(random() * bound)
  return postgres.within(async database => {
    const nodes = [await database.open(limited), await database.open(limited)] as const
    try {
      for (const plan of stored) await nodes[0].write(guard(plan, caller))
      for (let round = 0; round < rounds; round++) {
        const writes = Array.from({ length: writers }, (_, index) => {
          const plan = planOf(below, round * writers + index)
          return nodes[index % 2 === 0 ? 0 : 1].write(guard(plan, caller))
        })
        await Promise.all(writes)
      }
    } finally {
      // A session flushes its statistics when it ends.
      await Promise.all(nodes.map(node => node.close()))
    }
    const [row] = await database.rows(
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    )
    return Number(row?.deadlocks)
  })
}

const later = (n: number) => ({ starts: 1_000_000 + n, ends: 1_000_001 + n })

test('changes of intervals, new ones and changes of other fields', async () => {
  const deadlocks = await deadlocksOf((below, n) => {
    const id = 1 + below(4 * groups)
    const kind = below(4)
    if (kind === 0) return createPlan('bookings', { room: below(groups), ...later(n) }, {})
    if (kind === 1) return update('bookings', id, { title: String(n) })
    return update('bookings', id, { ends: (id - 1) * 1000 + 1 + below(900) })
  })
  assert.equal(deadlocks, 0)
})

test('new items under limits for each value of two fields', async () => {
  const deadlocks = await deadlocksOf((below, n) =>
    createPlan('lessons', { room: below(groups), teacher: below(groups), ...later(n) }, {}),
  )
  assert.equal(deadlocks, 0)
})

test('new items under a limit of their parent, and changes of it and of its other fields', async () => {
  const deadlocks = await deadlocksOf((below, n) => {
    const id = 1 + below(groups)
    const kind = below(8)
    if (kind < 4) return createPlan('seats', { session_id: id }, {})
    return update('sessions', id, kind === 4 ? { capacity: 1_000_000 + n } : { title: String(n) })
  })
  assert.equal(deadlocks, 0)
})
