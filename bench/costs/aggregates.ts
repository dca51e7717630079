/** The duration of an aggregate over many rows, grouped by a choice with an index and without one. */

import { user } from '../../src/base/principal.ts'
import { createGuard } from '../../src/engine/plan/guard/guard.ts'
import type { AggregateShape, Measure } from '../../src/engine/plan/plan.ts'
import type { Store } from '../../src/engine/store/store.ts'
import { anyone, choice, collection, index, integer, model } from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import type { Model } from '../../src/model/model.ts'
import { onBothDatabases } from '../data-set/filled-databases.ts'
import { median } from '../workloads/measure.ts'

const states = ['open', 'doing', 'done', 'dropped'] as const

function modelOf(isIndexed: boolean): Model {
  const fields = { status: choice(states), points: integer() }
  const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
  const indexes = isIndexed ? [index('status')] : []
  return checkModel(model({ tasks: collection({ fields, access, indexes }) }))
}

export interface AggregateMeasurement {
  readonly database: string
  readonly aggregate: string
  readonly isIndexed: boolean
  /** By round, in milliseconds. */
  readonly ms: readonly number[]
}

/** The rows for the numbers `n`, which `source` yields. */
function fillSql(source: string): string {
  const status = `CASE n % 4 ${states.map((state, index) => `WHEN ${index} THEN '${state}'`).join(' ')} END`
  return `INSERT INTO "tasks" ("status", "points", "created_at") SELECT ${status}, n % 100, '2026-01-01T00:00:00.000Z' FROM ${source}`
}

const aggregates: readonly (readonly [aggregate: string, measures: readonly Measure[]])[] = [
  ['group_by=status&count', [{ kind: 'count' }]],
  ['group_by=status&count&sum=points', [{ kind: 'count' }, { kind: 'sum', field: 'points' }]],
]

async function measureMs(model: Model, store: Store, measures: readonly Measure[]): Promise<number> {
  const shape: AggregateShape = {
    kind: 'aggregate',
    ...{ collection: 'tasks', within: undefined, filter: undefined, search: undefined, sort: [] },
    ...{ groups: [{ field: 'status' }], measures, offset: 0, limit: 1 },
    select: measures.map(({ kind }, index) => ({ kind: 'measure', key: kind, index }) as const),
  }
  const plan = createGuard(model)({ shape, args: [0, 100] }, user(1, 'user', 'all'))
  const start = performance.now()
  await store.read(plan)
  return performance.now() - start
}

/** Without caches: each round queries the database. */
export function measureAggregates(rows: number, rounds: number): Promise<readonly AggregateMeasurement[]> {
  return onBothDatabases(async database => {
    const measurements: AggregateMeasurement[] = []
    for (const isIndexed of [false, true]) {
      const model = modelOf(isIndexed)
      const store = await database.open(model)
      try {
        if (!isIndexed) await database.fill(fillSql(database.numbers(rows)))
        for (const [name, measures] of aggregates) {
          const ms: number[] = []
          for (let round = 0; round < rounds; round++) ms.push(await measureMs(model, store, measures))
          measurements.push({ database: database.name, aggregate: name, isIndexed, ms })
        }
      } finally {
        await store.close()
      }
    }
    return measurements
  })
}

export function aggregatesTable(rows: number, measurements: readonly AggregateMeasurement[]): string {
  const format = (ms: number | undefined) => (ms === undefined ? '' : `${ms.toFixed(1)} ms`)
  return [
    `| of ${rows.toLocaleString('en')} items, on | aggregate | index on the group | median | fastest |`,
    '|---|---|---|---|---|',
    ...measurements.map(({ database, aggregate, isIndexed, ms }) => {
      const cells = [
        database,
        `\`${aggregate}\``,
        isIndexed ? 'yes' : 'no',
        format(median(ms)),
        format(Math.min(...ms)),
      ]
      return `| ${cells.join(' | ')} |`
    }),
  ].join('\n')
}
