/** The throughput of an action with five reads and five writes over HTTP, compared with a plain create. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostgresServer } from '../../test/setups/databases/postgres-server.ts'
import { type LoadResult, type Request, sendLoad } from '../load/load.ts'
import { startPortico } from '../servers/server.ts'
import { median, type Sampling } from '../workloads/measure.ts'

const clients = 32
const rows = 1000

export interface ActionMeasurement {
  readonly database: string
  readonly operation: 'action' | 'create'
  /** By round. */
  readonly perSecond: readonly number[]
  readonly p99Ms: readonly number[]
}

const requests: Readonly<Record<ActionMeasurement['operation'], readonly Request[]>> = {
  // Consecutive actions write to different notes.
  action: Array.from({ length: rows }, (_, index) => {
    const first = 1 + ((index * 37) % (rows - 5))
    const body = JSON.stringify({ first, title: `A note ${index}` })
    return { method: 'POST', path: '/api/v1/notes/work', body }
  }),
  create: Array.from({ length: rows }, (_, index) => {
    return { method: 'POST', path: '/api/v1/notes', body: JSON.stringify({ title: `A note ${index}` }) }
  }),
}

async function measureOn(
  database: string,
  url: string,
  sampling: Sampling,
): Promise<readonly ActionMeasurement[]> {
  const running = await startPortico(url, { PORTICO_MODEL: join(import.meta.dirname, 'actions-model.ts') })
  const headers = { 'content-type': 'application/json' }
  const measureOnce = (operation: ActionMeasurement['operation']) =>
    sendLoad(running.origin, { requests: requests[operation], clients, seconds: sampling.seconds, headers })
  try {
    const body = JSON.stringify(Array.from({ length: rows / 2 }, (_, index) => ({ title: `note ${index}` })))
    for (let half = 0; half < 2; half++) {
      const answer = await fetch(`${running.origin}/api/v1/notes`, { method: 'POST', headers, body })
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`)
      await answer.arrayBuffer()
    }
    const results = { action: [], create: [] } as Record<ActionMeasurement['operation'], LoadResult[]>
    for (let round = 0; round < sampling.rounds; round++) {
      for (const operation of ['create', 'action'] as const)
        results[operation].push(await measureOnce(operation))
    }
    return (['create', 'action'] as const).map(operation => ({
      ...{ database, operation },
      perSecond: results[operation].map(({ perSecond }) => perSecond),
      p99Ms: results[operation].map(({ p99Ms }) => p99Ms),
    }))
  } finally {
    await running.stop()
  }
}

export async function measureActions(sampling: Sampling): Promise<readonly ActionMeasurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-bench-actions-'))
  const server = new PostgresServer()
  try {
    await server.start()
    const sqlite = await measureOn('SQLite', join(folder, 'database.sqlite'), sampling)
    return [...sqlite, ...(await measureOn('PostgreSQL', server.url, sampling))]
  } finally {
    await server.remove()
    rmSync(folder, { recursive: true })
  }
}

export function actionsTable(measurements: readonly ActionMeasurement[]): string {
  const rowsOf = measurements.map(({ database, operation, perSecond, p99Ms }) => {
    const name = operation === 'action' ? 'an action of 5 reads and 5 writes' : 'a create'
    return `| ${database} | ${name} | ${Math.round(median(perSecond))} | ${median(p99Ms).toFixed(1)} |`
  })
  return [
    `| database | ${clients} clients | per second | p99 ms |`,
    '| --- | --- | ---: | ---: |',
    ...rowsOf,
  ].join('\n')
}
