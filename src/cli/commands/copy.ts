/** `portico copy`: copies a database into an empty one, and reports its progress. */
import { isPostgres, database as kind, publicName } from '../../config/database.ts'
import type { Model } from '../../model/model.ts'
import { type Copied, copyDatabase, type Place } from '../../store/copy.ts'
import type { Command, Option } from '../commands.ts'
import { Failure } from '../failure.ts'
import { model, projectOf } from '../options.ts'
import { Reporter } from '../progress.ts'
import { table } from '../table.ts'

interface CopyWords {
  readonly from: string
  readonly to: string
  readonly live: boolean
}

function placeOf(text: string, option: string): Place {
  const at = named(text, option)
  return { at, kind: isPostgres(at) ? 'postgres' : 'sqlite', name: publicName(at) }
}

function named(text: string, option: string): string {
  let reason = `takes ${kind.says}`
  try {
    const at = kind.fromText(text)
    if (at !== undefined) return at
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    reason = error.message
  }
  throw new Failure(`--${option} ${reason}.`, 2)
}

/** Returns what is printed at the end. */
async function copy(model: Model, { from, to, live }: CopyWords): Promise<string> {
  const reporter = new Reporter(process.stderr)
  const places = { from: placeOf(from, 'from'), to: placeOf(to, 'to') }
  try {
    const copied = await copyDatabase(model, {
      ...places,
      live,
      onProgress: progress => reporter.report(progress),
    })
    return `${summary(copied)}\nDone: ${places.to.name} holds all of ${places.from.name}.\n`
  } finally {
    reporter.end()
  }
}

function summary(copied: readonly Copied[]): string {
  return table(
    ['table', 'rows', 'checksum, the same on both sides'],
    copied.map(({ table: name, count, checksum }) => ({
      table: name,
      rows: count,
      'checksum, the same on both sides': checksum.slice(0, 16),
    })),
  )
}

const place: Option = { value: 'database', sentence: 'A SQLite file, or postgres://…', required: true }

export const command: Command = {
  options: {
    from: place,
    to: place,
    live: { value: undefined, sentence: 'Leave behind what is written to the source meanwhile.' },
    model,
  },
  async run(args) {
    return copy((await projectOf(args)).model, {
      from: args.needed('from'),
      to: args.needed('to'),
      live: args.flag('live'),
    })
  },
}
