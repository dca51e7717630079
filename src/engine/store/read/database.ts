/** The part of reads that differs between databases. `Q`: a statement of the database with its values. */
import type { Awaitable } from '../../../base/awaitable.ts'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { Principal } from '../../../base/principal.ts'
import type { AnswerBound } from '../../plan/answer-bound.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { RelatedForm } from '../sql/condition.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Slice } from '../sql/read.ts'
import type { Sql } from '../sql/writer.ts'
import type { Actor, Inputs, ResultRow } from '../values.ts'
import type { Versions } from '../versions.ts'
import type { Answer, Answers, GuardedReadShape } from './answers.ts'
import type { AnswerQuery, ReadsInFlight } from './in-flight.ts'
import type { LargestAnswer } from './largest-answer.ts'
import type { Total } from './lists.ts'

export interface ReadDatabase {
  readonly answers: Answers
  readonly answerBound: AnswerBound
  readonly versions: Versions
  /** For the reads of one shape. */
  readsInFlight(): ReadsInFlight
  /** Whether answers are never shared between users, whatever the shape says. */
  readonly isPersonal: boolean
  /** Begins a snapshot and makes the versions count its commits, where reads are synchronous. */
  hold(): void
  /** The value of `now` in rules; undefined: the database's own clock. */
  now(): EpochMs | undefined
  actor(principal: Principal): Actor | undefined
  runOf(shape: GuardedReadShape): RunRead
}

/** Answers synchronously, or returns a function that asks the database. */
export type RunRead = (inputs: Inputs, principal: Principal) => Answer | AnswerQuery

/** Prepares the statements of one shape, each compiled once. */
export interface Statements<Q> {
  /** `build` must write every limit by `Dialect.limit`. `largest`: of the answer, if the statement makes one. */
  prepare(build: (dialect: Dialect) => Sql, largest?: LargestAnswer): (inputs: Inputs) => Q
  /** A slice of a list, by `listSql`. */
  slice(list: GuardedList, slice: (dialect: Dialect) => Slice, size: SliceSize): (inputs: Inputs) => Q
  /** A statement over the rows of a whole list. */
  count<L extends WholeList>(list: L, build: CountSql<L>): (inputs: Inputs) => Q
  /** How many rows a whole collection has, from the total that writes maintain. */
  whole(collection: string): (inputs: Inputs) => Q
}

export type CountSql<L> = (list: L, dialect: Dialect, form?: RelatedForm) => Sql

export type WholeList = Pick<GuardedList, 'collection' | 'rows'>

/** How many rows a slice reads, and how many it skips. */
export interface SliceSize {
  rows(inputs: Inputs): number
  skipped(inputs: Inputs): number
}

/** Runs queries. Those of one call see one snapshot. */
export interface Snapshot<Q> {
  row(query: Q): Awaitable<ResultRow | undefined>
  list(queries: ListQueries<Q>): Awaitable<ListRows>
}

/** `of`: reads the total from the query's row. */
export interface CountQuery<Q> {
  readonly query: Q
  of(row: ResultRow | undefined): Total
}

export interface ListQueries<Q> {
  readonly rows: Q
  readonly parent?: Q | undefined
  readonly count?: CountQuery<Q> | undefined
  /** Whether `ListRows.isNewer` will be called. */
  readonly isChecked: boolean
}

export interface ListRows {
  /** Undefined where the parent is missing or hidden. */
  readonly rows: readonly ResultRow[] | undefined
  readonly count: Total | undefined
  /** Whether the snapshot may include a commit that a stamp taken before it does not count. */
  isNewer(isCurrent: () => boolean): boolean
}
