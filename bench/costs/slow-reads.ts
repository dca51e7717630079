/** The latency of item reads and of `/healthz`, alone and while eight clients scan a whole table. */
import { Agent, get } from 'node:http'
import { copyOf, type DataSet } from '../data-set/data.ts'
import { randomNumbers } from '../data-set/posts.ts'
import { percentile } from '../load/overload.ts'
import { type Running, startPortico } from '../servers/server.ts'
import { median, type Sampling } from '../workloads/measure.ts'

const scanClients = 8
const probeClients = 8

export interface SlowReadMeasurement {
  readonly name: string
  /** Medians of the rounds, in milliseconds. */
  readonly alone: Latency
  readonly during: Latency
}

export interface SlowReadMeasurements {
  readonly probes: readonly SlowReadMeasurement[]
  /** Scans per second, and the duration of one in milliseconds. */
  readonly scansPerSecond: number
  readonly scan: Latency
}

interface Latency {
  readonly p50: number
  readonly p99: number
}

interface Client {
  readonly agent: Agent
  readonly headers: Readonly<Record<string, string>>
}

function clientsOf(count: number, headers: Client['headers']): Client[] {
  return Array.from({ length: count }, () => ({
    agent: new Agent({ keepAlive: true, maxSockets: 1 }),
    headers,
  }))
}

/** The milliseconds until the complete response. Rejects unless its status is 200. */
function latencyMs(url: string, { agent, headers }: Client): Promise<number> {
  const start = performance.now()
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, response => {
      response.resume().on('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - start)
        else reject(new Error(`${url} was answered with ${response.statusCode}`))
      })
    }).on('error', reject)
  })
}

/** Each client sends its next request as soon as it has a response, until `isOver`. */
async function times(
  clients: readonly Client[],
  url: () => string,
  isOver: () => boolean,
): Promise<readonly number[]> {
  const durations: number[] = []
  const sendRepeatedly = async (client: Client): Promise<void> => {
    while (!isOver()) durations.push(await latencyMs(url(), client))
    client.agent.destroy()
  }
  await Promise.all(clients.map(sendRepeatedly))
  return durations
}

function latency(values: readonly number[]): Latency {
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99) }
}

function medians(latencies: readonly Latency[]): Latency {
  return { p50: median(latencies.map(({ p50 }) => p50)), p99: median(latencies.map(({ p99 }) => p99)) }
}

interface Probe {
  readonly name: string
  readonly url: () => string
}

function probesOf({ origin }: Running, rows: number): readonly Probe[] {
  const random = randomNumbers(3)
  return [
    { name: 'W1 · item', url: () => `${origin}/api/v1/posts/${1 + Math.floor(random() * rows)}` },
    { name: '/healthz', url: () => `${origin}/healthz` },
  ]
}

/** Runs `use` while eight clients scan, four for each of two callers. Returns the duration of each scan. */
async function whileScanning(
  { origin }: Running,
  key: string,
  use: () => Promise<void>,
): Promise<readonly number[]> {
  let isOver = false
  let scan = 0
  // All scans have different parameters, so that none is shared or cached.
  const url = () => `${origin}/api/v1/posts?sort=title&title%5Bne%5D=${scan++}`
  const half = scanClients / 2
  const clients = [...clientsOf(half, { Authorization: `Bearer ${key}` }), ...clientsOf(half, {})]
  const scans = times(clients, url, () => isOver)
  // After two seconds the reader processes have started.
  await new Promise(resolve => setTimeout(resolve, 2000))
  await use().finally(() => {
    isOver = true
  })
  return scans
}

async function measureProbe({ url }: Probe, key: string, seconds: number): Promise<Latency> {
  const end = performance.now() + seconds * 1000
  const clients = clientsOf(probeClients, { Authorization: `Bearer ${key}` })
  return latency(await times(clients, url, () => performance.now() > end))
}

/** Alternates between measurements alone and during scans. Without caches. */
export async function measureSlowReads(
  data: DataSet,
  { rounds, seconds }: Sampling,
): Promise<SlowReadMeasurements> {
  const copy = await copyOf(data)
  const running = await startPortico(copy.data.database, {
    PORTICO_CACHE_SIZE: '0 B',
    PORTICO_DB_TIMEOUT: '60 s',
  })
  try {
    const probes = probesOf(running, data.rows).map(probe => ({
      probe,
      alone: [] as Latency[],
      during: [] as Latency[],
    }))
    const scans: number[] = []
    let scanningMs = 0
    for (let round = 0; round < rounds; round++) {
      for (const { probe, alone } of probes) alone.push(await measureProbe(probe, data.key, seconds))
      const start = performance.now()
      const durations = await whileScanning(running, data.key, async () => {
        for (const { probe, during } of probes) during.push(await measureProbe(probe, data.key, seconds))
      })
      scanningMs += performance.now() - start
      scans.push(...durations)
    }
    return {
      probes: probes.map(({ probe: { name }, alone, during }) => ({
        name,
        alone: medians(alone),
        during: medians(during),
      })),
      scansPerSecond: scans.length / (scanningMs / 1000),
      scan: latency(scans),
    }
  } finally {
    await running.stop()
    await copy.remove()
  }
}

/** With eight scanning clients, p99 may be at most this many times what it is without them. */
export const maxFactor = 3

export function slowReadsTable({ probes, scansPerSecond, scan }: SlowReadMeasurements): string {
  const ms = (value: number) => `${value.toFixed(2)} ms`
  const rows = probes.map(({ name, alone, during }) => {
    const factor = (during.p99 / alone.p99).toFixed(1)
    return `| ${name} | ${ms(alone.p50)} | ${ms(alone.p99)} | ${ms(during.p50)} | ${ms(during.p99)} | ${factor} | < ${maxFactor} |`
  })
  return [
    `| ${probeClients} clients ask for | p50 alone | p99 alone | p50 during scans | p99 during scans | p99, times | to be |`,
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
    `Meanwhile ${scanClients} clients got ${scansPerSecond.toFixed(1)} scans a second; one took ${Math.round(scan.p50)} ms (p50).`,
  ].join('\n')
}
