/** Ten times as many requests as the service can answer: how many it answers, and how fast it refuses the others. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { DataSet } from '../data-set/data.ts'
import { copyOf } from '../data-set/data.ts'
import { startBaseline, startPortico } from '../servers/server.ts'
import type { Flood, Second } from './flood.ts'

/** The responses of each second, without the last, incomplete one. */
export async function flood(options: Flood): Promise<readonly Second[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'flood.ts'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', part => {
    text += part
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`The process that sends the requests ended with ${code}.`)
  return (JSON.parse(text) as Second[]).slice(0, options.seconds)
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export interface OverloadMeasurement {
  readonly description: string
  /** Requests answered per second: with 32 clients before and after the flood, and during it. */
  readonly peakPerSecond: number
  readonly goodput: number
  /** In milliseconds. */
  readonly refused: { readonly count: number; readonly p50Ms: number; readonly p99Ms: number }
  readonly servedP99Ms: number
  /** The same requests to a bare `node:http` server with a constant response: an upper bound for refusals too. */
  readonly baseline: { readonly answered: number; readonly p50Ms: number }
  readonly failed: number
  /** Seconds after the flood until it answers 90 % of the peak again. */
  readonly recoverySeconds: number | undefined
}

/** `@@@@@@`: see `flood.ts`. */
const loads = [
  {
    description: 'REST: a search for text that no post contains',
    method: 'GET',
    path: '/api/v1/posts?body%5Bcontains%5D=nowhere@@@@@@',
    body: undefined,
  },
  {
    description: 'GraphQL: 50 posts, their authors, 50 posts of each',
    method: 'POST',
    path: '/graphql',
    body: JSON.stringify({
      query:
        'query ($not: ID) { posts(limit: 50, filter: { id: { ne: $not } }) { id title author { id name posts(limit: 50) { id title body } } } }',
      variables: { not: '@@@@@@' },
    }),
  },
  {
    description: 'GraphQL: 20 posts, their authors, 20 posts of each',
    method: 'POST',
    path: '/graphql',
    body: JSON.stringify({
      query:
        'query ($not: ID) { posts(limit: 20, filter: { id: { ne: $not } }) { id title author { id name posts(limit: 20) { id title body } } } }',
      variables: { not: '@@@@@@' },
    }),
  },
  {
    description: 'REST: 100 posts with their authors',
    method: 'GET',
    path: '/api/v1/posts?per_page=100&include=author&id%5Bne%5D=@@@@@@',
    body: undefined,
  },
  {
    description: 'create a post',
    method: 'POST',
    path: '/api/v1/posts',
    body: JSON.stringify({ title: 'A new post', body: 'What it says. '.repeat(10) }),
  },
] as const

const sum = (seconds: readonly Second[]) => seconds.reduce((total, { served }) => total + served.length, 0)

const floodSeconds = 12
/** The seconds at the beginning that do not count, because the load is not steady yet. */
const settleSeconds = 2
const calmSeconds = 6
const maxConnections = 4000

type FloodRequest = Omit<Flood, 'rate' | 'seconds' | 'connections'>

async function measureBaseline(
  request: FloodRequest,
  rate: number,
): Promise<OverloadMeasurement['baseline']> {
  const server = await startBaseline()
  try {
    const port = Number(new URL(server.origin).port)
    const seconds = await flood({
      ...request,
      port,
      rate,
      seconds: floodSeconds,
      connections: maxConnections,
    })
    const latencies = seconds.slice(settleSeconds).flatMap(({ served }) => served)
    return { answered: latencies.length / (floodSeconds - settleSeconds), p50Ms: percentile(latencies, 0.5) }
  } finally {
    await server.stop()
  }
}

async function measureOne(data: DataSet, load: (typeof loads)[number]): Promise<OverloadMeasurement> {
  const work = copyOf(data)
  const server = await startPortico(work.data.database, { PORTICO_CACHE_SIZE: '0 B', LOG_LEVEL: 'warn' })
  const { description, ...requestParts } = load
  const request: FloodRequest = {
    ...requestParts,
    port: Number(new URL(server.origin).port),
    headers: { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' },
  }
  try {
    const calm = () =>
      flood({ ...request, rate: undefined, seconds: calmSeconds + settleSeconds, connections: 32 })
    const before = (await calm()).slice(settleSeconds)
    const rate = Math.round((10 * sum(before)) / calmSeconds)
    const seconds = await flood({ ...request, rate, seconds: floodSeconds, connections: maxConnections })
    const after = await calm()
    // The speed of the machine varies.
    const peakPerSecond = (sum(before) + sum(after.slice(settleSeconds))) / (2 * calmSeconds)
    const steady = seconds.slice(settleSeconds)
    const refused = steady.flatMap(second => second.refused)
    const recoverySeconds = after.findIndex(({ served }) => served.length >= 0.9 * peakPerSecond)
    return {
      description,
      peakPerSecond,
      goodput: sum(steady) / steady.length,
      refused: {
        count: refused.length / steady.length,
        p50Ms: percentile(refused, 0.5),
        p99Ms: percentile(refused, 0.99),
      },
      servedP99Ms: percentile(
        steady.flatMap(({ served }) => served),
        0.99,
      ),
      baseline: await measureBaseline(request, rate),
      failed: steady.reduce((total, { failed }) => total + failed, 0),
      recoverySeconds: recoverySeconds === -1 ? undefined : recoverySeconds + 1,
    }
  } finally {
    await server.stop()
    await work.remove()
  }
}

export async function measureOverload(data: DataSet): Promise<readonly OverloadMeasurement[]> {
  const measurements: OverloadMeasurement[] = []
  for (const load of loads) measurements.push(await measureOne(data, load))
  return measurements
}

const format = (value: number) => Math.round(value).toLocaleString('en')

export function overloadTable(measurements: readonly OverloadMeasurement[]): string {
  return [
    'Ten times as many requests per second as one process can answer, regardless of the responses, from the third second on:',
    '',
    '| load | peak per second | answered per second | share | refused per second | p50 · p99 of refusals | p99 of answers | failed | recovered | bare server: answered per second | p50 |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...measurements.map(
      ({ description, peakPerSecond, goodput, refused, servedP99Ms, failed, recoverySeconds, baseline }) =>
        `| ${description} | ${format(peakPerSecond)} | ${format(goodput)} | ${(goodput / peakPerSecond).toFixed(2)} | ${format(refused.count)} | ${format(refused.p50Ms)} · ${format(refused.p99Ms)} ms | ${format(servedP99Ms)} ms | ${failed} | ${recoverySeconds === undefined ? 'not within 8 s' : `within ${recoverySeconds} s`} | ${format(baseline.answered)} | ${format(baseline.p50Ms)} ms |`,
    ),
  ].join('\n')
}
