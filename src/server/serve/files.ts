/** The file store of a service, and the work of removing what no item has. */
import { randomUUID } from 'node:crypto'
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { Records } from '../../base/records.ts'
import { Files } from '../../engine/files/files.ts'
import type { ObjectStore } from '../../engine/files/object-store.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { Model } from '../../model/model.ts'
import { type Settings, SettingsError } from '../config/config.ts'

const idKey = { kind: 'FileStore', id: 'database' } as const
const sweepIntervalMs = 3_600_000

/** Opens the store of a model with files. Rejects with a `SettingsError` if it belongs to another database. */
export async function openObjects(
  model: Model,
  settings: Settings,
  records: Records,
): Promise<ObjectStore | undefined> {
  if (!model.collections.has('uploads')) return undefined
  const { ForeignFolder, openFolder } = await import('../../engine/files/folder.ts')
  try {
    return await openFolder(settings['files.url'], await databaseId(records))
  } catch (error) {
    if (!(error instanceof ForeignFolder)) throw error
    const message = `${error.message} Use the database that it belongs to, or another folder`
    throw new SettingsError([{ place: '`files.url` (FILES_URL)', message }])
  }
}

/** What the store knows the database by. It is created once, and copied with the database. */
async function databaseId(records: Records): Promise<string> {
  await records.add({ ...idKey, payload: randomUUID(), expiresAt: null })
  const record = await records.get(idKey.kind, idKey.id)
  if (record === undefined) throw new Error('the id of the database is missing')
  return record.payload
}

interface FileParts {
  readonly objects: ObjectStore
  readonly run: Run
  readonly settings: Settings
  readonly now: () => EpochMs
  readonly onFault: (error: unknown) => void
}

export interface RunningFiles {
  readonly files: Files
  /** Begins to sweep. */
  start(): void
  /** Waits for a sweep in progress. */
  close(): Promise<void>
}

export function createFiles({ objects, run, settings, now, onFault }: FileParts): RunningFiles {
  const keepDeletedMs = settings['files.keepDeleted']
  let timer: NodeJS.Timeout | undefined
  let sweeping: Promise<unknown> = Promise.resolve()
  const begin = () => {
    sweeping = sweeping
      .then(() => import('../../engine/files/sweep.ts'))
      .then(({ sweep }) => sweep({ run, objects, keepDeletedMs, now }))
      .catch(onFault)
  }
  return {
    files: new Files({ run, objects }),
    start() {
      timer = setInterval(begin, sweepIntervalMs).unref()
      begin()
    },
    async close() {
      clearInterval(timer)
      await sweeping
    },
  }
}
