/** Opens the database for a command. A service may use it at the same time. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Records } from '../../base/records.ts'
import { createGuard } from '../../engine/plan/guard/guard.ts'
import type { Run } from '../../engine/plan/run.ts'
import { openRecords } from '../../identity/encryption/open-records.ts'
import type { Model } from '../../model/model.ts'
import type { Settings } from '../../server/config/config.ts'
import { createRun, openStore } from '../../server/serve/store.ts'
import type { Option, ParsedArgs } from './commands/commands.ts'
import { database, model, projectOf } from './options.ts'

/** The options of every command that opens a database. */
export const databaseOptions: Readonly<Record<string, Option>> = { model, database }

/** A model, and the function that runs plans on its database. */
export interface OpenedModel {
  readonly model: Model
  readonly run: Run
}

export interface OpenedDatabase extends OpenedModel {
  /** The records, with decrypted secrets. */
  readonly records: () => Promise<Records>
  /** The records as they are stored, with encrypted secrets. */
  readonly stored: Records
  readonly settings: Settings
  /** Returns the id of the newest event in the log. */
  readonly lastEvent: () => Awaitable<number>
}

/** Opens the database, runs the command, and closes the database. */
export async function withDatabase(
  args: ParsedArgs,
  command: (opened: OpenedDatabase) => Promise<string>,
): Promise<string> {
  const { settings, model } = await projectOf(args)
  // No cache: a command reads nothing twice.
  const store = await openStore(model, { ...settings, cacheSize: 0 })
  const records = () => {
    const { secretKeys: keys, database: file } = settings
    return openRecords({
      records: store.records,
      keys,
      database: file,
      note: text => console.error(text),
    })
  }
  try {
    const run = createRun(createGuard(model), store)
    const lastEvent = () => store.changes.last()
    return await command({ model, run, records, stored: store.records, settings, lastEvent })
  } finally {
    await store.close()
  }
}
