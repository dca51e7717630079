/** A thread that takes the write lock repeatedly and checks that no other thread holds it. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { markAlive, WriteLock } from '../../../src/server/workers/write-lock.ts'

interface Task {
  readonly words: Int32Array
  /** The number of holders, and how often there was more than one. */
  readonly watch: Int32Array
  readonly worker: number
  readonly times: number
  /** Exits while it holds the lock. */
  readonly dies: boolean
  readonly peers: readonly (readonly [number, MessagePort])[]
}

const { words, watch, worker, times, dies, peers }: Task = workerData
const ports = new Map(peers)
const lock = new WriteLock(words, worker, { notify: to => ports.get(to)?.postMessage('lock') })
for (const port of ports.values()) port.on('message', () => lock.onNotified())
markAlive(words, worker)

let completed = 0
function next(): void {
  if (!lock.take(next)) return
  if (Atomics.add(watch, 0, 1) !== 0) Atomics.add(watch, 1, 1)
  const until = performance.now() + 0.05
  while (performance.now() < until);
  Atomics.sub(watch, 0, 1)
  completed++
  if (dies && completed === 10) process.exit(0)
  lock.release()
  if (completed < times) setImmediate(next)
  else parentPort?.postMessage('done')
}

parentPort?.once('message', next)
parentPort?.postMessage('ready')
