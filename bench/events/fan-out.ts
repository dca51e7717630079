/** One event to many listeners of `GET /api/v1/events`: the latency and the memory per listener. */
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { copyOf, type DataSet, dataSet } from '../data-set/data.ts'
import { type Running, residentMiB, startPortico } from '../servers/server.ts'

export interface FanOut {
  readonly listeners: number
  /** The time from the request that creates the item to the event at a listener, over all listeners and events. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly kibEach: number
}

/** Each listener needs a local port, of which an address has about 28,000. */
const perAddress = 5000
const openedAtOnce = 50

interface Audience {
  readonly streams: IncomingMessage[]
  /** Called for each event of each listener. */
  onEvent: () => void
}

function join(origin: string, key: string, index: number, audience: Audience): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/api/v1/events?collections=posts`, {
      agent: false,
      localAddress: `127.0.0.${2 + Math.floor(index / perAddress)}`,
      headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' },
    })
    sent.on('error', reject)
    sent.on('response', answer => {
      if (answer.statusCode !== 200)
        return reject(new Error(`A listener was refused with ${answer.statusCode}.`))
      audience.streams.push(answer)
      answer.on('error', () => {})
      answer.on('data', (part: Buffer) => {
        if (part.includes('data: ')) audience.onEvent()
      })
      resolve()
    })
    sent.end()
  })
}

async function gather({ origin }: Running, key: string, count: number): Promise<Audience> {
  const audience: Audience = { streams: [], onEvent: () => {} }
  while (audience.streams.length < count) {
    const from = audience.streams.length
    const next = Math.min(openedAtOnce, count - from)
    await Promise.all(Array.from({ length: next }, (_, index) => join(origin, key, from + index, audience)))
  }
  return audience
}

/** The latency of one new post for each listener, in milliseconds. */
async function latencies(audience: Audience, create: () => Promise<void>): Promise<readonly number[]> {
  const latenciesMs: number[] = []
  const start = performance.now()
  const { promise, resolve } = Promise.withResolvers<void>()
  audience.onEvent = () => {
    latenciesMs.push(performance.now() - start)
    if (latenciesMs.length === audience.streams.length) resolve()
  }
  await Promise.all([create(), promise])
  return latenciesMs
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

async function fanOutTo(listeners: number, data: DataSet, events: number): Promise<FanOut> {
  const work = copyOf(data)
  const running = await startPortico(work.data.database, {
    PORTICO_QUOTAS: 'subscriptions=100000, connections=100000',
    PORTICO_MAX_CONNECTIONS: '100000',
  })
  const create = async () => {
    const headers = { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' }
    const answer = await fetch(`${running.origin}/api/v1/posts`, {
      method: 'POST',
      headers,
      body: '{"title":"to all"}',
    })
    await answer.arrayBuffer()
    if (answer.status !== 201) throw new Error(`The post was refused with ${answer.status}.`)
  }
  try {
    // The first listener loads modules, which are not part of the cost per listener.
    const first = await gather(running, data.key, 1)
    await latencies(first, create)
    for (const stream of first.streams) stream.destroy()
    await wait(500)
    const before = residentMiB(running.pid) ?? 0
    const audience = await gather(running, data.key, listeners)
    await wait(1000)
    const kibEach = (((residentMiB(running.pid) ?? 0) - before) * 1024) / listeners
    const all: number[] = []
    for (let event = 0; event < events; event++) {
      all.push(...(await latencies(audience, create)))
      await wait(50)
    }
    for (const stream of audience.streams) stream.destroy()
    all.sort((a, b) => a - b)
    return { listeners, p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99), kibEach }
  } finally {
    await running.stop()
    await work.remove()
  }
}

export async function measureFanOut(sizes: readonly number[], events: number): Promise<readonly FanOut[]> {
  const data = await dataSet(1000)
  const results: FanOut[] = []
  for (const size of sizes) results.push(await fanOutTo(size, data, events))
  return results
}

export function fanOutTable(fanOuts: readonly FanOut[]): string {
  return [
    'One created post to listeners over server-sent events, from its request to each listener:',
    '',
    '| listeners | ms, p50 | ms, p99 | KiB a listener |',
    '|---|---|---|---|',
    ...fanOuts.map(({ listeners, p50Ms, p99Ms, kibEach }) => {
      return `| ${[listeners.toLocaleString('en'), p50Ms.toFixed(1), p99Ms.toFixed(1), Math.round(kibEach)].join(' | ')} |`
    }),
  ].join('\n')
}
