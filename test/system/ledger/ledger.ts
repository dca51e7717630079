/**
 * Writers, and subscribers that are disconnected at random while nodes are killed. At the end the events of every
 * subscriber are compared with the log, and the log with the acknowledged writes.
 */
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { generateKey } from '../../../src/identity/keys/key.ts'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { newDatabase } from '../../setups/databases/postgres.ts'
import { RedisServer } from '../../setups/databases/redis.ts'
import { secretKey } from '../../setups/postgres.ts'
import { type NodeCluster, startCluster } from '../nodes/cluster.ts'
import type { Node } from '../nodes/node.ts'
import { type AcknowledgedWrite, compareLog, type EntryEvent, type Kind, ReceivedEvents } from './checker.ts'
import { entryEvent, type Listener, listen, type Nodes, type StreamTransport } from './connections.ts'
import { Receiver } from './receiver.ts'
import { Writer } from './writers.ts'

export interface LedgerOptions {
  readonly database: 'SQLite' | 'PostgreSQL'
  /** The number of writes. */
  readonly events: number
  readonly listeners: number
  /** The transports of the subscribers, in turn. */
  readonly transports: readonly Transport[]
  readonly cuts: number
  readonly kills: number
  readonly writers: number
  /** The time without new events at the end, in milliseconds, after which missing events count as lost. */
  readonly idleTimeoutMs: number
  readonly onProgress?: (text: string) => void
}

export interface LedgerReport {
  readonly faults: readonly string[]
  readonly faultCount: number
  readonly written: number
  readonly repeatedWrites: number
  readonly cuts: number
  readonly kills: number
  readonly seconds: number
  /** By transport: its subscribers, their events, and the repeated ones. */
  readonly transports: Readonly<Record<string, { listeners: number; received: number; repeated: number }>>
}

export type Transport = StreamTransport | 'webhook'

const allKinds: readonly Kind[] = ['created', 'updated', 'deleted']
/**
 * Subscribers over these get one kind each: a subscription has one field, and each webhook event is its own request.
 */
const ofOneKind: readonly Transport[] = ['WebSocket', 'webhook']

/** A deployment of nodes, each of which can be killed and restarted separately. */
interface Deployment {
  readonly cluster: NodeCluster
  close(): Promise<void>
}

const unlimited: GivenSettings = {
  rateLimit: 'off',
  webhooks: { allowPrivate: true },
  quotas: { webhooks: 10_000, subscriptions: 100_000, connections: 100_000 },
}

async function openDeployment(database: LedgerOptions['database'], key: string): Promise<Deployment> {
  const model = join(import.meta.dirname, 'model.ts')
  const environment = { PORTICO_ADMIN_API_KEY: key }
  if (database === 'SQLite') {
    const cluster = await startCluster({ model, nodes: 1, settings: unlimited, environment })
    return { cluster, close: () => cluster.close() }
  }
  const [{ url, drop }, redis] = await Promise.all([newDatabase(), RedisServer.start()])
  const settings = {
    database: url,
    databaseConnections: 6,
    secretKeys: [secretKey],
    redis: { url: redis.url },
  }
  const release = async () => void (await Promise.all([drop(), redis.remove()]))
  try {
    const cluster = await startCluster({
      model,
      nodes: 3,
      settings: { ...unlimited, ...settings },
      environment,
    })
    const close = async () => {
      await cluster.close()
      await release()
    }
    return { cluster, close }
  } catch (error) {
    await release()
    throw error
  }
}

