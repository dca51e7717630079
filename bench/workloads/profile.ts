/** Profiles the server under one workload: writes the CPU profile next to the data, and returns its top functions. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyOf, type DataSet } from '../data-set/data.ts'
import { type Request, sendLoad } from '../load/load.ts'
import { startPortico } from '../servers/server.ts'
import { type CacheContent, cacheSettings } from './varied-requests.ts'

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
}

/** The functions with the most samples, and their share. */
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

/** The profiled workload: the requests to send to the server. */
export interface ProfiledWorkload {
  readonly clients: number
  requests(origin: string, data: DataSet): Promise<readonly Request[]>
}

export async function profile(
  { clients, requests }: ProfiledWorkload,
  data: DataSet,
  cacheContent: CacheContent,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-profile-'))
  const work = copyOf(data)
  const environment = { PORTICO_MODEL: data.model, ...cacheSettings[cacheContent] }
  const options = ['--cpu-prof', `--cpu-prof-dir=${folder}`]
  const server = await startPortico(work.data.database, environment, options)
  await sendLoad(server.origin, {
    requests: await requests(server.origin, work.data),
    clients,
    seconds: 5,
    headers: { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' },
  })
  await server.stop()
  await work.remove()
  const [file = ''] = readdirSync(folder)
  const top = topFunctions(JSON.parse(readFileSync(join(folder, file), 'utf8')), 25)
  return `${join(folder, file)}\n${top.join('\n')}`
}
