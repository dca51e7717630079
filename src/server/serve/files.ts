/** The file store of a service, and the work of removing what no item has. */
import { randomUUID } from 'node:crypto'
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { RecordKey, Records } from '../../base/records.ts'
import { Files } from '../../engine/files/files.ts'
import type { ObjectStore } from '../../engine/files/object-store.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { Model } from '../../model/model.ts'
import { type Settings, SettingsError } from '../config/config.ts'
import type { Logger } from '../observability/log.ts'

const idKey = { kind: 'FileStore', id: 'database' } as const
const folderKey = { kind: 'FileStore', id: 'folder' } as const
const sweepIntervalMs = 3_600_000

/** Opens the store of a model with files. Rejects with a `SettingsError` if it belongs to another database, or cannot be used. */
export async function openObjects(
  model: Model,
  settings: Settings,
  records: Records,
): Promise<ObjectStore | undefined> {
  if (!model.collections.has('uploads')) return undefined
  const { ForeignFolder, openFolder } = await import('../../engine/files/folder.ts')
  const folder = settings['files.url']
  const database = await storedId(records, idKey, randomUUID())
  const known = (await records.get(folderKey.kind, folderKey.id))?.payload
  try {
    const { objects, id } = await openFolder(folder, { database, folder: known })
    // Another node may have begun with another folder at the same time.
    const stored = known ?? (await storedId(records, folderKey, id))
    return stored === id ? objects : (await openFolder(folder, { database, folder: stored })).objects
  } catch (error) {
    const message = error instanceof ForeignFolder ? error.message : unusable(folder, error)
    if (message === undefined) throw error
    throw new SettingsError([{ place: '`files.url` (FILES_URL)', message }])
  }
}

/** What the store knows the database by, and the database the store. It is stored once, and copied with the database. */
async function storedId(records: Records, key: RecordKey, first: string): Promise<string> {
  await records.add({ ...key, payload: first, expiresAt: null })
  const record = await records.get(key.kind, key.id)
  if (record === undefined) throw new Error('an id of the file store is missing')
  return record.payload
}

/** Why the folder cannot be used; undefined if that is not the reason. */
function unusable(folder: string, error: unknown): string | undefined {
  if (!(error instanceof Error && 'syscall' in error && 'path' in error && 'code' in error)) return undefined
  const reasons: Readonly<Record<string, string>> = {
    EACCES: 'the service may not write to it',
    EPERM: 'the service may not write to it',
    EROFS: 'the file system is read-only',
    ENOTDIR: 'it is not a folder',
    EEXIST: 'it is not a folder',
    ENOSPC: 'the disk is full',
  }
  const reason = reasons[String(error.code)] ?? error.message
  return `The folder ${folder} cannot be created or used: ${reason} (${error.code})`
}

interface FileParts {
  readonly objects: ObjectStore
  readonly run: Run
  readonly records: Records
  readonly settings: Settings
  readonly logger: Pick<Logger, 'warn'>
  readonly now: () => EpochMs
  readonly onFault: (error: unknown) => void
}

export interface RunningFiles {
  readonly files: Files
  /** Begins to sweep. */
  start(): void
  /** Stops a sweep in progress after its row. */
  close(): Promise<void>
}

export function createFiles(parts: FileParts): RunningFiles {
  const { objects, run, records, settings, logger, now, onFault } = parts
  const keepDeletedMs = settings['files.keepDeleted']
  let timer: NodeJS.Timeout | undefined
  let isStopping = false
  let sweeping: Promise<unknown> = Promise.resolve()
  const work = async () => {
    const [{ sweep }, { ForeignClaim }] = await Promise.all([
      import('../../engine/files/sweep.ts'),
      import('../../engine/files/claim.ts'),
    ])
    const sweepParts = { run, records, objects, keepDeletedMs, now, onFault, isStopping: () => isStopping }
    await sweep(sweepParts).catch(error => {
      if (error instanceof ForeignClaim) logger.warn(error.message)
      else onFault(error)
    })
  }
  const begin = () => {
    sweeping = sweeping.then(work).catch(onFault)
  }
  return {
    files: new Files({ run, objects }),
    start() {
      timer = setInterval(begin, sweepIntervalMs).unref()
      begin()
    },
    async close() {
      clearInterval(timer)
      isStopping = true
      await sweeping
    },
  }
}