async function createWebhook({ url, key }: Nodes, target: string, kinds: readonly Kind[]): Promise<void> {
  const answer = await fetch(`${url()}/api/v1/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: target, types: kinds.map(kind => `entry.${kind}`) }),
  })
  if (answer.status !== 201) throw new Error(`The webhook was not created: ${await answer.text()}`)
}

async function openListeners(
  { listeners: count, transports }: LedgerOptions,
  nodes: Nodes,
  receiver: Receiver,
): Promise<readonly Listener[]> {
  const listeners: Listener[] = []
  for (let index = 0; index < count; index++) {
    const transport = transports[index % transports.length] ?? 'webhook'
    const kinds = ofOneKind.includes(transport)
      ? [allKinds[Math.floor(index / transports.length) % 3] ?? 'created']
      : allKinds
    const received = new ReceivedEvents(transport, kinds)
    if (transport === 'webhook') {
      const { url, listener } = receiver.add(received)
      await createWebhook(nodes, url, kinds)
      listeners.push(listener)
    } else listeners.push(listen(transport, received, nodes))
  }
  return listeners
}

async function killAndStart(node: Node): Promise<void> {
  await node.kill()
  await wait(randomInt(200))
  await node.start()
}

/** Calls `act` `times` times, distributed evenly over the writes. */
function distributed(times: number, events: number, action: () => void): (written: number) => void {
  let completed = 0
  return written => {
    while (completed < times && written > ((completed + 1) * events) / (times + 1)) {
      completed += 1
      action()
    }
  }
}

/** Every event in the log. */
async function readLog({ url, key }: Nodes): Promise<readonly EntryEvent[]> {
  const log: EntryEvent[] = []
  const headers = { Authorization: `Bearer ${key}` }
  for (let after = '0'; ; ) {
    const answer = await fetch(`${url()}/api/v1/events?collections=entries&limit=1000&after=${after}`, {
      headers,
    })
    if (!answer.ok) throw new Error(`The log cannot be read: ${await answer.text()}`)
    const { data, meta } = (await answer.json()) as {
      data: Parameters<typeof entryEvent>[0][]
      meta: { next_after: string; has_more: boolean }
    }
    log.push(...data.map(entryEvent))
    if (!meta.has_more) return log
    after = meta.next_after
  }
}

/** Waits until every subscriber has all events, or none gets new ones. */
async function untilReceived(
  listeners: readonly Listener[],
  log: readonly EntryEvent[],
  idleTimeoutMs: number,
): Promise<void> {
  const waiting = new Set(listeners.map(({ received }) => received))
  const expected = Map.groupBy(log, ({ kind }) => kind)
  let count = 0
  let changedAt = performance.now()
  while (waiting.size > 0 && performance.now() - changedAt < idleTimeoutMs) {
    for (const received of waiting) if (received.isComplete(expected)) waiting.delete(received)
    const now = listeners.reduce((sum, { received }) => sum + received.count, 0)
    if (now !== count) changedAt = performance.now()
    count = now
    await wait(100)
  }
}

function transportsOf(
  transports: readonly Transport[],
  listeners: readonly Listener[],
): LedgerReport['transports'] {
  return Object.fromEntries(
    [...new Set(transports)].map(name => {
      const all = listeners.map(({ received }) => received).filter(received => received.name === name)
      const sum = (count: (received: ReceivedEvents) => number) =>
        all.reduce((total, received) => total + count(received), 0)
      return [
        name,
        {
          listeners: all.length,
          received: sum(received => received.count),
          repeated: sum(received => received.repeated),
        },
      ]
    }),
  )
}

interface Disturbance {
  readonly written: readonly AcknowledgedWrite[]
  readonly repeated: number
  readonly cuts: number
  readonly kills: number
}

/** Runs the writes with the cuts and kills between them. Returns the acknowledged ones. */
async function writeWithDisturbance(
  options: LedgerOptions,
  { nodes }: NodeCluster,
  target: Nodes,
  listeners: readonly Listener[],
): Promise<Disturbance> {
  const written: AcknowledgedWrite[] = []
  const counts = { repeated: 0, cuts: 0, kills: 0 }
  let killing: Promise<void> = Promise.resolve()
  const cut = distributed(options.cuts, options.events, () => {
    listeners[randomInt(listeners.length)]?.cut()
    counts.cuts += 1
  })
  const kill = distributed(options.kills, options.events, () => {
    killing = killing.then(async () => {
      const node = nodes[randomInt(nodes.length)]
      if (node === undefined) return
      await killAndStart(node)
      counts.kills += 1
    })
  })
  let begun = 0
  const work = async () => {
    const writer = new Writer(target, counts, event => {
      written.push(event)
      cut(written.length)
      kill(written.length)
      if (written.length % 10_000 === 0) options.onProgress?.(`${written.length} writes`)
    })
    while (begun < options.events) {
      begun += 1
      await writer.write()
    }
  }
  await Promise.all(Array.from({ length: options.writers }, work))
  await killing
  return { ...counts, written }
}

/** Runs everything. Faults are in the report; throws if something could not be tested. */
export async function runLedger(options: LedgerOptions): Promise<LedgerReport> {
  const key = generateKey()
  const { cluster, close } = await openDeployment(options.database, key)
  const receiver = new Receiver()
  await receiver.start()
  let turn = 0
  const target = { key, url: () => cluster.node(turn++).url }
  let listeners: readonly Listener[] = []
  try {
    listeners = await openListeners(options, target, receiver)
    const start = performance.now()
    const { written, repeated, cuts, kills } = await writeWithDisturbance(options, cluster, target, listeners)
    const log = await readLog(target)
    options.onProgress?.(`${log.length} events in the log`)
    await untilReceived(listeners, log, options.idleTimeoutMs)
    const seconds = (performance.now() - start) / 1000
    await Promise.all(listeners.map(listener => listener.end()))
    const faults = [compareLog(log, written), ...listeners.map(({ received }) => received.compare(log))]
    return {
      faults: faults.flatMap(fault => fault.listed).slice(0, 50),
      faultCount: faults.reduce((sum, { count }) => sum + count, 0),
      written: written.length,
      repeatedWrites: repeated,
      cuts,
      kills,
      seconds,
      transports: transportsOf(options.transports, listeners),
    }
  } finally {
    await Promise.all(listeners.map(listener => listener.end()))
    await receiver.close()
    await close()
  }
}
