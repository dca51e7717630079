/** A worker: the thread that `pool.ts` starts. It serves the model on a port that it shares with the others. */
import { parentPort, workerData } from 'node:worker_threads'
import { loadModel, modelFingerprint } from '../project.ts'
import { start } from '../serve.ts'
import { board } from './crew.ts'
import { type Orders, toldError } from './messages.ts'

const orders: Orders = workerData
const main = parentPort
if (main === null) throw new TypeError('this file is a worker’s')

let stopping: () => void = () => {}
const stopped = new Promise<void>(resolve => {
  stopping = resolve
})
const crew = board(orders, main, () => stopping())

/** Another model than the others' would answer the same requests in another way. */
function requireSameModel(): void {
  if (modelFingerprint(orders.settings) === orders.fingerprint) return
  throw new Error('The model file has changed since the service was started. Start the service anew.')
}

async function work(): Promise<void> {
  requireSameModel()
  const { model } = await loadModel(orders.settings)
  const service = await start(model, orders.settings, crew)
  crew.ready(service.url)
  await stopped
  await service.close()
}

try {
  await work()
} catch (error) {
  main.postMessage({ kind: 'failed', error: toldError(error) })
  process.exitCode = 1
}
crew.flush()
process.exit()
