/**
 * A mixed load for minutes or hours, while memory after a garbage collection and open file descriptors are sampled: neither
 * may grow without bound.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { copyOf, type DataSet } from '../data-set/data.ts'
import { freePort, startPortico } from '../servers/server.ts'
import { median } from '../workloads/measure.ts'
import { person, requireLanes, soakLoad, type Tally } from './soak-load.ts'

export interface Sample {
  /** Bytes in use after a garbage collection, in V8's heap and outside it. */
  readonly heap: number
  readonly external: number
  readonly resident: number
  readonly descriptors: number
}

/** The minimum growth of a series that counts: less is noise. */
interface Tolerance {
  readonly absolute: number
  readonly relative: number
}

/** The median of the slopes between all pairs, times the length (Theil–Sen estimator), which is robust against outliers. */
export function growthOf(series: readonly number[]): number {
  const slopes = series.flatMap((from, index) =>
    series.slice(index + 1).map((to, after) => (to - from) / (after + 1)),
  )
  return slopes.length === 0 ? 0 : median(slopes) * (series.length - 1)
}

/** Kendall's tau: the share of rising pairs minus the share of falling ones. 1: always rises; 0: no trend. */
export function directionOf(series: readonly number[]): number {
  const signs = series.flatMap((from, index) => series.slice(index + 1).map(to => Math.sign(to - from)))
  return signs.length === 0 ? 0 : signs.reduce((sum, sign) => sum + sign, 0) / signs.length
}

/** Whether a series rises steadily, without its first third, in which caches fill. */
export function rises(series: readonly number[], { absolute, relative }: Tolerance): boolean {
  const settled = series.slice(Math.floor(series.length / 3))
  const growth = growthOf(settled)
  return directionOf(settled) > 0.5 && growth > absolute && growth > relative * median(settled)
}

const mebibyte = 1024 * 1024

/** Describes what grew. */
export function verdict(samples: readonly Sample[]): readonly string[] {
  const faults: string[] = []
  const memory = samples.map(({ heap, external }) => heap + external)
  if (rises(memory, { absolute: 2 * mebibyte, relative: 0.05 })) faults.push('memory after collection grows')
  const descriptors = samples.map(sample => sample.descriptors)
  if (rises(descriptors, { absolute: 5, relative: 0.05 })) faults.push('open descriptors grow')
  return faults
}

async function sampleOf(port: number): Promise<Sample> {
  return (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as Sample
}

const mib = (bytes: number) => (bytes / mebibyte).toFixed(1).padStart(7)

function line(minute: number, { heap, external, resident, descriptors }: Sample): string {
  const cells = [mib(heap), mib(external), mib(resident), String(descriptors).padStart(6)]
  return `${minute.toFixed(1).padStart(7)} min  heap ${cells[0]}  outside ${cells[1]}  resident ${cells[2]} MiB  descriptors ${cells[3]}`
}

const sampleCount = 60

export interface Soak {
  readonly minutes: number
  /** The names of the load's parts; empty: all. */
  readonly lanes: readonly string[]
  readonly print: (text: string) => void
}

/** Runs the soak test, and reports samples. Returns whether it passed. */
export async function soak(data: DataSet, { minutes, lanes, print }: Soak): Promise<boolean> {
  requireLanes(lanes)
  const work = copyOf(data)
  const port = await freePort()
  const environment = {
    SAMPLER_PORT: String(port),
    // The caches of answers and documents fill early, so later growth has another cause.
    PORTICO_CACHE_SIZE: '4 MiB',
    PORTICO_GRAPHQL_LIMITS: 'tokens=100',
    PORTICO_RATE_LIMIT: 'user=100000000, address=100000000, token=off',
    PORTICO_ADMIN_PASSWORD: person.password,
  }
  const options = ['--expose-gc', '--import', './bench/servers/sampler.mjs']
  const running = await startPortico(work.data.database, environment, options)
  const tally: Tally = new Map()
  const samples: Sample[] = []
  let stopped = false
  const target = { origin: running.origin, key: data.key, rows: data.rows }
  const load = soakLoad(target, lanes, () => stopped, tally)
  try {
    const every = Math.max(1000, (minutes * 60_000) / sampleCount)
    for (const start = performance.now(); performance.now() - start < minutes * 60_000; ) {
      await wait(every)
      const sample = await sampleOf(port)
      samples.push(sample)
      print(line((performance.now() - start) / 60_000, sample))
    }
  } finally {
    stopped = true
    await load
    await running.stop()
    await work.remove()
  }
  return report(samples, tally, print)
}

function report(samples: readonly Sample[], tally: Tally, print: (text: string) => void): boolean {
  for (const [name, times] of [...tally].sort()) print(`${String(times).padStart(10)}  ${name}`)
  const faults = [...verdict(samples)]
  if ([...tally.keys()].some(key => key.startsWith('!')))
    faults.push('some responses are unexpected: see the lines with `!`')
  print(faults.length === 0 ? 'Memory and descriptors are flat.' : `FAILED: ${faults.join('; ')}.`)
  return faults.length === 0
}
