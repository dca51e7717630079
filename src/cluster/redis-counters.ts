/** Rate counters over all nodes. Without Redis each node goes on counting for itself, from what it heard last. */
import type { Redis } from 'ioredis'
import { type Budget, type RateCounters, WINDOW } from './cluster.ts'
import { type MemoryCounters, memoryCounters } from './memory.ts'

/**
 * KEYS: one for each draw. ARGV: limit, cost and window of each; a cost below 0 gives back. Answers for each
 * whether it was granted, what is used, and when the window ends. The time is Redis's, so that a window is the
 * same for all nodes whatever their clocks say.
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
  -- Longer than a window: the clock was set back.
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

interface Draw {
  readonly key: string
  readonly limit: number
  readonly cost: number
  readonly window: number
  /** Undefined where nobody waits for the answer. */
  readonly settle: ((budget: Budget) => void) | undefined
}

/** How the counters reach Redis. */
export interface Asked {
  readonly isUp: boolean
  ask<T>(send: (client: Redis) => Promise<T>): Promise<T>
}

type Scripted = Redis & { drawAll(keys: number, ...args: (string | number)[]): Promise<number[]> }

/** Draws of one script: Redis does nothing else meanwhile. */
const BATCH = 500
/** Draws that wait for an answer. More are counted here, rather than grow without end. */
const MOST_WAITING = 10_000

export class RedisCounters implements RateCounters {
  readonly #line: () => Asked
  readonly #prefix: string
  readonly #memory: MemoryCounters
  #queue: Draw[] = []
  #waiting = 0
  readonly counts = { localDraws: 0, roundTrips: 0 }

  constructor(line: () => Asked, prefix: string, memory = memoryCounters()) {
    this.#line = line
    this.#prefix = prefix
    this.#memory = memory
  }

  /** Before the first draw over a connection. */
  static prepare(client: Redis): void {
    client.defineCommand('drawAll', { lua: script })
  }

  /** Draws nothing, in the way of every draw: a server that takes no writes is of no use. */
  probe(client: Redis): Promise<unknown> {
    return this.#send(client, [{ key: 'probe', limit: 1, cost: 0, window: WINDOW, settle: undefined }])
  }

  take(key: string, limit: number, cost: number, window = WINDOW): Budget | Promise<Budget> {
    if (!this.#line().isUp || this.#waiting >= MOST_WAITING) return this.#alone(key, limit, cost, window)
    return new Promise(settle => this.#enqueue({ key, limit, cost, window, settle }))
  }

  give(key: string, cost: number, window = WINDOW): void {
    this.#memory.give(key, cost, window)
    if (!this.#line().isUp || this.#waiting >= MOST_WAITING) return
    this.#enqueue({ key, limit: 0, cost: -cost, window, settle: undefined })
  }

  #alone(key: string, limit: number, cost: number, window: number): Budget {
    this.counts.localDraws++
    return this.#memory.take(key, limit, cost, window)
  }

  /** What one turn of the event loop draws, goes together. */
  #enqueue(draw: Draw): void {
    this.#waiting++
    if (this.#queue.push(draw) === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const queue = this.#queue
    this.#queue = []
    for (let at = 0; at < queue.length; at += BATCH) void this.#drawAll(queue.slice(at, at + BATCH))
  }

  async #drawAll(draws: readonly Draw[]): Promise<void> {
    this.counts.roundTrips++
    try {
      this.#settle(draws, await this.#line().ask(client => this.#send(client, draws)))
    } catch {
      for (const { key, limit, cost, window, settle } of draws) {
        settle?.({ ...this.#alone(key, limit, cost, window) })
      }
    }
    this.#waiting -= draws.length
  }

  #send(client: Redis, draws: readonly Draw[]): Promise<number[]> {
    const keys = draws.map(({ key, window }) => `${this.#prefix}rate:${window}:${key}`)
    const args = draws.flatMap(({ limit, cost, window }) => [limit, cost, window])
    return (client as Scripted).drawAll(keys.length, ...keys, ...args)
  }

  #settle(draws: readonly Draw[], answers: readonly number[]): void {
    draws.forEach(({ key, limit, window, settle }, at) => {
      const [granted = 0, used = 0, resetAt = 0] = answers.slice(3 * at, 3 * at + 3)
      this.#memory.note(key, used, resetAt, window)
      settle?.({ limit, remaining: Math.max(0, limit - used), resetAt, granted: granted === 1 })
    })
  }
}
