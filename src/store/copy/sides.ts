/** The two sides of a copy. */
import type { Model } from '../../model/model.ts'
import type { CopyRow, CopyTable, Total } from './tables.ts'

/** What keeps a copy from being made; the message says what to do. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
}

export type LogState = ReadonlyMap<string, string>

/** What a copy keeps besides rows. */
export interface Kept {
  /** By table: see `Source.lastNumber`. */
  readonly lastNumbers: ReadonlyMap<string, number>
  readonly logState: LogState
}

/** A snapshot of a database. */
export interface Source {
  count(table: CopyTable): Promise<number>
  /** All rows in the order of their keys, some at a time. */
  batches(table: CopyTable): AsyncIterable<readonly CopyRow[]>
  /** The greatest number that was ever given to a row; 0: none was. */
  lastNumber(table: CopyTable): Promise<number>
  /** What is stored of the event log besides its rows, by key. */
  logState(): Promise<LogState>
  /** Whether something was written since the snapshot was taken. Ends the snapshot. */
  hasChanged(): Promise<boolean>
  close(): Promise<void>
}

/** What a database remembers of the copy that it is. */
export interface Mark {
  /** Where it comes from. */
  readonly from: string
  /** The tables as JSON. */
  readonly schema: string
}

/** What a database remembers of a copy that is done: whoever was killed before it could say so runs it again. */
export interface DoneMark extends Mark {
  readonly copied: readonly Copied[]
}

export interface Copied extends Total {
  readonly table: string
}

/** An empty target, a half-done copy, or one that is done. */
export type Claim = 'new' | 'begun' | DoneMark

/** The keys of the marks in `_portico`. */
export const begunKey = 'copy'
export const doneKey = 'copied'

export interface Target {
  /** Makes the tables in an empty database, or finds this very copy, begun or done. Throws a `CopyError` for any other. */
  claim(mark: Mark, model: Model): Promise<Claim>
  /** The rows whose keys come after one and not after another; undefined: from the first, to the last. */
  between(
    table: CopyTable,
    after: CopyRow | undefined,
    last: CopyRow | undefined,
  ): Promise<readonly CopyRow[]>
  /** Puts these in place of those. */
  replace(
    table: CopyTable,
    after: CopyRow | undefined,
    last: CopyRow | undefined,
    rows: readonly CopyRow[],
  ): Promise<void>
  batches(table: CopyTable): AsyncIterable<readonly CopyRow[]>
  /** Makes what is made from the rows, and the copy a database like any other, which remembers `done`. */
  finish(model: Model, kept: Kept, done: DoneMark): Promise<void>
  close(): Promise<void>
}

/** A target that is there already and is no half-done copy. */
export function isTaken(): CopyError {
  return new CopyError(
    'The target is not empty. Name a database that is, or a half-done copy of this source. Nothing was changed.',
  )
}

export function isOfEarlierVersion(): CopyError {
  return new CopyError(
    'An earlier version made the source. Bring it up to date with `portico migrate --apply` first.',
  )
}

/** The mark of a copy that is done, if it is of this one. */
export function doneMark(found: string, mark: Mark): DoneMark | undefined {
  const done = JSON.parse(found) as DoneMark
  return done.from === mark.from && done.schema === mark.schema ? done : undefined
}

/** The text of a mark fits another copy, or none. */
export function requireSame(found: string, mark: Mark): void {
  const { from, schema } = JSON.parse(found) as Mark
  if (from !== mark.from) {
    throw new CopyError(
      `The target is a half-done copy of ${from}. Name an empty database, or copy that to its end.`,
    )
  }
  if (schema !== mark.schema) {
    throw new CopyError(
      'The target is a half-done copy with the tables of another model. Name an empty database.',
    )
  }
}
