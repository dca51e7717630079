/** The part of writes that differs between databases. */

import type { Collection, Model } from '../../../model/model.ts'
import type { GuardedAssignment, GuardedCreate } from '../../plan/guarded.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { RowAlias } from '../sql/row-alias.ts'
import type { Bind, Sql } from '../sql/writer.ts'
import type { Inputs, ResultRow, ResultRows, SqlValue } from '../values.ts'
import type { ModelCode } from './model-code.ts'
import type { References } from './references.ts'
import type { RemovalEffects } from './removal/cascade-set.ts'
import type { QuerySteps, StepQuery, WriteScope } from './steps.ts'

export interface WriteDatabase<S> extends ModelCode {
  readonly model: Model
  readonly dialect: Dialect
  prepare(fragment: Sql): S
  /** The locking clauses of a SELECT. Omitted if only one transaction writes at a time. */
  readonly locks?: RowLocks
  /** An expression that locks the group with this key and value until the transaction ends. Omitted as `locks` is. */
  locksGroup?(key: Sql, value: Sql | undefined): Sql
  insertion(shape: GuardedCreate, references: References<S>, outputs: readonly Sql[]): Insertion<S>
  readBack(options: ReadBackOptions): ReadBack<S>
  /** A statement that returns a row if row security allows the caller to delete the row with this id. */
  permission?(collection: Collection): S
  /** Deletes the rows of the cascade set. `removalOf`: the statement that deletes the row with an id. */
  remove(effects: RemovalEffects<S>, removalOf: RemovalOf<S>, scope: WriteScope<S>): QuerySteps<S, void>
  /** Undefined for a collection without searchable fields. */
  searchIndex(collection: Collection): SearchIndex<S> | undefined
  /** The error for a change that the database refused. `values`: of the assignments. */
  changeError(cause: unknown, set: readonly GuardedAssignment[], values: readonly SqlValue[]): unknown
}

export type RemovalOf<S> = (collection: Collection) => S

export interface RowLocks {
  /** Other transactions may still add references to the row. */
  readonly change: Sql
  readonly remove: Sql
}

/** An INSERT with the values in slots, which returns the outputs. */
export interface Insertion<S> {
  readonly statement: S
  /** Whether it inserts nothing if a referenced row is missing. */
  readonly checksReferences: boolean
}

export interface ReadBackOptions {
  readonly row: RowAlias
  readonly id: Bind
  readonly outputs: readonly Sql[]
  /** The position of the caller's answer among the outputs. */
  readonly answerIndex: number
}

/** A read of the row after a write. */
export interface ReadBack<S> {
  queries(inputs: Inputs): readonly StepQuery<S>[]
  /** Receives the rows of each query; returns the outputs. */
  row(answers: readonly ResultRows[]): ResultRow
}

export interface SearchIndex<S> {
  /** Stores the search terms of a row. `texts`: of its searchable fields, in the model's order. */
  write(id: number, texts: readonly (SqlValue | undefined)[], isNew: boolean, scope: WriteScope<S>): void
}

export const noRow: ResultRow = []

/** A read that is one statement. */
export function plainReadBack<S>(statement: S): ReadBack<S> {
  return {
    queries: inputs => [{ statement, inputs }],
    row: ([rows]) => rows?.[0] ?? noRow,
  }
}
