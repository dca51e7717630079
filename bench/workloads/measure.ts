/** Rounds that alternate between the baseline and the measured server. */
import type { DataSet } from '../data-set/data.ts'
import { type Load, requestsPerSecond } from '../load/load.ts'
import { type Running, residentMiB, startBaseline, startLimit, startPortico } from '../servers/server.ts'
import { type Setup, sqlite } from '../servers/setup.ts'
import type { Workload } from './workloads.ts'

export interface Measurement {
  readonly workload: string
  readonly description: string
  /** `cold`: without caches; `hot`: with warm caches; `limit`: the hand-written server. */
  readonly server: 'cold' | 'hot' | 'limit'
  /** The setup in which Portico ran. */
  readonly setup: string
  readonly rows: number
  /** Requests per second, relative to the baseline in the same round. */
  readonly ratios: readonly number[]
  readonly perSecond: readonly number[]
  readonly baseline: readonly number[]
  readonly floor: number | undefined
}

export interface Sampling {
  readonly rounds: number
  readonly seconds: number
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low = 0, high = 0] = [sorted[(sorted.length - 1) >> 1], sorted[middle]]
  return (low + high) / 2
}

/** Cursors spread over the list. A cursor does not depend on the filter with which it was obtained. */
export async function cursorsOver(
  { origin }: Pick<Running, 'origin'>,
  { key, rows }: DataSet,
): Promise<readonly string[]> {
  const cursors: string[] = []
  for (let n = 0; n < 200; n++) {
    const index = Math.floor((n * (rows - 100)) / 200)
    const path = `/api/v1/posts?cursor=&per_page=1&fields=id&id%5Bgt%5D=${index}`
    const response = await fetch(`${origin}${path}`, { headers: { Authorization: `Bearer ${key}` } })
    const page = (await response.json()) as { meta: { next_cursor: string } }
    cursors.push(page.meta.next_cursor)
  }
  return cursors
}

function startMeasured(
  server: Measurement['server'],
  database: string,
  { environment }: Setup,
): Promise<Running> {
  if (server === 'limit') return startLimit(database)
  return startPortico(
    database,
    server === 'cold' ? { ...environment, PORTICO_CACHE_SIZE: '0 B' } : environment,
  )
}

function floorOf({ floor }: Workload, server: Measurement['server'], rows: number, setup: Setup) {
  if (server === 'limit' || setup.floor === undefined) return undefined
  if (server === 'hot') return floor.hot
  return floor[rows >= 1_000_000 ? 'big' : setup.floor]
}

/** The hand-written server's cursors are plain ids. */
const plainCursors = (rows: number) =>
  Array.from({ length: 200 }, (_, n) => String(Math.floor((n * (rows - 100)) / 200)))

/** A setup that is measured alternately with others. */
interface RunningSetup {
  readonly setup: Setup
  readonly running: Running
  readonly load: Load
  readonly rounds: { readonly perSecond: number; readonly basePerSecond: number }[]
}

