/** `portico copy`: copies a database into an empty one, and reports its progress. */

import { type Copied, copyDatabase, type DatabaseLocation } from '../../../engine/store/copy/copy.ts'
import type { Model } from '../../../model/model.ts'
import { isPostgres, publicName, database as setting } from '../../../server/config/database.ts'
import { Failure } from '../failure.ts'
import { model, projectOf } from '../options.ts'
import { Reporter } from '../progress.ts'
import { table } from '../table.ts'
import type { Command, Option } from './commands.ts'

interface CopyOptions {
  readonly from: string
  readonly to: string
  readonly live: boolean
}

function placeOf(text: string, option: string): DatabaseLocation {
  const address = databaseAddress(text, option)
  return { location: address, kind: isPostgres(address) ? 'postgres' : 'sqlite', name: publicName(address) }
}

function databaseAddress(text: string, option: string): string {
  let reason = `takes ${setting.expected}`
  try {
    const address = setting.fromText(text)
    if (address !== undefined) return address
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    reason = error.message
  }
  throw new Failure(`--${option} ${reason}.`, 2)
}

/** Returns the final message. */
async function copy(model: Model, { from, to, live }: CopyOptions): Promise<string> {
  const reporter = new Reporter(process.stderr)
  const places = { from: placeOf(from, 'from'), to: placeOf(to, 'to') }
  try {
    const copied = await copyDatabase(model, {
      ...places,
      live,
      onProgress: progress => reporter.report(progress),
    })
    return `${summary(copied)}\nDone: copied ${places.from.name} to ${places.to.name}.\n`
  } finally {
    reporter.end()
  }
}

const checksumHeader = 'checksum, the same in both databases'

function summary(copied: readonly Copied[]): string {
  return table(
    ['table', 'rows', checksumHeader],
    copied.map(({ table: name, count, checksum }) => ({
      table: name,
      rows: count,
      [checksumHeader]: checksum.slice(0, 16),
    })),
  )
}

const place: Option = { value: 'database', sentence: 'A SQLite file, or postgres://…', required: true }

export const command: Command = {
  options: {
    from: place,
    to: place,
    live: { value: undefined, sentence: 'Ignore what is written to the source during the copy.' },
    model,
  },
  async run(args) {
    return copy((await projectOf(args)).model, {
      from: args.required('from'),
      to: args.required('to'),
      live: args.flag('live'),
    })
  },
}
