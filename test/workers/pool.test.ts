/** Threads that die, hang, or do not start. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../src/config.ts'
import type { ToWorker } from '../../src/workers/messages.ts'
import { createPool, type Pool, type PoolOptions, type WorkerCrash } from '../../src/workers/pool.ts'
import { aliveIndex, sharedMemory, writerIndex } from '../../src/workers/shared-memory.ts'

interface PoolContext {
  readonly pool: Pool
  readonly crashes: WorkerCrash[]
  readonly words: Int32Array
  readonly log: string[]
  /** Resolves once `isSo` does hold. */
  until(isSo: () => boolean | Promise<boolean>): Promise<void>
}

/** Only the stub understands them. */
const [die, hang] = ['die', 'hang'].map(kind => ({ kind }) as unknown as ToWorker) as [ToWorker, ToWorker]

async function withPool(
  use: (context: PoolContext) => Promise<void>,
  given: Partial<PoolOptions> = {},
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
    ...given,
  })
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    for (let tries = 0; !(await isSo()); tries++) {
      assert.ok(tries < 1000, 'it never came to that')
      await sleep(10)
    }
  }
  try {
    await use({ pool, crashes, words, log, until })
  } finally {
    await pool.stop()
  }
}

test('each worker tells its address and its log, and they find each other', async () => {
  await withPool(async ({ pool, log, until }) => {
    assert.equal(await pool.start(0), 'http://localhost:9000')
    assert.equal(await pool.start(1), 'http://localhost:9001')
    assert.equal(pool.counts.serving, 2)
    assert.deepEqual(log, ['worker 0\n', 'worker 1\n'])
    await until(async () => {
      const metrics = await pool.metrics()
      return metrics.includes('heard{from="1"} 1') && metrics.includes('heard{from="0"} 1')
    })
  })
})

test('one that cannot start says why', async () => {
  await withPool(async ({ pool, crashes }) => {
    await assert.rejects(pool.start(2), { name: 'Sad', message: 'no luck', code: 'EBAD' })
    assert.deepEqual(crashes, [])
    assert.equal(pool.counts.serving, 0)
  })
})

test('one that dies is started anew, meets the others, and its lock is freed', async () => {
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
    await until(async () => (await pool.metrics()).includes('heard{from="1,1"} 1'))
  })
})

test('one that dies again and again is waited for longer each time', async () => {
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

function figure(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

test('what one has counted stays counted when it dies, and when it does not tell in time', async () => {
  await withPool(
    async ({ pool, until }) => {
      await pool.start(0)
      await pool.start(1)
      for (let times = 1; times <= 3; times++) {
        assert.equal(figure(await pool.metrics(), 'tells_total'), 2 * times)
      }
      pool.send(1, die)
      await until(() => pool.counts.restarts === 1 && pool.counts.serving === 2)
      const after = await pool.metrics()
      // Three that the dead one told, four of the other, one of the new one.
      assert.equal(figure(after, 'tells_total'), 8)
      assert.equal(figure(after, 'alive'), 2)
      pool.send(0, hang)
      const late = await pool.metrics()
      assert.equal(figure(late, 'tells_total'), 9)
      assert.equal(figure(late, 'alive'), 2)
    },
    { stopTimeoutMs: 300 },
  )
})

test('one that hangs keeps neither the figures nor the stop', async () => {
  await withPool(
    async ({ pool }) => {
      await pool.start(0)
      await pool.start(1)
      pool.send(1, hang)
      assert.match(await pool.metrics(), /^heard/m)
      const began = performance.now()
      await pool.stop()
      assert.ok(performance.now() - began < 10_000)
      assert.equal(pool.counts.serving, 0)
    },
    { stopTimeoutMs: 300 },
  )
})
