/** A cluster on Redis, or on a server that speaks its protocol. Nothing stored there needs to be durable. */
import { randomUUID } from 'node:crypto'
import type { Cluster } from './cluster.ts'
import type { MemoryCounters } from './memory-counters.ts'
import { RedisConnection, redisOptions } from './redis-connection.ts'
import { RedisCounters } from './redis-counters.ts'

export interface RedisClusterOptions {
  /** `redis://`, `rediss://` or `unix://`. */
  readonly url: string
  /** The prefix of every key and channel. */
  readonly prefix: string
  /** How long a request may wait for Redis. */
  readonly timeoutMs: number
  /** Counts during an outage of Redis. */
  readonly memory?: MemoryCounters | undefined
  /**
   * Called when Redis is lost, and again if it then refuses this node for a reason of its own. `onBack` is called once when it
   * is back.
   */
  readonly onLost: (reason: string) => void
  readonly onBack: () => void
}

/** How long a start waits for Redis. */
const startTimeoutMs = 1000

const outageMessage = 'Redis is unavailable: every node counts rate limits by itself and polls for events.'

/** Resolves when Redis answers, or after a second without an answer: the service also runs without it. */
export async function redisCluster(options: RedisClusterOptions): Promise<Cluster> {
  const cluster = new RedisCluster(options)
  await cluster.open()
  return cluster
}

class RedisCluster implements Cluster {
  readonly counters: RedisCounters
  readonly #options: RedisClusterOptions
  /** This node's id in messages. */
  readonly #id = randomUUID()
  readonly #channel: string
  readonly #commands: RedisConnection
  readonly #messages: RedisConnection
  readonly #listeners = new Set<() => void>()
  #isOpen = false
  #isLost = false
  #isSendScheduled = false
  #isNotifyScheduled = false
  readonly #counts = { disconnections: 0, notificationsSent: 0, notificationsReceived: 0 }

  constructor(options: RedisClusterOptions) {
    const { url, prefix, timeoutMs, memory } = options
    this.#options = options
    this.#channel = `${prefix}wake`
    this.counters = new RedisCounters(() => this.#commands, prefix, memory)
    const connection = redisOptions(url)
    this.#commands = new RedisConnection(connection, {
      timeoutMs,
      probe: client => this.counters.probe(client),
      onChange: () => this.#updateState(),
      onRefused: reason => {
        if (this.#isLost) options.onLost(reason)
      },
    })
    RedisCounters.prepare(this.#commands.client)
    this.#messages = new RedisConnection(connection, {
      timeoutMs,
      // Subscribing again changes nothing.
      probe: client => client.subscribe(this.#channel),
      // Notifications that were sent during the outage are lost.
      onChange: isUp => {
        if (isUp) this.#notifyListeners()
        this.#updateState()
      },
    })
    this.#messages.client.on('message', (_channel, from) => this.#onMessage(from))
  }

  async open(): Promise<void> {
    await Promise.all([
      this.#commands.waitUntilUp(startTimeoutMs),
      this.#messages.waitUntilUp(startTimeoutMs),
    ])
    this.#isOpen = true
    this.#updateState()
  }

  /** One message for all commits of a turn of the event loop. */
  wake(): void {
    if (this.#isSendScheduled || !this.#commands.isUp) return
    this.#isSendScheduled = true
    setImmediate(() => {
      // Reset before sending: a commit from now on needs another message, even if this one cannot be sent.
      this.#isSendScheduled = false
      this.#counts.notificationsSent++
      this.#commands.send(client => client.publish(this.#channel, this.#id)).catch(() => {})
    })
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  trouble(): string | undefined {
    return this.#commands.isUp && this.#messages.isUp ? undefined : outageMessage
  }

  counts = () => ({ ...this.#counts, ...this.counters.counts })

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#commands.close()
    this.#messages.close()
  }

  #onMessage(from: string): void {
    if (from === this.#id) return
    this.#counts.notificationsReceived++
    this.#notifyListeners()
  }

  /** Once for all messages of a turn of the event loop. */
  #notifyListeners(): void {
    if (this.#isNotifyScheduled) return
    this.#isNotifyScheduled = true
    setImmediate(() => {
      this.#isNotifyScheduled = false
      for (const listener of this.#listeners) listener()
    })
  }

  #updateState(): void {
    const lost = [this.#commands, this.#messages].find(({ isUp }) => !isUp)
    if (!this.#isOpen || (lost !== undefined) === this.#isLost) return
    this.#isLost = lost !== undefined
    if (lost) {
      this.#counts.disconnections++
      this.#options.onLost(lost.reason)
    } else this.#options.onBack()
  }
}
