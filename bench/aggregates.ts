/** What an aggregate over many rows takes, grouped by a choice with an index on it and without one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { anyone, choice, collection, index, integer, model } from '../src/index.ts'
import { checkModel } from '../src/model/check.ts'
import type { Model } from '../src/model/model.ts'
import { createGuard } from '../src/plan/guard.ts'
import type { AggregateShape, Measure } from '../src/plan/plan.ts'
import { user } from '../src/principal.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { PostgresServer } from '../test/databases/postgres.ts'
import { median } from './measure.ts'

const states = ['open', 'doing', 'done', 'dropped'] as const

function modelOf(isIndexed: boolean): Model {
  const fields = { status: choice(states), points: integer() }
  const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
  const indexes = isIndexed ? [index('status')] : []
  return checkModel(model({ tasks: collection({ fields, access, indexes }) }))
}

export interface AggregateFigure {
  readonly database: string
  readonly what: string
  readonly isIndexed: boolean
  /** By round, in milliseconds. */
  readonly ms: readonly number[]
}

/** Of the numbers `n`, which `source` gives. */
function fillSql(source: string): string {
  const status = `CASE n % 4 ${states.map((state, at) => `WHEN ${at} THEN '${state}'`).join(' ')} END`
  return `INSERT INTO "tasks" ("status", "points", "created_at") SELECT ${status}, n % 100, '2026-01-01T00:00:00.000Z' FROM ${source}`
}

const asked: readonly (readonly [what: string, measures: readonly Measure[]])[] = [
  ['group_by=status&count', [{ kind: 'count' }]],
  ['group_by=status&count&sum=points', [{ kind: 'count' }, { kind: 'sum', field: 'points' }]],
]

async function timed(of: Model, store: Store, measures: readonly Measure[]): Promise<number> {
  const shape: AggregateShape = {
    kind: 'aggregate',
    ...{ collection: 'tasks', within: undefined, filter: undefined, search: undefined, sort: [] },
    ...{ groups: [{ field: 'status' }], measures, offset: 0, limit: 1 },
    select: measures.map(({ kind }, at) => ({ kind: 'measure', key: kind, at }) as const),
  }
  const plan = createGuard(of)({ shape, args: [0, 100] }, user(1, 'user', 'all'))
  const began = performance.now()
  await store.read(plan)
  return performance.now() - began
}

interface Place {
  readonly database: string
  open(of: Model): Promise<Store>
  fill(): Promise<void>
}

async function figuresOf(place: Place, rounds: number): Promise<readonly AggregateFigure[]> {
  const figures: AggregateFigure[] = []
  for (const isIndexed of [false, true]) {
    const of = modelOf(isIndexed)
    const store = await place.open(of)
    try {
      if (!isIndexed) await place.fill()
      for (const [what, measures] of asked) {
        const ms: number[] = []
        for (let round = 0; round < rounds; round++) ms.push(await timed(of, store, measures))
        figures.push({ database: place.database, what, isIndexed, ms })
      }
    } finally {
      await store.close()
    }
  }
  return figures
}

/** Nothing is remembered: each round asks the database. */
export async function measureAggregates(rows: number, rounds: number): Promise<readonly AggregateFigure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-aggregates-'))
  const server = new PostgresServer()
  const file = join(folder, 'data.db')
  try {
    await server.start()
    const onSqlite: Place = {
      database: 'SQLite',
      open: async of => openSqlite(of, { file, cacheBytes: 0, autoMigrate: true }),
      async fill() {
        const database = new DatabaseSync(file)
        const numbers = `(WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < ${rows}) SELECT n FROM g)`
        database.exec(fillSql(numbers))
        database.close()
      },
    }
    const onPostgres: Place = {
      database: 'PostgreSQL',
      open: of => openPostgres(of, { url: server.url, cacheBytes: 0, autoMigrate: true }),
      async fill() {
        const client = new pg.Client({ connectionString: server.url })
        await client.connect()
        await client.query(fillSql(`generate_series(1, ${rows}) n`))
        await client.query('VACUUM ANALYZE "tasks"')
        await client.end()
      },
    }
    return [...(await figuresOf(onSqlite, rounds)), ...(await figuresOf(onPostgres, rounds))]
  } finally {
    await server.remove()
    rmSync(folder, { recursive: true })
  }
}

export function aggregatesTable(rows: number, figures: readonly AggregateFigure[]): string {
  const shown = (ms: number | undefined) => (ms === undefined ? '' : `${ms.toFixed(1)} ms`)
  return [
    `| of ${rows.toLocaleString('en')} items, on | aggregate | index on the group | median | fastest |`,
    '|---|---|---|---|---|',
    ...figures.map(({ database, what, isIndexed, ms }) => {
      const cells = [
        database,
        `\`${what}\``,
        isIndexed ? 'yes' : 'no',
        shown(median(ms)),
        shown(Math.min(...ms)),
      ]
      return `| ${cells.join(' | ')} |`
    }),
  ].join('\n')
}
