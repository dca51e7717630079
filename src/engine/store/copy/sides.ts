/** The two sides of a copy. */
import type { Model } from '../../../model/model.ts'
import type { CopyRow, CopyTable, CopyTotal } from './tables.ts'

/** A database cannot be copied. The message gives the reason and the remedy. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
}

export type CopiedLogState = ReadonlyMap<string, string>

/** The state that is copied besides rows. */
export interface CopiedState {
  /** By table: see `CopySource.lastNumber`. */
  readonly lastNumbers: ReadonlyMap<string, number>
  readonly logState: CopiedLogState
}

/** A snapshot of a database. */
export interface CopySource {
  count(table: CopyTable): Promise<number>
  /** All rows in the order of their keys, in batches. */
  batches(table: CopyTable): AsyncIterable<readonly CopyRow[]>
  /** The greatest id that was ever assigned to a row; 0 if none was. */
  lastNumber(table: CopyTable): Promise<number>
  /** The stored state of the event log besides its rows, by key. */
  logState(): Promise<CopiedLogState>
  /** Whether the database was written to since the snapshot was taken. Ends the snapshot. */
  hasChanged(): Promise<boolean>
  close(): Promise<void>
}

/** The mark that an unfinished copy stores. */
export interface CopyMark {
  /** The name of its source. */
  readonly from: string
  /** The tables as JSON. */
  readonly schema: string
}

/** The mark that a finished copy stores: the command can be repeated if it was killed before it could report success. */
export interface FinishedMark extends CopyMark {
  readonly copied: readonly CopiedTable[]
}

export interface CopiedTable extends CopyTotal {
  readonly table: string
}

/** The target was empty, an unfinished copy, or a finished one. */
export type TargetState = 'new' | 'begun' | FinishedMark

/** The keys of the marks in `_portico`. */
export const begunKey = 'copy'
export const finishedKey = 'copied'

export interface CopyTarget {
  /** Creates the tables in an empty database, or recognises this copy. Throws a `CopyError` for any other database. */
  claim(mark: CopyMark, model: Model): Promise<TargetState>
  /** The rows whose keys are after one and not after another; undefined: from the first, to the last. */
  between(
    table: CopyTable,
    after: CopyRow | undefined,
    last: CopyRow | undefined,
  ): Promise<readonly CopyRow[]>
  /** Replaces the rows that `between` returns for the same keys. */
  replace(
    table: CopyTable,
    after: CopyRow | undefined,
    last: CopyRow | undefined,
    rows: readonly CopyRow[],
  ): Promise<void>
  batches(table: CopyTable): AsyncIterable<readonly CopyRow[]>
  /** Builds indexes and derived tables, and turns the copy into an ordinary database, which stores `mark`. */
  finish(model: Model, state: CopiedState, mark: FinishedMark): Promise<void>
  close(): Promise<void>
}

/** The target has tables, and is not an unfinished copy. */
export function nonEmptyTargetError(): CopyError {
  return new CopyError(
    'The target is not empty. Name an empty database, or an unfinished copy of this source. Nothing was changed.',
  )
}

/** SQLite has no lock that excludes another copy into the same file. */
export function alreadyFinishedError(): CopyError {
  return new CopyError('Another process has finished this copy. Nothing more was changed.')
}

export function unfitSourceError(): CopyError {
  return new CopyError('The source does not fit the model. Migrate it with `portico migrate` first.')
}

export function outdatedSourceError(): CopyError {
  return new CopyError(
    'An earlier version created the source. Migrate it with `portico migrate --apply` first.',
  )
}

/** The stored mark of a finished copy, if it is a copy of the same source and model. */
export function finishedMark(text: string, mark: CopyMark): FinishedMark | undefined {
  const finished = JSON.parse(text) as FinishedMark
  return finished.from === mark.from && finished.schema === mark.schema ? finished : undefined
}

/** Throws unless the stored mark of an unfinished copy is for the same source and model. */
export function requireSame(text: string, mark: CopyMark): void {
  const { from, schema } = JSON.parse(text) as CopyMark
  if (from !== mark.from) {
    throw new CopyError(
      `The target is an unfinished copy of ${from}. Name an empty database, or finish that copy.`,
    )
  }
  if (schema !== mark.schema) {
    throw new CopyError(
      'The target is an unfinished copy with the tables of another model. Name an empty database.',
    )
  }
}
