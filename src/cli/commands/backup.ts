/** `portico backup` and `portico restore`. */
import { relative } from 'node:path'
import type { Settings } from '../../config.ts'
import { BackupError, backUp, restore } from '../../store/sqlite/file/backup.ts'
import type { Command } from '../commands.ts'
import { Failure } from '../failure.ts'
import { database, settingsOf } from '../options.ts'

type Where = Pick<Settings, 'database'>

function requireFile(database: string, tools: string): void {
  if (!/^postgres(ql)?:/.test(database)) return
  throw new Failure(`The database is PostgreSQL, which has tools of its own for this: ${tools}.`)
}

async function mended<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof BackupError ? new Failure(error.message) : error
  }
}

/** On a terminal, the share that is copied. */
function progress(): (done: number, all: number) => void {
  const { stderr } = process
  if (!stderr.isTTY) return () => {}
  let shown = -1
  return (done, all) => {
    const percent = all === 0 ? 100 : Math.floor((100 * done) / all)
    if (percent === shown) return
    shown = percent
    stderr.write(percent === 100 ? '\rChecking …  ' : `\rCopying ${percent} %`)
  }
}

function shown(path: string): string {
  const near = relative(process.cwd(), path)
  return near === '' || near.startsWith('..') ? path : near
}

export async function backupText({ database }: Where, to: string, overwrite: boolean): Promise<string> {
  requireFile(database, '`pg_dump --format=custom`, or `pg_basebackup` with an archive of the WAL')
  const bytes = await mended(backUp({ from: database, to, overwrite, onProgress: progress() }))
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  return `${to}: a sound copy of ${shown(database)}, ${bytes.toLocaleString('en')} bytes.\n`
}

export async function restoreText({ database }: Where, from: string, overwrite: boolean): Promise<string> {
  requireFile(database, '`pg_restore`')
  await mended(restore({ from, to: database, overwrite }))
  return `${shown(database)} is now what ${from} holds.\n`
}

export const backup: Command = {
  arguments: ['file'],
  options: { overwrite: { value: undefined, sentence: 'Replace a file that is there.' }, database },
  async run(args) {
    return backupText(await settingsOf(args), args.arguments[0] ?? '', args.flag('overwrite'))
  },
}

export const restoreBackup: Command = {
  arguments: ['file'],
  options: { overwrite: { value: undefined, sentence: 'Replace a database that is there.' }, database },
  async run(args) {
    return restoreText(await settingsOf(args), args.arguments[0] ?? '', args.flag('overwrite'))
  },
}
