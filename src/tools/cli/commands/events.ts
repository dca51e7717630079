/** `portico events`: the event log of a database that was restored by hand. */
import { isPostgres } from '../../../server/config/database.ts'
import { Failure } from '../failure.ts'
import { database, settingsOf } from '../options.ts'
import type { Command } from './commands.ts'

async function raiseLog(database: string): Promise<void> {
  if (isPostgres(database)) {
    const { raisePostgresLog } = await import('../../../engine/store/postgres/postgres.ts')
    return raisePostgresLog(database)
  }
  const { raiseSqliteLog } = await import('../../../engine/store/sqlite/sqlite.ts')
  if (!raiseSqliteLog(database)) throw new Failure(`There is no Portico database at ${database}.`)
}

export const restored: Command = {
  options: { database },
  async run(args) {
    const settings = await settingsOf(args)
    await raiseLog(settings.database)
    return 'New events are numbered far above all earlier ones. Clients that resume from an earlier event get RESYNC_REQUIRED.\n'
  },
}