/** Starts a setup, and warms it up. */
async function startSetup(
  workload: Workload,
  server: Measurement['server'],
  data: DataSet,
  setup: Setup,
  closing: (() => unknown)[],
): Promise<RunningSetup> {
  const work = await setup.copy(data)
  closing.push(() => work.remove())
  const running = await startMeasured(server, work.data.database, setup)
  closing.push(() => running.stop())
  const cursors = server === 'limit' ? plainCursors(data.rows) : await cursorsOver(running, work.data)
  const load: Load = {
    requests: workload.requests(data.rows, cursors),
    clients: workload.clients,
    seconds: 1,
    headers: { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' },
  }
  await requestsPerSecond(running.origin, load)
  return { setup, running, load, rounds: [] }
}

/** Measures the setups alternately, in the same rounds and against one baseline. */
export async function measureAlternately(
  workload: Workload,
  server: Measurement['server'],
  data: DataSet,
  { rounds, seconds }: Sampling,
  setups: readonly Setup[],
): Promise<readonly Measurement[]> {
  const closing: (() => unknown)[] = []
  try {
    const baseline = await startBaseline()
    closing.push(() => baseline.stop())
    const all: RunningSetup[] = []
    for (const setup of setups) all.push(await startSetup(workload, server, data, setup, closing))
    for (const { load } of all.slice(0, 1)) await requestsPerSecond(baseline.origin, load)
    for (let round = 0; round < rounds; round++) {
      let basePerSecond: number | undefined
      for (const setup of all) {
        const load = { ...setup.load, seconds }
        basePerSecond ??= await requestsPerSecond(baseline.origin, load)
        setup.rounds.push({ basePerSecond, perSecond: await requestsPerSecond(setup.running.origin, load) })
      }
    }
    for (const { setup, running } of all) if (workload.reads) await setup.check?.(running)
    return all.map(setup => measurementOf(workload, server, data, setup))
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

function measurementOf(
  workload: Workload,
  server: Measurement['server'],
  { rows }: DataSet,
  { setup, rounds }: RunningSetup,
): Measurement {
  return {
    workload: workload.name,
    description: workload.description,
    server,
    setup: setup.name,
    rows,
    ratios: rounds.map(({ perSecond, basePerSecond }) => perSecond / basePerSecond),
    perSecond: rounds.map(({ perSecond }) => perSecond),
    baseline: rounds.map(({ basePerSecond }) => basePerSecond),
    floor: floorOf(workload, server, rows, setup),
  }
}

export async function measure(
  workload: Workload,
  server: Measurement['server'],
  data: DataSet,
  sampling: Sampling,
  setup = sqlite,
): Promise<Measurement> {
  const [measurement] = await measureAlternately(workload, server, data, sampling, [setup])
  if (measurement === undefined) throw new Error('Nothing was measured.')
  return measurement
}

export interface Footprint {
  readonly startMs: readonly number[]
  readonly idleMiB: readonly number[]
}

/** The time from the start of the process to its first response, and its memory a second later. */
export async function footprint(data: DataSet, rounds: number): Promise<Footprint> {
  const startMs: number[] = []
  const idleMiB: number[] = []
  for (let round = 0; round < rounds; round++) {
    const server = await startPortico(data.database)
    startMs.push(server.startMs)
    await new Promise(resolve => setTimeout(resolve, 1000))
    const memory = residentMiB(server.pid)
    if (memory !== undefined) idleMiB.push(memory)
    await server.stop()
  }
  return { startMs, idleMiB }
}

export interface Walk {
  readonly rows: number
  readonly seconds: number
  /** Resident memory after the first tenth, and its peak after that. */
  readonly earlyMiB: number
  readonly highestMiB: number
}

/** Reads the whole collection by cursor, 100 items a page. */
export async function walk(data: DataSet): Promise<Walk> {
  const server = await startPortico(data.database, { PORTICO_CACHE_SIZE: '0 B' })
  const start = performance.now()
  const memory: number[] = []
  let [cursor, rows]: [string | null, number] = ['', 0]
  try {
    while (cursor !== null) {
      const response = await fetch(`${server.origin}/api/v1/posts?per_page=100&cursor=${cursor}`, {
        headers: { Authorization: `Bearer ${data.key}` },
      })
      const page = (await response.json()) as { data: unknown[]; meta: { next_cursor: string | null } }
      rows += page.data.length
      cursor = page.meta.next_cursor
      if (rows % 10_000 === 0) memory.push(residentMiB(server.pid) ?? 0)
    }
  } finally {
    await server.stop()
  }
  const tenth = Math.floor(memory.length / 10)
  return {
    rows,
    seconds: (performance.now() - start) / 1000,
    earlyMiB: memory[tenth] ?? 0,
    highestMiB: Math.max(...memory.slice(tenth)),
  }
}
