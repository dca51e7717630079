/** A CPU profile of the server under one workload: written beside the data, its top functions printed. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyOf, type DataSet } from './data.ts'
import { requestsPerSecond } from './load.ts'
import { cursorsOver } from './measure.ts'
import { startPortico } from './server.ts'
import type { Workload } from './workloads.ts'

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
}

/** The functions in which most samples fell, with their share. */
export function topFunctions(profile: Profile, count: number): readonly string[] {
  const hits = new Map<number, number>()
  for (const id of profile.samples) hits.set(id, (hits.get(id) ?? 0) + 1)
  const shares = new Map<string, number>()
  for (const { id, callFrame } of profile.nodes) {
    const place = callFrame.url.split('/').slice(-2).join('/')
    const name = `${callFrame.functionName || '(anonymous)'} ${place}:${callFrame.lineNumber + 1}`
    shares.set(name, (shares.get(name) ?? 0) + (hits.get(id) ?? 0))
  }
  return [...shares]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name, n]) => `${((100 * n) / profile.samples.length).toFixed(1).padStart(5)} %  ${name}`)
}

export async function profile(workload: Workload, data: DataSet, hot: boolean): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-profile-'))
  const work = copyOf(data)
  const server = await startPortico(work.data.database, hot ? {} : { PORTICO_CACHE_BYTES: '0' }, [
    '--cpu-prof',
    `--cpu-prof-dir=${folder}`,
  ])
  const cursors = await cursorsOver(server, work.data)
  await requestsPerSecond(server.origin, {
    requests: workload.requests(data.rows, cursors),
    clients: workload.clients,
    seconds: 5,
    headers: { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' },
  })
  await server.stop()
  await work.remove()
  const [file = ''] = readdirSync(folder)
  const top = topFunctions(JSON.parse(readFileSync(join(folder, file), 'utf8')), 25)
  return `${join(folder, file)}\n${top.join('\n')}`
}
