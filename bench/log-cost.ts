/** What the event log costs a write: creates and updates of the store, with the log and without it, in turns. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anyone, collection, model, text } from '../src/index.ts'
import { checkModel } from '../src/model/check.ts'
import type { Model } from '../src/model/model.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { PostgresServer } from '../test/databases/postgres.ts'
import { Client } from '../test/store/blog.ts'
import { median, type Pace } from './measure.ts'

const writers = 32
const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const logged = checkModel(
  model({ notes: collection({ access, fields: { title: text(), body: text({ optional: true }) } }) }),
)
const unlogged: Model = {
  ...logged,
  collections: new Map(
    [...logged.collections].map(([name, one]) => [name, { ...one, unlogged: name === 'notes' }]),
  ),
}

export interface LogCost {
  readonly database: string
  readonly what: 'create' | 'update'
  /** Writes in a second, by round. */
  readonly withLog: readonly number[]
  readonly without: readonly number[]
}

type Open = (of: Model) => Promise<Store>

async function perSecond(client: Client, what: LogCost['what'], seconds: number): Promise<number> {
  const body = 'x'.repeat(500)
  const ids = await Promise.all(
    Array.from({ length: writers }, async () => (await client.create('notes', { title: 'a', body })).id),
  )
  const began = performance.now()
  const end = began + seconds * 1000
  let [done, last] = [0, began]
  const write = async (id: number): Promise<void> => {
    for (let n = 0; performance.now() < end; n++) {
      if (what === 'create') await client.create('notes', { title: 'a', body })
      else await client.update('notes', id, { title: `${n}` })
      done++
      last = performance.now()
    }
  }
  await Promise.all(ids.map(write))
  return (1000 * done) / (last - began)
}

async function costsOn(database: string, open: Open, { rounds, seconds }: Pace): Promise<LogCost[]> {
  const stores = { withLog: await open(logged), without: await open(unlogged) }
  const costs: LogCost[] = []
  try {
    for (const what of ['create', 'update'] as const) {
      const measured = { withLog: [] as number[], without: [] as number[] }
      for (let round = 0; round < rounds; round++) {
        measured.withLog.push(await perSecond(new Client(stores.withLog, logged), what, seconds))
        measured.without.push(await perSecond(new Client(stores.without, unlogged), what, seconds))
      }
      costs.push({ database, what, ...measured })
    }
    return costs
  } finally {
    await Promise.all(Object.values(stores).map(store => store.close()))
  }
}

export async function measureLogCost(pace: Pace): Promise<readonly LogCost[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-log-cost-'))
  const server = new PostgresServer()
  try {
    await server.start()
    const file = join(folder, 'data.db')
    return [
      ...(await costsOn('SQLite', async of => openSqlite(of, { file }), pace)),
      ...(await costsOn('PostgreSQL', of => openPostgres(of, { url: server.url }), pace)),
    ]
  } finally {
    await server.remove()
    rmSync(folder, { recursive: true })
  }
}

export function logCostTable(costs: readonly LogCost[]): string {
  return [
    `| ${writers} at a time, on | write | with the log, per second | without it | the log costs |`,
    '|---|---|---|---|---|',
    ...costs.map(({ database, what, withLog, without }) => {
      const ratios = withLog.map((value, round) => value / (without[round] ?? value))
      const cost = Math.round(100 * (1 - median(ratios)))
      const counts = [withLog, without].map(values => Math.round(median(values)).toLocaleString('en'))
      return `| ${[database, what, ...counts, `${cost} %`].join(' | ')} |`
    }),
  ].join('\n')
}
