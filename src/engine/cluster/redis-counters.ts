/** Rate counters shared by all nodes. Without Redis, each node counts by itself, starting from the last counts it received. */
import type { Redis } from 'ioredis'
import { type Budget, defaultWindowSeconds, type RateCounters } from './cluster.ts'
import { type MemoryCounters, memoryCounters } from './memory-counters.ts'

/**
 * KEYS: one for each take. ARGV: limit, cost and window of each; a negative cost gives back. Returns for each take whether it
 * was granted, how much is used, and when the window ends. All nodes have the same windows, whatever their clocks, because
 * the time is that of Redis.
 */
const script = `
local time = redis.call('TIME')
local now = tonumber(time[1])
local nowMs = now * 1000 + math.floor(tonumber(time[2]) / 1000)
local answers = {}
for i, key in ipairs(KEYS) do
  local limit, cost, window = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local windowEnd = now - now % window + window
  local used = tonumber(redis.call('GET', key) or '0')
  -- The expiry is more than a window away: the clock was set back.
  if used > 0 and redis.call('PTTL', key) > window * 1000 then used = 0 end
  local total = math.max(0, used + cost)
  local granted = cost < 0 or total <= limit
  if granted then
    used = total
    redis.call('SET', key, string.format('%.0f', used), 'PX', math.max(1, windowEnd * 1000 - nowMs))
  end
  answers[3 * i - 2] = granted and 1 or 0
  answers[3 * i - 1] = used
  answers[3 * i] = windowEnd
end
return answers
`

interface Take {
  readonly key: string
  readonly limit: number
  readonly cost: number
  readonly windowSeconds: number
  /** Undefined if nobody waits for the answer. */
  readonly settle: ((budget: Budget) => void) | undefined
}

/** How the counters reach Redis. */
export interface RedisLink {
  readonly isUp: boolean
  send<T>(command: (client: Redis) => Promise<T>): Promise<T>
}

type ScriptedRedis = Redis & { drawAll(keys: number, ...args: (string | number)[]): Promise<number[]> }

/** The maximum number of takes in one script call: Redis does nothing else while it runs. */
const maxBatch = 500
/** The maximum number of takes that wait for Redis. Further takes are counted by this node. */
const maxPendingTakes = 10_000

export class RedisCounters implements RateCounters {
  readonly #redis: () => RedisLink
  readonly #prefix: string
  readonly #memory: MemoryCounters
  #queue: Take[] = []
  #pendingTakes = 0
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
      { key: 'probe', limit: 1, cost: 0, windowSeconds: defaultWindowSeconds, settle: undefined },
    ])
  }

  take(
    key: string,
    limit: number,
    cost: number,
    windowSeconds = defaultWindowSeconds,
  ): Budget | Promise<Budget> {
    if (!this.#redis().isUp || this.#pendingTakes >= maxPendingTakes)
      return this.#takeLocally(key, limit, cost, windowSeconds)
    return new Promise(settle => this.#enqueue({ key, limit, cost, windowSeconds, settle }))
  }

  give(key: string, cost: number, windowSeconds = defaultWindowSeconds): void {
    this.#memory.give(key, cost, windowSeconds)
    if (!this.#redis().isUp || this.#pendingTakes >= maxPendingTakes) return
    this.#enqueue({ key, limit: 0, cost: -cost, windowSeconds, settle: undefined })
  }

  #takeLocally(key: string, limit: number, cost: number, windowSeconds: number): Budget {
    this.counts.localChecks++
    return this.#memory.take(key, limit, cost, windowSeconds)
  }

  /** The takes of one turn of the event loop are sent together. */
  #enqueue(take: Take): void {
    this.#pendingTakes++
    if (this.#queue.push(take) === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const queue = this.#queue
    this.#queue = []
    for (let i = 0; i < queue.length; i += maxBatch) void this.#drawAll(queue.slice(i, i + maxBatch))
  }

  async #drawAll(takes: readonly Take[]): Promise<void> {
    this.counts.roundTrips++
    try {
      this.#settle(takes, await this.#redis().send(client => this.#send(client, takes)))
    } catch {
      for (const { key, limit, cost, windowSeconds, settle } of takes) {
        settle?.({ ...this.#takeLocally(key, limit, cost, windowSeconds) })
      }
    }
    this.#pendingTakes -= takes.length
  }

  #send(client: Redis, takes: readonly Take[]): Promise<number[]> {
    const keys = takes.map(({ key, windowSeconds }) => `${this.#prefix}rate:${windowSeconds}:${key}`)
    const args = takes.flatMap(({ limit, cost, windowSeconds }) => [limit, cost, windowSeconds])
    return (client as ScriptedRedis).drawAll(keys.length, ...keys, ...args)
  }

  #settle(takes: readonly Take[], answers: readonly number[]): void {
    takes.forEach(({ key, limit, windowSeconds, settle }, index) => {
      const [granted = 0, used = 0, resetAt = 0] = answers.slice(3 * index, 3 * index + 3)
      this.#memory.setUsed(key, used, resetAt, windowSeconds)
      settle?.({ limit, remaining: Math.max(0, limit - used), resetAt, granted: granted === 1 })
    })
  }
}
