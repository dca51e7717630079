/** How many events per second one node passes through a reaction, from the first event to the last stored result. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startPortico } from '../servers/server.ts'

export interface ReactionMeasurement {
  readonly reaction: string
  readonly events: number
  readonly seconds: number
}

const key = `portico_${'b'.repeat(40)}`
/** The items per request: the writes are not measured. */
const itemsPerRequest = 500

async function measure(reaction: string, events: number): Promise<ReactionMeasurement> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-bench-reactions-'))
  const running = await startPortico(join(folder, 'database.sqlite'), {
    PORTICO_MODEL: join(import.meta.dirname, 'reactions-model.ts'),
    PORTICO_BENCH_REACTION: reaction,
    PORTICO_ADMIN_EMAIL: 'admin@example.com',
    PORTICO_ADMIN_API_KEY: key,
  })
  const runCount = async () => {
    const metrics = await (await fetch(`${running.origin}/metrics`)).text()
    return Number(/^portico_reaction_runs_succeeded_total (\d+)$/m.exec(metrics)?.[1] ?? 0)
  }
  const create = async (count: number) => {
    const body = JSON.stringify(Array.from({ length: count }, (_, index) => ({ title: `task ${index}` })))
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${running.origin}/api/v1/tasks`, { method: 'POST', headers, body })
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  const until = async (count: number) => {
    while ((await runCount()) < count) await wait(20)
  }
  try {
    await create(itemsPerRequest)
    await until(itemsPerRequest)
    const beganAt = performance.now()
    for (let sent = 0; sent < events; sent += itemsPerRequest) await create(itemsPerRequest)
    await until(itemsPerRequest + events)
    return { reaction, events, seconds: (performance.now() - beganAt) / 1000 }
  } finally {
    await running.stop()
    rmSync(folder, { recursive: true })
  }
}

export async function measureReactions(events: number): Promise<readonly ReactionMeasurement[]> {
  return [await measure('nothing', events), await measure('writing', events)]
}

export function reactionsTable(measurements: readonly ReactionMeasurement[]): string {
  const rows = measurements.map(
    ({ reaction, events, seconds }) =>
      `| ${reaction} | ${events} | ${seconds.toFixed(1)} | ${Math.round(events / seconds)} |`,
  )
  return [
    'Events through one reaction on one node on SQLite, the writes of the events included:',
    '',
    '| the reaction does | events | seconds | events a second |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}
