/** What nodes share by Redis, or by what speaks its protocol. Nothing that is kept there would be missed. */
import { randomUUID } from 'node:crypto'
import type { Cluster } from './cluster.ts'
import type { MemoryCounters } from './memory.ts'
import { RedisCounters } from './redis-counters.ts'
import { Line, redisOptions } from './redis-line.ts'

export interface RedisClusterOptions {
  /** `redis://`, `rediss://` or `unix://`. */
  readonly url: string
  /** Before every key and channel. */
  readonly prefix: string
  /** How long a request may wait for Redis, in milliseconds. */
  readonly timeout: number
  /** Counts where Redis is away. */
  readonly memory?: MemoryCounters | undefined
  /** Once when it is lost, once when it is back. */
  readonly onLost: (reason: string) => void
  readonly onBack: () => void
}

/** How long a start waits for Redis, in milliseconds. */
const FIRST = 1000

const AWAY = 'Redis is away: every node counts limits for itself and looks for events again and again.'

/** Resolves when Redis answers, or when it has not for a second: the service runs without it too. */
export async function redisCluster(options: RedisClusterOptions): Promise<Cluster> {
  const cluster = new RedisCluster(options)
  await cluster.first()
  return cluster
}

class RedisCluster implements Cluster {
  readonly counters: RedisCounters
  readonly #options: RedisClusterOptions
  /** Who we are, in the messages. */
  readonly #id = randomUUID()
  readonly #channel: string
  readonly #commands: Line
  readonly #messages: Line
  readonly #listeners = new Set<() => void>()
  #isOpen = false
  #isLost = false
  #isTold = false
  #isToldOf = false
  readonly #counts = { losses: 0, wakesSent: 0, wakesReceived: 0 }

  constructor(options: RedisClusterOptions) {
    const { url, prefix, timeout, memory } = options
    this.#options = options
    this.#channel = `${prefix}wake`
    this.counters = new RedisCounters(() => this.#commands, prefix, memory)
    const connection = redisOptions(url)
    this.#commands = new Line(connection, {
      timeout,
      probe: client => this.counters.probe(client),
      onChange: () => this.#change(),
    })
    RedisCounters.prepare(this.#commands.client)
    this.#messages = new Line(connection, {
      timeout,
      // Subscribing again changes nothing.
      probe: client => client.subscribe(this.#channel),
      // What was said meanwhile, nobody has heard.
      onChange: isUp => {
        if (isUp) this.#tell()
        this.#change()
      },
    })
    this.#messages.client.on('message', (_channel, from) => this.#hear(from))
  }

  async first(): Promise<void> {
    await Promise.all([this.#commands.first(FIRST), this.#messages.first(FIRST)])
    this.#isOpen = true
    this.#change()
  }

  /** One message for all commits of a turn, and the next one when it is sent. */
  wake(): void {
    if (this.#isTold || !this.#commands.isUp) return
    this.#isTold = true
    setImmediate(() => {
      // What is committed from now on is not in this message, whether it can be sent or not.
      this.#isTold = false
      this.#counts.wakesSent++
      this.#commands.ask(client => client.publish(this.#channel, this.#id)).catch(() => {})
    })
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  trouble(): string | undefined {
    return this.#commands.isUp && this.#messages.isUp ? undefined : AWAY
  }

  counts = () => ({ ...this.#counts, ...this.counters.counts })

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#commands.close()
    this.#messages.close()
  }

  #hear(from: string): void {
    if (from === this.#id) return
    this.#counts.wakesReceived++
    this.#tell()
  }

  /** Once for all messages of a turn. */
  #tell(): void {
    if (this.#isToldOf) return
    this.#isToldOf = true
    setImmediate(() => {
      this.#isToldOf = false
      for (const listener of this.#listeners) listener()
    })
  }

  #change(): void {
    const lost = [this.#commands, this.#messages].find(({ isUp }) => !isUp)
    if (!this.#isOpen || (lost !== undefined) === this.#isLost) return
    this.#isLost = lost !== undefined
    if (lost) {
      this.#counts.losses++
      this.#options.onLost(lost.reason)
    } else this.#options.onBack()
  }
}
