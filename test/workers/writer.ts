/** A thread that takes the write lock again and again, and looks whether it is alone with it. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { markAlive, WriteLock } from '../../src/workers/write-lock.ts'

interface Task {
  readonly words: Int32Array
  /** How many are inside; how often somebody was not alone. */
  readonly watch: Int32Array
  readonly worker: number
  readonly times: number
  /** Dies with the lock in its hands. */
  readonly dies: boolean
  readonly peers: readonly (readonly [number, MessagePort])[]
}

const { words, watch, worker, times, dies, peers }: Task = workerData
const ports = new Map(peers)
const lock = new WriteLock(words, worker, { notify: to => ports.get(to)?.postMessage('lock') })
for (const port of ports.values()) port.on('message', () => lock.notified())
markAlive(words, worker)

let done = 0
function next(): void {
  if (!lock.take(next)) return
  if (Atomics.add(watch, 0, 1) !== 0) Atomics.add(watch, 1, 1)
  const until = performance.now() + 0.05
  while (performance.now() < until);
  Atomics.sub(watch, 0, 1)
  done++
  if (dies && done === 10) process.exit(0)
  lock.release()
  if (done < times) setImmediate(next)
  else parentPort?.postMessage('done')
}

parentPort?.once('message', next)
parentPort?.postMessage('ready')
