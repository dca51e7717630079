/** `portico backup` and `portico restore`. */

import { backUp, restore } from '../../../engine/store/sqlite/file/backup.ts'
import type { Settings } from '../../../server/config/config.ts'
import { isPostgres } from '../../../server/config/database.ts'
import { shownPath } from '../../../server/project/source/frame.ts'
import { Failure } from '../failure.ts'
import { database, settingsOf } from '../options.ts'
import type { Command } from './commands.ts'

type Where = Pick<Settings, 'database'>

function requireFile(database: string, tools: string): void {
  if (isPostgres(database)) throw new Failure(`The database is PostgreSQL: use its own tools, ${tools}.`)
}

/** Shows the progress of the copy on a terminal. */
function progress(): (donePages: number, allPages: number) => void {
  const { stderr } = process
  if (!stderr.isTTY) return () => {}
  let shownPercent = -1
  return (donePages, allPages) => {
    const percent = allPages === 0 ? 100 : Math.floor((100 * donePages) / allPages)
    if (percent === shownPercent) return
    shownPercent = percent
    stderr.write(percent === 100 ? '\rChecking …  ' : `\rCopying ${percent} %`)
  }
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}

export async function backupText({ database }: Where, to: string, overwrite: boolean): Promise<string> {
  requireFile(database, '`pg_dump --format=custom`, or `pg_basebackup` with an archive of the WAL')
  const bytes = await backUp({ from: database, to, overwrite, onProgress: progress() }).finally(clearProgress)
  return `${to}: a verified copy of ${shownPath(database)}, ${bytes.toLocaleString('en')} bytes.\n`
}

export async function restoreText({ database }: Where, from: string, overwrite: boolean): Promise<string> {
  requireFile(database, '`pg_restore`')
  await restore({ from, to: database, overwrite })
  return `Restored ${shownPath(database)} from ${from}.\n`
}

export const backup: Command = {
  arguments: ['file'],
  options: { overwrite: { value: undefined, sentence: 'Replace an existing file.' }, database },
  async run(args) {
    return backupText(await settingsOf(args), args.arguments[0] ?? '', args.flag('overwrite'))
  },
}

export const restoreBackup: Command = {
  arguments: ['file'],
  options: { overwrite: { value: undefined, sentence: 'Replace an existing database.' }, database },
  async run(args) {
    return restoreText(await settingsOf(args), args.arguments[0] ?? '', args.flag('overwrite'))
  },
}
