/** Options that `portico export` and `portico import` share. */

import { type Principal, system, user } from '../../../base/principal.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { didYouMean } from '../../../model/suggest.ts'
import type { Option, ParsedArgs } from '../commands/commands.ts'
import { Failure } from '../failure.ts'
import { requireUser } from '../user.ts'
import type { FileFormat } from './records.ts'

export const format: Option = {
  value: 'csv|ndjson',
  sentence: 'The format. Default: by the extension of the file: .csv, .ndjson or .jsonl.',
}

const extensions: readonly (readonly [string, FileFormat])[] = [
  ['.csv', 'csv'],
  ['.ndjson', 'ndjson'],
  ['.jsonl', 'ndjson'],
]

export function formatOf(args: ParsedArgs, file: string): FileFormat {
  const name = args.text('format')
  if (name === 'csv' || name === 'ndjson') return name
  if (name !== undefined) throw new Failure(`--format is csv or ndjson, not ${name}.`, 2)
  const [, format] = extensions.find(([extension]) => file.toLowerCase().endsWith(extension)) ?? []
  if (format !== undefined) return format
  const subject = file === '-' ? 'Standard input and output have' : `${file} has`
  throw new Failure(`${subject} no extension that names the format: add --format csv or --format ndjson.`, 2)
}

export function collectionOf(model: Model, name: string): Collection {
  const collection = model.collections.get(name)
  if (collection) return collection
  throw new Failure(
    `The model has no collection ${name}.${didYouMean(name, [...model.collections.keys()])}`,
    2,
  )
}

/** The user whom `--as` names; without it, Portico itself. Throws a `Failure` for a disabled user. */
export async function principalOf(args: ParsedArgs, run: Run): Promise<Principal> {
  const email = args.text('as')
  if (email === undefined) return system
  const { id, role, disabled } = await requireUser(run, email)
  if (disabled) throw new Failure(`The account ${email} is disabled: none of its credentials is accepted.`)
  return user(id, role, 'all')
}
