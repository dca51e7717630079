/** A thread that draws from the counters as fast as possible. */
import { parentPort, workerData } from 'node:worker_threads'
import { type CounterMemory, sharedCounters } from '../../../src/engine/cluster/shared-counters.ts'

interface Task {
  readonly memory: CounterMemory
  readonly keys: readonly string[]
  readonly limit: number
  readonly times: number
  /** The fixed time of all draws. */
  readonly startsAt: number
}

const { memory, keys, limit, times, startsAt }: Task = workerData
const counters = sharedCounters(memory, { now: () => startsAt })
const granted = Object.fromEntries(keys.map(key => [key, 0]))

parentPort?.once('message', () => {
  for (let turn = 0; turn < times; turn++) {
    for (const key of keys) if (counters.take(key, limit, 1).granted) granted[key] = (granted[key] ?? 0) + 1
  }
  parentPort?.postMessage(granted)
})
parentPort?.postMessage('ready')
