/** Commands that work on the database, beside a service that may be running. */
import { openRecords } from '../auth/sealing/open.ts'
import type { Settings } from '../config.ts'
import { createGuard } from '../plan/guard.ts'
import type { Records } from '../records.ts'
import { createRun, openStore } from '../serve/store.ts'
import type { Opened } from './accounts.ts'
import type { Option, Written } from './commands.ts'
import { database, model, projectOf } from './options.ts'

/** The options of every command that opens a database. */
export const files: Readonly<Record<string, Option>> = { model, database }

export interface OpenedDatabase extends Opened {
  /** With what is secret in them open. */
  readonly records: () => Promise<Records>
  /** As they are stored. */
  readonly stored: Records
  readonly settings: Settings
}

/** Opens the database, and closes it after `use`. */
export async function withDatabase(
  written: Written,
  use: (opened: OpenedDatabase) => Promise<string>,
): Promise<string> {
  const { settings, model } = await projectOf(written)
  const store = await openStore(model, settings)
  const records = () => {
    const { secretKeys: keys, database: file } = settings
    return openRecords({ records: store.records, keys, database: file, note: text => console.error(text) })
  }
  try {
    const run = createRun(createGuard(model), store)
    return await use({ model, run, records, stored: store.records, settings })
  } finally {
    await store.close()
  }
}
