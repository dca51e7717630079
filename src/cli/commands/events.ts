/** `portico events`: the event log of a database that was put in place by hand. */
import { isPostgres } from '../../config/database.ts'
import type { Command } from '../commands.ts'
import { Failure } from '../failure.ts'
import { database, settingsOf } from '../options.ts'

async function raiseLog(database: string): Promise<void> {
  if (isPostgres(database)) {
    const { raisePostgresLog } = await import('../../store/postgres.ts')
    return raisePostgresLog(database)
  }
  const { raiseSqliteLog } = await import('../../store/sqlite.ts')
  if (!raiseSqliteLog(database)) throw new Failure(`There is no database of Portico's at ${database}.`)
}

export const restored: Command = {
  options: { database },
  async run(args) {
    const settings = await settingsOf(args)
    await raiseLog(settings.database)
    return 'New events are numbered far above all earlier ones. Whoever resumes from an earlier one is told RESYNC_REQUIRED.\n'
  },
}
