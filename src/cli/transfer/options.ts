/** What `portico export` and `portico import` have in common. */
import type { Collection, Model } from '../../model/model.ts'
import { didYouMean } from '../../model/nearest.ts'
import type { Run } from '../../plan/run.ts'
import { listShape, readFirst, where } from '../../plan/system-plans.ts'
import { type Principal, system, user } from '../../principal.ts'
import type { Option, ParsedArgs } from '../commands.ts'
import { Failure } from '../failure.ts'
import type { Format } from './records.ts'

export const format: Option = {
  value: 'csv|ndjson',
  sentence: 'The format; else the ending of the file says it: .csv, .ndjson or .jsonl.',
}

const endings: readonly (readonly [string, Format])[] = [
  ['.csv', 'csv'],
  ['.ndjson', 'ndjson'],
  ['.jsonl', 'ndjson'],
]

export function formatOf(args: ParsedArgs, file: string): Format {
  const given = args.text('format')
  if (given === 'csv' || given === 'ndjson') return given
  if (given !== undefined) throw new Failure(`--format is csv or ndjson, not ${given}.`, 2)
  const found = endings.find(([ending]) => file.toLowerCase().endsWith(ending))
  if (found) return found[1]
  const subject = file === '-' ? 'Standard input and output have' : `The name ${file} has`
  throw new Failure(`${subject} no ending that tells the format: add --format csv or --format ndjson.`, 2)
}

export function collectionOf(model: Model, name: string): Collection {
  const found = model.collections.get(name)
  if (found) return found
  throw new Failure(
    `The model has no collection ${name}.${didYouMean(name, [...model.collections.keys()])}`,
    2,
  )
}

const byEmail = listShape('users', ['id', 'role'], where('email'))

/** The user whom `--as` names; else Portico itself. */
export async function principalOf(args: ParsedArgs, run: Run): Promise<Principal> {
  const email = args.text('as')
  if (email === undefined) return system
  const found = await readFirst<{ id: number; role: string }>(run, byEmail, email.toLowerCase())
  if (found) return user(found.id, found.role, 'all')
  throw new Failure(`No user has the e-mail address ${email}. \`portico users list\` shows all.`)
}

/** E.g. `1,000 rows`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}
