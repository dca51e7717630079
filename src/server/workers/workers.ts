/** Worker threads that serve one model on one port: see `decisions/threads.md`. */

import { openapi } from '../../api/rest/openapi/document.ts'
import { isBuilt } from '../../base/package-files.ts'
import { startWatchdog } from '../../base/watchdog/watchdog.ts'
import type { FirstAdministrator } from '../../identity/first-administrator.ts'
import type { Model } from '../../model/model.ts'
import { type Settings, SettingsError } from '../config/config.ts'
import { publicName } from '../config/database.ts'
import { type ListenAddress, requireFree, requireSharing, withPortLock } from '../http/listeners.ts'
import type { Log } from '../observability/log.ts'
import { loadModel, modelFingerprint } from '../project/project.ts'
import type { WorkerStart } from './messages.ts'
import { createPool, type Pool, type WorkerCrash, WorkerError } from './pool.ts'
import { sharedMemory } from './shared-memory.ts'

export interface WorkerService {
  readonly url: string
  readonly firstAdministrator: FirstAdministrator | undefined
  close(): Promise<void>
}

interface WorkersParts {
  readonly model: Model
  readonly settings: Settings
  readonly log: Log
  /** Prepares the database, once, before any worker opens it. */
  readonly prepare: () => Promise<FirstAdministrator | undefined>
}

/** Starts `settings.workers` threads. Rejects if one of them cannot serve. */
export async function startWorkers({ model, settings, log, prepare }: WorkersParts): Promise<WorkerService> {
  await requireModelFile(model, settings)
  await requireSharedPort(settings)
  const fingerprint = modelFingerprint(settings)
  const firstAdministrator = await prepare()
  const memory = sharedMemory(settings.workers)
  let { port } = settings
  startWatchdog()
  const startData = (worker: number): WorkerStart => ({
    worker,
    memory,
    fingerprint,
    settings: shareOf(settings, port),
  })
  const pool = createPool({
    memory,
    thread: new URL(isBuilt ? './worker.js' : './thread.ts', import.meta.url),
    startData,
    log: text => log.write(text),
    onCrash: crash => logCrash(log, crash),
    stopTimeoutMs: settings.shutdown.delay + settings.shutdown.grace + 5000,
  })
  const url = await startAll(pool, settings, firstPort => {
    port = firstPort
  })
  const database = publicName(settings.database)
  log.logger.info({ database, workers: settings.workers }, `listening on ${url}`)
  return { url, firstAdministrator, close: closer(pool, log) }
}

/** With port 0, all workers use the port of the first. */
async function startAll(pool: Pool, settings: Settings, onPort: (port: number) => void): Promise<string> {
  const { workers } = settings
  try {
    const url = await withPortLock(settings.port, async () => {
      if (settings.port !== 0) await requireFree(settings)
      return pool.start(0)
    })
    onPort(Number(new URL(url).port))
    await Promise.all(Array.from({ length: workers - 1 }, (_, index) => pool.start(index + 1)))
    return url
  } catch (error) {
    await pool.stop()
    throw error
  }
}

function closer(pool: Pool, log: Log): () => Promise<void> {
  let closed: Promise<void> | undefined
  return () => {
    closed ??= pool.stop().then(() => log.flush())
    return closed
  }
}

function logCrash({ logger }: Log, { worker, error, restartInMs }: WorkerCrash): void {
  logger.error(
    { worker, err: error && new WorkerError(error), restart_in_ms: restartInMs },
    'a worker has crashed, and is restarted',
  )
}

/** How many connections to PostgreSQL a worker needs. */
const minConnections = 4

/** The settings of one worker, with its share of the common limits. The tables exist already. */
function shareOf(settings: Settings, port: number): Settings {
  const share = (all: number) => Math.ceil(all / settings.workers)
  return {
    ...settings,
    port,
    autoMigrate: false,
    cacheSize: share(settings.cacheSize),
    databaseConnections: Math.max(minConnections, share(settings.databaseConnections)),
    maxConnections: share(settings.maxConnections),
  }
}

/** The interface of a model, for a comparison: clients cannot distinguish models with the same interface. */
function interfaceOf(model: Model): string {
  return JSON.stringify(openapi(model, ''))
}

async function requireModelFile(model: Model, settings: Settings): Promise<void> {
  const fault = (message: string) => new SettingsError([{ place: '`workers`', message }])
  if (settings.model === undefined) {
    throw fault(
      'more than one worker needs the model as a file that each of them can load: name it in `model` or PORTICO_MODEL.',
    )
  }
  const loaded = (await loadModel(settings)).model
  if (interfaceOf(loaded) === interfaceOf(model)) return
  throw fault(`\`model\` names ${settings.model}, which has another model than the one to be served.`)
}

/** Checks that threads can share a port on this system, and that no other program listens on it. */
async function requireSharedPort(address: ListenAddress): Promise<void> {
  if (address.port !== 0) await requireFree(address)
  await requireSharing(address.host).catch(cause => {
    const message = `more than one worker needs a system that lets threads share a port (SO_REUSEPORT, as Linux does): ${cause.message}. Set it to 1.`
    throw new SettingsError([{ place: '`workers`', message }])
  })
}
