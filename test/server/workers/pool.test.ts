/** The worker pool, with threads that crash, hang, or do not start. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../../src/server/config/config.ts'
import type { ToWorker } from '../../../src/server/workers/messages.ts'
import {
  createPool,
  type Pool,
  type PoolOptions,
  type WorkerCrash,
} from '../../../src/server/workers/pool.ts'
import { aliveIndex, sharedMemory, writerIndex } from '../../../src/server/workers/shared-memory.ts'

interface PoolContext {
  readonly pool: Pool
  readonly crashes: WorkerCrash[]
  readonly words: Int32Array
  readonly log: string[]
  /** Waits until the condition holds. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>
}

/** Messages that only the stub understands. */
const [die, hang] = ['die', 'hang'].map(kind => ({ kind }) as unknown as ToWorker) as [ToWorker, ToWorker]

async function withPool(
  use: (context: PoolContext) => Promise<void>,
  overrides: Partial<PoolOptions> = {},
): Promise<void> {
  const memory = sharedMemory(3)
  const words = new Int32Array(memory.file)
  const [crashes, log]: [WorkerCrash[], string[]] = [[], []]
  const settings = { fails: 2 } as unknown as Settings
  const pool = createPool({
    memory,
    thread: new URL('stub-thread.ts', import.meta.url),
    startData: worker => ({ worker, memory, settings, fingerprint: '' }),
    log: text => log.push(text),
    onCrash: crash => crashes.push(crash),
    stopTimeoutMs: 5000,
    restartDelayMs: 20,
    ...overrides,
  })
  const until = async (condition: () => boolean | Promise<boolean>) => {
    for (let tries = 0; !(await condition()); tries++) {
      assert.ok(tries < 12_000, 'the condition never held')
      await sleep(10)
    }
  }
  try {
    await use({ pool, crashes, words, log, until })
  } finally {
    await pool.stop()
  }
}

test('workers report their URL and log, and exchange messages with each other', async () => {
  await withPool(async ({ pool, log, until }) => {
    assert.equal(await pool.start(0), 'http://localhost:9000')
    assert.equal(await pool.start(1), 'http://localhost:9001')
    assert.equal(pool.counts.serving, 2)
    assert.deepEqual(log, ['worker 0\n', 'worker 1\n'])
    await until(async () => {
      const metrics = await pool.metrics()
      return metrics.includes('received{from="1"} 1') && metrics.includes('received{from="0"} 1')
    })
  })
})

test('a worker that cannot start reports its error', async () => {
  await withPool(async ({ pool, crashes }) => {
    await assert.rejects(pool.start(2), { name: 'Sad', message: 'no luck', code: 'EBAD' })
    assert.deepEqual(crashes, [])
    assert.equal(pool.counts.serving, 0)
  })
})

test('a crashed worker is restarted and reconnected, and its lock is released', async () => {
  await withPool(async ({ pool, crashes, words, until }) => {
    await pool.start(0)
    await pool.start(1)
    Atomics.store(words, aliveIndex(1), 1)
    Atomics.store(words, writerIndex, 2)
    pool.send(1, die)
    await until(() => crashes.length === 1)
    assert.equal(crashes[0]?.worker, 1)
    assert.equal(crashes[0]?.error?.name, 'RangeError')
    assert.equal(Atomics.load(words, writerIndex), 0)
    assert.equal(Atomics.load(words, aliveIndex(1)), 0)
    await until(() => pool.counts.serving === 2)
    assert.equal(pool.counts.restarts, 1)
    await until(async () => (await pool.metrics()).includes('received{from="1,1"} 1'))
  })
})

test('the delay before a restart doubles with each crash of a worker', async () => {
  await withPool(async ({ pool, crashes, until }) => {
    await pool.start(0)
    for (const count of [1, 2, 3]) {
      pool.send(0, die)
      await until(() => crashes.length === count)
      await until(() => pool.counts.serving === 1)
    }
    assert.deepEqual(
      crashes.map(({ restartInMs }) => restartInMs),
      [20, 40, 80],
    )
  })
})

function metric(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

test('the counts of a worker are kept when it crashes or does not report in time', async () => {
  await withPool(
    async ({ pool, until }) => {
      await pool.start(0)
      await pool.start(1)
      for (let times = 1; times <= 3; times++) {
        assert.equal(metric(await pool.metrics(), 'reports_total'), 2 * times)
      }
      pool.send(1, die)
      await until(() => pool.counts.restarts === 1 && pool.counts.serving === 2)
      const after = await pool.metrics()
      // Three reports of the crashed worker, four of the other, one of the new one.
      assert.equal(metric(after, 'reports_total'), 8)
      assert.equal(metric(after, 'alive'), 2)
      pool.send(0, hang)
      const late = await pool.metrics()
      assert.equal(metric(late, 'reports_total'), 9)
      assert.equal(metric(late, 'alive'), 2)
    },
    { stopTimeoutMs: 300 },
  )
})

test('a hanging worker delays neither the metrics nor the stop', async () => {
  await withPool(
    async ({ pool }) => {
      await pool.start(0)
      await pool.start(1)
      pool.send(1, hang)
      assert.match(await pool.metrics(), /^received/m)
      const start = performance.now()
      await pool.stop()
      assert.ok(performance.now() - start < 10_000)
      assert.equal(pool.counts.serving, 0)
    },
    { stopTimeoutMs: 300 },
  )
})
