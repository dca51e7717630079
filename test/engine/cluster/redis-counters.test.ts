/** Counters in Redis, without Redis: the scripts that are sent, and local counting while Redis is unavailable. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { memoryCounters } from '../../../src/engine/cluster/memory-counters.ts'
import { RedisCounters } from '../../../src/engine/cluster/redis-counters.ts'

const now = 1_800_000_000_000
const end = now / 1000 + 60

/** The arguments of one script: the keys, and the limit, cost and window of each. */
interface Script {
  readonly keys: readonly string[]
  readonly args: readonly number[]
}

function open() {
  const state = { isUp: true, fails: false, used: 0 }
  const scripts: Script[] = []
  const drawAll = async (count: number, ...all: (string | number)[]) => {
    if (state.fails) throw new Error('away')
    const [keys, args] = [all.slice(0, count).map(String), all.slice(count).map(Number)]
    scripts.push({ keys, args })
    return keys.flatMap((_, index) => [
      state.used + index < Number(args[3 * index]) ? 1 : 0,
      state.used + index,
      end,
    ])
  }
  const memory = memoryCounters({ now: () => now })
  const connection = {
    get isUp() {
      return state.isUp
    },
    send: <T>(send: (client: Redis) => Promise<T>) => send({ drawAll } as unknown as Redis),
  }
  return { state, scripts, memory, counters: new RedisCounters(() => connection, 'p:', memory) }
}

test('the draws of one turn are sent in one script, and each gets its own result', async () => {
  const { counters, scripts } = open()
  const budgets = await Promise.all([
    counters.take('a', 2, 1),
    counters.take('b', 2, 5, 900),
    counters.take('c', 2, 1),
  ])
  assert.deepEqual(scripts, [
    { keys: ['p:rate:60:a', 'p:rate:900:b', 'p:rate:60:c'], args: [2, 1, 60, 2, 5, 900, 2, 1, 60] },
  ])
  assert.deepEqual(budgets, [
    { limit: 2, remaining: 2, resetAt: end, granted: true },
    { limit: 2, remaining: 1, resetAt: end, granted: true },
    { limit: 2, remaining: 0, resetAt: end, granted: false },
  ])
})

test('more draws than fit into one script are sent in several', async () => {
  const { counters, scripts } = open()
  const draws = Array.from({ length: 1200 }, (_, n) => counters.take(`k${n}`, 10_000, 1))
  assert.equal((await Promise.all(draws)).length, 1200)
  assert.deepEqual(
    scripts.map(({ keys }) => keys.length),
    [500, 500, 200],
  )
})

test('a refund is sent as a negative cost', async () => {
  const { counters, scripts } = open()
  counters.give('a', 3)
  await turn()
  await turn()
  assert.deepEqual(scripts[0]?.args, [0, -3, 60])
})

test('without Redis a node continues from the last count that it received', async () => {
  const { counters, state } = open()
  state.used = 7
  await counters.take('a', 10, 1)
  state.isUp = false
  assert.equal((await counters.take('a', 10, 1)).remaining, 2)
  assert.equal(counters.counts.localChecks, 1)
})

test('draws that Redis does not answer are counted locally', async () => {
  const { counters, state } = open()
  state.fails = true
  const budgets = await Promise.all([counters.take('a', 1, 1), counters.take('a', 1, 1)])
  assert.deepEqual(
    budgets.map(({ granted }) => granted),
    [true, false],
  )
  assert.equal(counters.counts.localChecks, 2)
})

test('at most 10,000 draws wait for Redis, and answered ones no longer count', async () => {
  const { counters, scripts } = open()
  for (let round = 0; round < 3; round++) {
    const draws = Array.from({ length: 4000 }, () => counters.take('a', 1_000_000, 1))
    await Promise.all(draws)
  }
  assert.equal(counters.counts.localChecks, 0)
  const draws = Array.from({ length: 10_001 }, () => counters.take('a', 1_000_000, 1))
  await Promise.all(draws)
  assert.equal(counters.counts.localChecks, 1)
  assert.equal(scripts.length, 3 * 8 + 20)
})
