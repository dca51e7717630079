import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { sharedMemory, writerIndex } from '../../../src/server/workers/shared-memory.ts'
import { markAlive, markDead, WriteLock } from '../../../src/server/workers/write-lock.ts'

/** A message port from each of `count` threads to each other. */
function portsBetween(count: number): [number, MessagePort][][] {
  const all: [number, MessagePort][][] = Array.from({ length: count }, () => [])
  for (let index = 0; index < count; index++) {
    for (let other = 0; other < index; other++) {
      const { port1, port2 } = new MessageChannel()
      all[index]?.push([other, port1])
      all[other]?.push([index, port2])
    }
  }
  return all
}

test('only one worker holds the lock at a time, all get it, and a worker that exits releases it', async () => {
  const count = 4
  const words = new Int32Array(sharedMemory(count).file)
  const watch = new Int32Array(new SharedArrayBuffer(8))
  const threads = portsBetween(count).map((peers, worker) => {
    const workerData = { words, watch, worker, times: 300, dies: worker === 3, peers }
    const transferList = peers.map(([, port]) => port)
    return new Worker(new URL('writer.ts', import.meta.url), { workerData, transferList })
  })
  threads[3]?.on('exit', () => markDead(words, 3))
  await Promise.all(threads.map(thread => once(thread, 'message')))
  const ends = threads.map((thread, worker) => once(thread, worker === 3 ? 'exit' : 'message'))
  for (const thread of threads) thread.postMessage('go')
  await Promise.all(ends)
  assert.deepEqual([...watch], [0, 0])
  assert.equal(words[writerIndex], 0)
  await Promise.all(threads.map(thread => thread.terminate()))
})

function two(timeoutMs = 60_000) {
  const words = new Int32Array(sharedMemory(2).file)
  const notified: number[] = []
  const lock = (worker: number) => {
    markAlive(words, worker)
    return new WriteLock(words, worker, { notify: to => notified.push(to), timeoutMs })
  }
  return { words, notified, first: lock(0), second: lock(1) }
}

test('a released lock passes to a waiting worker, which is notified', () => {
  const { first, second, notified, words } = two()
  let retries = 0
  assert.equal(first.take(assert.fail), true)
  const retry = () => {
    retries++
    assert.equal(second.take(retry), true)
    second.release()
  }
  assert.equal(second.take(retry), false)
  first.release()
  assert.deepEqual(notified, [1])
  assert.equal(
    first.take(() => {}),
    false,
  )
  second.onNotified()
  assert.equal(retries, 1)
  assert.deepEqual(notified, [1, 0])
  assert.equal(words[writerIndex], 1)
  assert.equal(first.take(assert.fail), true)
  first.release()
  assert.equal(words[writerIndex], 0)
})

test('a worker that no longer needs the lock passes it on', () => {
  const { first, second, words } = two()
  assert.equal(first.take(assert.fail), true)
  assert.equal(
    second.take(() => second.release()),
    false,
  )
  first.release()
  assert.equal(words[writerIndex], 2)
  second.onNotified()
  assert.equal(words[writerIndex], 0)
  assert.equal(first.take(assert.fail), true)
  first.release()
  second.take(assert.fail)
  second.release()
})

test('a waiting worker takes the lock after a timeout, even if the holder never releases it', async () => {
  const { first, second } = two(150)
  assert.equal(first.take(assert.fail), true)
  const done = Promise.withResolvers<number>()
  const start = performance.now()
  const retry = () => {
    if (second.take(retry)) done.resolve(performance.now() - start)
  }
  retry()
  assert.ok((await done.promise) >= 150)
  await sleep(30)
  assert.equal(first.take(assert.fail), true)
})
