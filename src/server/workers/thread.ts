/** A worker: the thread that `pool.ts` starts. It serves the model on a port that it shares with the other workers. */
import { parentPort, workerData } from 'node:worker_threads'
import { loadModel, modelFingerprint } from '../project/project.ts'
import { start } from '../serve/serve.ts'
import { openContext } from './context.ts'
import { serializeError, type WorkerStart } from './messages.ts'

const { settings, fingerprint }: WorkerStart = workerData
const main = parentPort
if (main === null) throw new TypeError('this file runs as a worker thread only')

const stop = Promise.withResolvers<void>()
const context = openContext(workerData, main, stop.resolve)
// Also after an error that nothing has caught: its lines say why.
process.once('exit', () => context.log.flush())

/** Workers with different models would answer the same request differently. */
function requireSameModel(): void {
  if (modelFingerprint(settings) === fingerprint) return
  throw new Error('The model file has changed since the service was started. Restart the service.')
}

async function work(): Promise<void> {
  requireSameModel()
  const { model } = await loadModel(settings)
  const service = await start(model, settings, { worker: context })
  context.ready(service.url)
  await stop.promise
  await service.close()
}

try {
  await work()
} catch (error) {
  main.postMessage({ kind: 'failed', error: serializeError(error) })
  process.exitCode = 1
}
process.exit()
