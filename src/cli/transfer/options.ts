/** Options that `portico export` and `portico import` share. */
import type { Collection, Model } from '../../model/model.ts'
import { didYouMean } from '../../model/nearest.ts'
import type { Run } from '../../plan/run.ts'
import { type Principal, system, user } from '../../principal.ts'
import type { Option, ParsedArgs } from '../commands.ts'
import { Failure } from '../failure.ts'
import { requireUser } from '../user.ts'
import type { Format } from './records.ts'

export const format: Option = {
  value: 'csv|ndjson',
  sentence: 'The format. Default: by the extension of the file: .csv, .ndjson or .jsonl.',
}

const extensions: readonly (readonly [string, Format])[] = [
  ['.csv', 'csv'],
  ['.ndjson', 'ndjson'],
  ['.jsonl', 'ndjson'],
]

export function formatOf(args: ParsedArgs, file: string): Format {
  const given = args.text('format')
  if (given === 'csv' || given === 'ndjson') return given
  if (given !== undefined) throw new Failure(`--format is csv or ndjson, not ${given}.`, 2)
  const found = extensions.find(([extension]) => file.toLowerCase().endsWith(extension))
  if (found) return found[1]
  const subject = file === '-' ? 'Standard input and output have' : `${file} has`
  throw new Failure(`${subject} no extension that names the format: add --format csv or --format ndjson.`, 2)
}

export function collectionOf(model: Model, name: string): Collection {
  const found = model.collections.get(name)
  if (found) return found
  throw new Failure(
    `The model has no collection ${name}.${didYouMean(name, [...model.collections.keys()])}`,
    2,
  )
}

/** The user whom `--as` names; without it, Portico itself. Throws a `Failure` for a disabled user, who may do nothing. */
export async function principalOf(args: ParsedArgs, run: Run): Promise<Principal> {
  const email = args.text('as')
  if (email === undefined) return system
  const { id, role, disabled } = await requireUser(run, email)
  if (disabled) throw new Failure(`The account ${email} is disabled: none of its credentials is accepted.`)
  return user(id, role, 'all')
}
