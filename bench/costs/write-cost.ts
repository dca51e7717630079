/**
 * The cost of the event log, or of the model's own code, for a write: creates and updates of the store with and without it,
 * alternately.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../src/engine/store/store.ts'
import { anyone, atMost, collection, field, index, model, text } from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import type { Model } from '../../src/model/model.ts'
import { Client } from '../../test/engine/store/blog.ts'
import { PostgresServer } from '../../test/setups/databases/postgres-server.ts'
import { median, type Sampling } from '../workloads/measure.ts'

const writers = 32
const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const logged = checkModel(
  model({ notes: collection({ access, fields: { title: text(), body: text({ optional: true }) } }) }),
)
const indexed = checkModel(
  model({
    notes: collection({
      access,
      fields: { title: text(), body: text({ optional: true }) },
      indexes: [index('title')],
    }),
  }),
)
const unlogged: Model = {
  ...logged,
  collections: new Map(
    [...logged.collections].map(([name, collection]) => [
      name,
      { ...collection, unlogged: name === 'notes' },
    ]),
  ),
}

const checked = checkModel(
  model({
    notes: collection({
      access,
      fields: { title: text(), body: text({ optional: true }) },
      prepare: ({ next }) => ({ title: next.title.trim() }),
      check: ({ next }) =>
        next.title === '' ? [{ field: 'title' as const, message: 'A note needs a title.' }] : [],
    }),
  }),
)
const counted = checkModel(
  model({
    notes: collection({
      access,
      fields: { title: text(), body: text({ optional: true }) },
      indexes: [index('title')],
      limits: [atMost(1000, { per: 'title', where: field('body').eq(null) })],
    }),
  }),
)

/** Pairs of models that differ in one feature. */
const compared = {
  log: { with: logged, without: unlogged },
  'prepare and check': { with: checked, without: logged },
  'a limit that does not apply': { with: counted, without: indexed },
} as const

export interface WriteCost {
  readonly comparison: keyof typeof compared
  readonly database: string
  readonly operation: 'create' | 'update'
  /** Writes per second, by round. */
  readonly with: readonly number[]
  readonly without: readonly number[]
}

type Open = (model: Model) => Promise<Store>

async function perSecond(
  client: Client,
  operation: WriteCost['operation'],
  seconds: number,
): Promise<number> {
  const body = 'x'.repeat(500)
  const ids = await Promise.all(
    Array.from({ length: writers }, async () => (await client.create('notes', { title: 'a', body })).id),
  )
  const start = performance.now()
  const end = start + seconds * 1000
  let [completed, last] = [0, start]
  const write = async (id: number): Promise<void> => {
    for (let n = 0; performance.now() < end; n++) {
      if (operation === 'create') await client.create('notes', { title: 'a', body })
      else await client.update('notes', id, { title: `${n}` })
      completed++
      last = performance.now()
    }
  }
  await Promise.all(ids.map(write))
  return (1000 * completed) / (last - start)
}

async function costsOn(
  database: string,
  comparison: WriteCost['comparison'],
  open: Open,
  { rounds, seconds }: Sampling,
): Promise<WriteCost[]> {
  const models = compared[comparison]
  const stores = { with: await open(models.with), without: await open(models.without) }
  const costs: WriteCost[] = []
  try {
    for (const operation of ['create', 'update'] as const) {
      const measured = { with: [] as number[], without: [] as number[] }
      for (let round = 0; round < rounds; round++) {
        for (const side of ['with', 'without'] as const) {
          measured[side].push(await perSecond(new Client(stores[side], models[side]), operation, seconds))
        }
      }
      costs.push({ comparison, database, operation, ...measured })
    }
    return costs
  } finally {
    await Promise.all(Object.values(stores).map(store => store.close()))
  }
}

/** `log`: of the event log; `logic`: of the model's own code and limits. */
export async function measureWriteCosts(
  which: 'log' | 'logic',
  sampling: Sampling,
): Promise<readonly WriteCost[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-write-cost-'))
  const server = new PostgresServer()
  const all = Object.keys(compared) as WriteCost['comparison'][]
  const costs: WriteCost[] = []
  try {
    await server.start()
    const file = join(folder, 'data.db')
    for (const comparison of all.filter(name => (name === 'log') === (which === 'log'))) {
      costs.push(
        ...(await costsOn('SQLite', comparison, async model => openSqlite(model, { file }), sampling)),
      )
      costs.push(
        ...(await costsOn(
          'PostgreSQL',
          comparison,
          model => openPostgres(model, { url: server.url }),
          sampling,
        )),
      )
    }
    return costs
  } finally {
    await server.remove()
    rmSync(folder, { recursive: true })
  }
}

export function writeCostTable(costs: readonly WriteCost[]): string {
  return [
    `| ${writers} at a time, on | write | of | with it, per second | without it | it costs |`,
    '|---|---|---|---|---|---|',
    ...costs.map(cost => {
      const ratios = cost.with.map((value, round) => value / (cost.without[round] ?? value))
      const percent = Math.round(100 * (1 - median(ratios)))
      const counts = [cost.with, cost.without].map(values => Math.round(median(values)).toLocaleString('en'))
      return `| ${[cost.database, cost.operation, cost.comparison, ...counts, `${percent} %`].join(' | ')} |`
    }),
  ].join('\n')
}
