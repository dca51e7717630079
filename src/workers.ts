/** Several threads that serve one model on one port: see `decisions/threads.md`. */
import type { FirstAdministrator } from './auth/bootstrap.ts'
import { publicName } from './config/database.ts'
import { type Settings, SettingsError } from './config.ts'
import { type Place, requireFree, requireSharing, withPortLock } from './http/doors.ts'
import type { Log } from './log.ts'
import type { Model } from './model/model.ts'
import { loadModel, modelFingerprint } from './project.ts'
import { openapi } from './rest/openapi.ts'
import { sharedMemory } from './workers/memory.ts'
import type { Orders } from './workers/messages.ts'
import { createPool, type Death, type Pool, WorkerError } from './workers/pool.ts'

export interface Crewed {
  readonly url: string
  readonly firstAdministrator: FirstAdministrator | undefined
  close(): Promise<void>
}

interface Parts {
  readonly model: Model
  readonly settings: Settings
  readonly log: Log
  /** Makes the database ready, once, before any worker opens it. */
  readonly prepare: () => Promise<FirstAdministrator | undefined>
}

/** Starts `settings.workers` threads. Rejects when the first one cannot serve. */
export async function startWorkers({ model, settings, log, prepare }: Parts): Promise<Crewed> {
  await requireModelFile(model, settings)
  await requireSharedPort(settings)
  const fingerprint = modelFingerprint(settings)
  const firstAdministrator = await prepare()
  const memory = sharedMemory(settings.workers)
  let { port } = settings
  const orders = (worker: number): Orders => ({
    worker,
    memory,
    fingerprint,
    settings: shareOf(settings, port),
  })
  const pool = createPool({
    memory,
    thread: new URL(
      import.meta.url.endsWith('.ts') ? './workers/thread.ts' : './workers/thread.js',
      import.meta.url,
    ),
    orders,
    log: text => log.write(text),
    onDeath: death => tellDeath(log, death),
    patience: (settings.shutdownDelay + settings.shutdownGrace + 5) * 1000,
  })
  const url = await startAll(pool, settings, found => {
    port = found
  })
  const database = publicName(settings.database)
  log.logger.info({ database, workers: settings.workers }, `listening on ${url}`)
  return { url, firstAdministrator, close: closer(pool, log) }
}

/** The first one tells which port it is, where any may be taken. */
async function startAll(pool: Pool, settings: Settings, onPort: (port: number) => void): Promise<string> {
  const { workers } = settings
  try {
    const url = await withPortLock(settings.port, async () => {
      if (settings.port !== 0) await requireFree(settings)
      return pool.start(0)
    })
    onPort(Number(new URL(url).port))
    await Promise.all(Array.from({ length: workers - 1 }, (_, other) => pool.start(other + 1)))
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

function tellDeath({ logger }: Log, { worker, error, pause }: Death): void {
  logger.error(
    { worker, err: error && new WorkerError(error), restart_in_ms: pause },
    'a worker has died, and is started anew',
  )
}

/** Connections to PostgreSQL that a worker needs. */
const FEWEST = 4

/** What one of several workers gets of what is for all. The tables are made by now. */
function shareOf(settings: Settings, port: number): Settings {
  const share = (all: number) => Math.ceil(all / settings.workers)
  return {
    ...settings,
    port,
    autoMigrate: false,
    cacheBytes: share(settings.cacheBytes),
    databaseReaders: share(settings.databaseReaders),
    databaseConnections: Math.max(FEWEST, share(settings.databaseConnections)),
    maxConnections: share(settings.maxConnections),
    maxUnread: share(settings.maxUnread),
  }
}

/** Models that describe the same interface are the same to clients. */
function described(model: Model): string {
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
  if (described(loaded) === described(model)) return
  throw fault(
    `\`model\` names ${settings.model}, which holds another model than the one that is to be served.`,
  )
}

/** Whether several threads can listen on one port here, and whether nobody else listens there yet. */
async function requireSharedPort(place: Place): Promise<void> {
  if (place.port !== 0) await requireFree(place)
  await requireSharing(place.host).catch(cause => {
    const message = `more than one worker needs a system that lets threads share a port (SO_REUSEPORT, as Linux does): ${cause.message}. Set it to 1.`
    throw new SettingsError([{ place: '`workers`', message }])
  })
}
