/** Rounds in which the bare server, the hand-written one and Portico alternate, for W10 to W19. */
import { readFileSync } from 'node:fs'
import { copyOf, type DataSet, limitDataSet } from '../data-set/data.ts'
import { type Load, type LoadResult, sendLoad } from '../load/load.ts'
import { type Running, startBaseline, startLimit, startPortico } from '../servers/server.ts'
import type { Setup } from '../servers/setup.ts'
import type { Sampling } from './measure.ts'
import { cacheSettings, type VariedFloor, type VariedWorkload } from './varied-requests.ts'

export interface VariedMeasurement {
  readonly workload: string
  readonly description: string
  /** The database on which Portico ran. */
  readonly setup: string
  readonly rows: number
  readonly rounds: readonly VariedRound[]
  readonly floor: VariedFloor
}

/** The result of one server in one round. */
interface ServerResult extends LoadResult {
  /** CPU time of the server's process, in microseconds per request; undefined if the system does not report it. */
  readonly cpuMicros: number | undefined
}

export interface VariedRound {
  readonly baseline: ServerResult
  /** The hand-written server, on SQLite. */
  readonly limit?: ServerResult
  readonly portico: ServerResult
}

/** Linux reports CPU time in hundredths of a second. */
const tickMicros = 10_000

/** The CPU time that a process and its threads have used so far, in microseconds. */
export function cpuMicrosOf(pid: number): number | undefined {
  try {
    // The second field is the name, which may contain spaces: the rest begins after its bracket (proc_pid_stat(5)).
    const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * tickMicros
  } catch {
    return undefined
  }
}

/** A measured server, and its position in the list of requests. */
class MeasuredServer {
  readonly #running: Running
  readonly #load: Load
  #from = 0

  constructor(running: Running, load: Load) {
    this.#running = running
    this.#load = load
  }

  async measure(seconds: number, isOnce: boolean): Promise<ServerResult> {
    const { pid, origin } = this.#running
    const before = cpuMicrosOf(pid)
    const load = { ...this.#load, seconds, ...(isOnce && { from: this.#from }) }
    const measured = await sendLoad(origin, load)
    this.#from = measured.next
    const used = (cpuMicrosOf(pid) ?? Number.NaN) - (before ?? Number.NaN)
    return { ...measured, cpuMicros: Number.isNaN(used) ? undefined : used / measured.answered }
  }
}

/**
 * Derives cursors of posts sorted by id from one cursor, which is the JSON of a mark of its list and its sort keys, so
 * one request is enough for all cursors.
 */
export async function cursorsOf(origin: string, key: string): Promise<(id: number) => string> {
  const response = await fetch(`${origin}/api/v1/posts?cursor=&per_page=1`, {
    headers: { Authorization: `Bearer ${key}` },
  })
  if (!response.ok) throw new Error(`Portico gave no cursor (${response.status}): ${await response.text()}`)
  const { meta } = (await response.json()) as { meta: { next_cursor: string } }
  const [mark] = JSON.parse(Buffer.from(meta.next_cursor, 'base64url').toString()) as [string]
  return id => Buffer.from(JSON.stringify([mark, id])).toString('base64url')
}

/** Throws if the first request fails: a request that fails for another reason than load must not count as answered. */
async function requireAnswer(origin: string, { requests, headers }: Load): Promise<void> {
  const [first] = requests
  if (first === undefined || first.method === 'DELETE') return
  const { method, path, body } = first
  const response = await fetch(`${origin}${path}`, { method, headers, ...(body !== undefined && { body }) })
  const text = await response.text()
  if (!response.ok || text.includes('"errors"'))
    throw new Error(`${method} ${path}: ${response.status} ${text}`)
}

function loadOf(workload: VariedWorkload, data: DataSet, cursorAt: (id: number) => string): Load {
  return {
    requests: workload.requests(data, cursorAt),
    clients: workload.clients,
    seconds: 1,
    headers: { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' },
  }
}

interface MeasuredServers {
  readonly baseline: MeasuredServer
  readonly limit: MeasuredServer | undefined
  readonly portico: MeasuredServer
}

async function startServers(
  workload: VariedWorkload,
  data: DataSet,
  setup: Setup,
  closing: (() => unknown)[],
): Promise<MeasuredServers> {
  const open = (running: Running) => {
    closing.push(() => running.stop())
    return running
  }
  const work = await setup.copy(data)
  closing.push(() => work.remove())
  const running = open(
    await startPortico(work.data.database, {
      ...setup.environment,
      PORTICO_MODEL: data.model,
      ...cacheSettings[workload.cacheContent],
    }),
  )
  const load = loadOf(workload, data, await cursorsOf(running.origin, data.key))
  await requireAnswer(running.origin, load)
  const baseline = new MeasuredServer(open(await startBaseline()), load)
  const portico = new MeasuredServer(running, load)
  if (setup.floor !== 'cold') return { baseline, portico, limit: undefined }
  const limitWork = copyOf(limitDataSet(data), 'limit')
  closing.push(() => limitWork.remove())
  const limit = open(await startLimit(limitWork.data.database))
  return { baseline, portico, limit: new MeasuredServer(limit, loadOf(workload, data, String)) }
}

/** Measures one workload on one database. Throws if its first request fails. */
export async function measureVaried(
  workload: VariedWorkload,
  data: DataSet,
  { rounds, seconds }: Sampling,
  setup: Setup,
): Promise<VariedMeasurement> {
  const closing: (() => unknown)[] = []
  try {
    const { baseline, limit, portico } = await startServers(workload, data, setup, closing)
    const isOnce = workload.once !== undefined
    const eachSeconds = Math.min(seconds, workload.once?.seconds ?? seconds)
    const round = async (roundSeconds: number): Promise<VariedRound> => ({
      baseline: await baseline.measure(roundSeconds, false),
      ...(limit && { limit: await limit.measure(roundSeconds, isOnce) }),
      portico: await portico.measure(roundSeconds, isOnce),
    })
    // The first round warms up the servers.
    await round(1)
    const measured: VariedRound[] = []
    for (let n = 0; n < rounds; n++) measured.push(await round(eachSeconds))
    const { name, description, floor } = workload
    return { workload: name, description, setup: setup.name, rows: data.rows, rounds: measured, floor }
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}
