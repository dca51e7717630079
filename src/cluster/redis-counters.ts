/** Rate counters shared by all nodes. Without Redis, each node counts by itself, from the last counts that it knows. */
import type { Redis } from 'ioredis'
import { type Budget, defaultWindowSeconds, type RateCounters } from './cluster.ts'
import { type MemoryCounters, memoryCounters } from './memory-counters.ts'

/**
 * KEYS: one for each take. ARGV: limit, cost and window of each; a cost below 0 gives back. Returns for each whether it was
 * granted, what is used, and when the window ends. The time is that of Redis, so that all nodes have the same windows,
 * whatever their clocks.
 */
const script = `
local time = redis.call('TIME')
local now = tonumber(time[1])
local ms = now * 1000 + math.floor(tonumber(time[2]) / 1000)
local answers = {}
for at, key in ipairs(KEYS) do
  local limit, cost, window = tonumber(ARGV[3 * at - 2]), tonumber(ARGV[3 * at - 1]), tonumber(ARGV[3 * at])
  local ends = now - now % window + window
  local used = tonumber(redis.call('GET', key) or '0')
  -- The expiry is more than a window away: the clock was set back.
  if used > 0 and redis.call('PTTL', key) > window * 1000 then used = 0 end
  local after = math.max(0, used + cost)
  local granted = cost < 0 or after <= limit
  if granted then
    used = after
    redis.call('SET', key, string.format('%.0f', used), 'PX', math.max(1, ends * 1000 - ms))
  end
  answers[3 * at - 2] = granted and 1 or 0
  answers[3 * at - 1] = used
  answers[3 * at] = ends
end
return answers
`

interface Take {
  readonly key: string
  readonly limit: number
  readonly cost: number
  readonly window: number
  /** Undefined if nobody waits for the answer. */
  readonly settle: ((budget: Budget) => void) | undefined
}

/** How the counters reach Redis. */
export interface RedisLink {
  readonly isUp: boolean
  ask<T>(send: (client: Redis) => Promise<T>): Promise<T>
}

type Scripted = Redis & { drawAll(keys: number, ...args: (string | number)[]): Promise<number[]> }

/** The most takes of one script: Redis does nothing else while it runs. */
const maxBatch = 500
/** The most takes that wait for Redis: the queue is bounded, and further takes are counted here. */
const maxPendingTakes = 10_000

export class RedisCounters implements RateCounters {
  readonly #redis: () => RedisLink
  readonly #prefix: string
  readonly #memory: MemoryCounters
  #queue: Take[] = []
  #waiting = 0
  readonly counts = { localChecks: 0, roundTrips: 0 }

  constructor(redis: () => RedisLink, prefix: string, memory = memoryCounters()) {
    this.#redis = redis
    this.#prefix = prefix
    this.#memory = memory
  }

  /** Call it before the first take on a connection. */
  static prepare(client: Redis): void {
    client.defineCommand('drawAll', { lua: script })
  }

  /** Takes nothing, but runs the same script, so that a server that refuses writes fails the probe. */
  probe(client: Redis): Promise<unknown> {
    return this.#send(client, [
      { key: 'probe', limit: 1, cost: 0, window: defaultWindowSeconds, settle: undefined },
    ])
  }

  take(key: string, limit: number, cost: number, window = defaultWindowSeconds): Budget | Promise<Budget> {
    if (!this.#redis().isUp || this.#waiting >= maxPendingTakes) return this.#alone(key, limit, cost, window)
    return new Promise(settle => this.#enqueue({ key, limit, cost, window, settle }))
  }

  give(key: string, cost: number, window = defaultWindowSeconds): void {
    this.#memory.give(key, cost, window)
    if (!this.#redis().isUp || this.#waiting >= maxPendingTakes) return
    this.#enqueue({ key, limit: 0, cost: -cost, window, settle: undefined })
  }

  #alone(key: string, limit: number, cost: number, window: number): Budget {
    this.counts.localChecks++
    return this.#memory.take(key, limit, cost, window)
  }

  /** The takes of one turn of the event loop are sent together. */
  #enqueue(take: Take): void {
    this.#waiting++
    if (this.#queue.push(take) === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const queue = this.#queue
    this.#queue = []
    for (let at = 0; at < queue.length; at += maxBatch) void this.#drawAll(queue.slice(at, at + maxBatch))
  }

  async #drawAll(takes: readonly Take[]): Promise<void> {
    this.counts.roundTrips++
    try {
      this.#settle(takes, await this.#redis().ask(client => this.#send(client, takes)))
    } catch {
      for (const { key, limit, cost, window, settle } of takes) {
        settle?.({ ...this.#alone(key, limit, cost, window) })
      }
    }
    this.#waiting -= takes.length
  }

  #send(client: Redis, takes: readonly Take[]): Promise<number[]> {
    const keys = takes.map(({ key, window }) => `${this.#prefix}rate:${window}:${key}`)
    const args = takes.flatMap(({ limit, cost, window }) => [limit, cost, window])
    return (client as Scripted).drawAll(keys.length, ...keys, ...args)
  }

  #settle(takes: readonly Take[], answers: readonly number[]): void {
    takes.forEach(({ key, limit, window, settle }, at) => {
      const [granted = 0, used = 0, resetAt = 0] = answers.slice(3 * at, 3 * at + 3)
      this.#memory.note(key, used, resetAt, window)
      settle?.({ limit, remaining: Math.max(0, limit - used), resetAt, granted: granted === 1 })
    })
  }
}
