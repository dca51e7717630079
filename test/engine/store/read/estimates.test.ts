/** The accuracy of estimated totals on skewed data; small totals are exact. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { type Principal, system, user } from '../../../../src/base/principal.ts'
import type { ListAnswer } from '../../../../src/engine/plan/answer.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { orderById } from '../../../../src/engine/plan/order.ts'
import type { Filter, ListShape, TotalMode } from '../../../../src/engine/plan/plan.ts'
import { anyone, collection, field, integer, model, relation, role, string } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { seededStores } from '../../../setups/databases/seeded-store.ts'

const declared = checkModel(
  model({
    makers: collection({ fields: { kind: string() }, access: { read: anyone } }),
    /** Every second row is public. */
    things: collection({
      fields: {
        place: integer(),
        parity: integer(),
        noise: integer(),
        maker_id: relation('makers', { inverse: 'things' }),
      },
      access: { read: field('parity').eq(0).or(role('admin')) },
    }),
  }),
)

const rowCount = 60_000

/** Half of the ids are consecutive; after a gap, the other half uses every seventh id. */
const numbers = `WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < ${rowCount})`
const filling = [
  `${numbers} INSERT INTO makers (id, kind, created_at) SELECT k, CASE WHEN k % 4 = 0 THEN 'fourth' ELSE 'other' END, '2026-01-01T00:00:00.000Z' FROM n WHERE k <= 100`,
  `${numbers} INSERT INTO things (id, place, parity, noise, maker_id, created_at)
   SELECT CASE WHEN k <= 30000 THEN k ELSE 900000 + 7 * k END, k, k % 2, k * 7919 % 100, k % 100 + 1, '2026-01-01T00:00:00.000Z' FROM n`,
]

async function fill(name: string, admin: string): Promise<void> {
  if (name === 'SQLite') {
    const database = new DatabaseSync(admin)
    for (const statement of filling) database.exec(statement)
    return database.close()
  }
  const client = new pg.Client({ connectionString: admin })
  await client.connect()
  for (const statement of filling) await client.query(statement)
  // Portico's own writes maintain this total.
  await client.query(`INSERT INTO "_totals" VALUES ('things', 0, ${rowCount})`)
  await client.end()
}

const compare = (field: string, operator: 'lt' | 'gte' | 'eq' | 'ne', param: number) =>
  ({ kind: 'compare', field, operator, param }) as const

interface Case {
  readonly name: string
  readonly filter: Filter
  readonly value: number | string
  readonly matching: number
}

const cases: readonly Case[] = [
  { name: 'spread evenly', filter: compare('noise', 'lt', 2), value: 40, matching: 24_000 },
  { name: 'all but none', filter: compare('noise', 'gte', 2), value: 1, matching: 59_400 },
  { name: 'with a period', filter: compare('parity', 'eq', 2), value: 1, matching: 30_000 },
  { name: 'the oldest', filter: compare('place', 'lt', 2), value: 12_001, matching: 12_000 },
  { name: 'the newest', filter: compare('place', 'gte', 2), value: 45_001, matching: 15_000 },
  {
    name: 'by related items',
    filter: { kind: 'related', relation: 'maker', filter: compare('kind', 'eq', 2) },
    value: 'fourth',
    matching: 15_000,
  },
  {
    name: 'by no related item',
    filter: { kind: 'not', part: { kind: 'related', relation: 'maker', filter: compare('kind', 'eq', 2) } },
    value: 'fourth',
    matching: 45_000,
  },
  { name: 'as many as are counted', filter: compare('place', 'lt', 2), value: 10_001, matching: 10_000 },
  { name: 'few', filter: compare('noise', 'lt', 2), value: 3, matching: 1800 },
]

function shapeOf(filter: Filter | undefined, total: TotalMode): ListShape {
  return {
    kind: 'list',
    collection: 'things',
    within: undefined,
    filter,
    search: undefined,
    sort: orderById,
    window: { kind: 'page', offset: 0, limit: 1, total },
    select: [{ kind: 'field', key: 'id', field: 'id' }],
  }
}

// The stores with several nodes read in the same way.
for (const { name, within } of seededStores.filter(({ name }) => !name.includes('nodes'))) {
  test(`on ${name} an estimate is within 5 % of the exact total, on skewed data too`, async () => {
    const now = () => Date.parse('2026-06-01')
    await within(
      declared,
      {},
      async ({ store, admin }) => {
        await fill(name, admin)
        await store.refresh()
        const guard = createGuard(declared)
        const ask = async (shape: ListShape, who: Principal, ...args: readonly (string | number)[]) => {
          const answer = (await store.read(guard({ shape, args }, who))) as ListAnswer
          const { total = -1, isEstimate = false, hasMore } = answer
          return { total, isEstimate, hasMore }
        }
        for (const { name, filter, value, matching } of cases) {
          const exact = await ask(shapeOf(filter, 'exact'), system, 0, 3, value)
          assert.deepEqual(exact, { total: matching, isEstimate: false, hasMore: undefined }, name)
          const { total, isEstimate, hasMore } = await ask(shapeOf(filter, 'estimate'), system, 0, 3, value)
          assert.equal(hasMore, true)
          assert.equal(isEstimate, matching > 10_000, name)
          if (!isEstimate) assert.equal(total, matching, name)
          assert.ok(total > matching * 0.95 && total < matching * 1.05, `${name}: ${total}, not ${matching}`)
          assert.ok(total > Math.min(matching - 1, 10_000) && total <= rowCount, `${name}: ${total}`)
        }
        const whole = await ask(shapeOf(undefined, 'estimate'), system, 0, 3)
        assert.deepEqual(whole, { total: rowCount, isEstimate: false, hasMore: true })
        const seen = await ask(shapeOf(undefined, 'estimate'), user(1, 'user', 'all'), 0, 3)
        assert.ok(seen.isEstimate && seen.total > 28_500 && seen.total < 31_500, String(seen.total))
        const last = await ask(shapeOf(cases[0]?.filter, 'estimate'), system, 23_998, 3, 40)
        assert.deepEqual(last, { total: 24_000, isEstimate: false, hasMore: false })
        const without = await ask(shapeOf(cases[0]?.filter, 'none'), system, 23_998, 2, 40)
        assert.deepEqual(without, { total: -1, isEstimate: false, hasMore: false })
      },
      now,
    )
  })
}
