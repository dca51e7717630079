/** What a database supplies so that the one reader runs on it. `Q`: a statement of it with its values. */
import type { Awaitable } from '../../plan/answer.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { Principal } from '../../principal.ts'
import type { RelatedForm } from '../sql/condition.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Slice } from '../sql/read.ts'
import type { Sql } from '../sql/writer.ts'
import type { Actor, Inputs, ResultRow } from '../values.ts'
import type { Versions } from '../versions.ts'
import type { Answer, Answers, ReadShape } from './answers.ts'
import type { Later } from './in-flight.ts'
import type { Total } from './lists.ts'

export interface ReadDatabase {
  readonly answers: Answers
  readonly versions: Versions
  /** Whether reads wait for the database in turns of their callers. */
  readonly queuesByCaller: boolean
  /** Whether no answer may be given to another user, whatever the shape says. */
  readonly isPersonal: boolean
  /** Begins a snapshot whose commits the versions count, where reads are answered at once. */
  hold(): void
  /** What `now` stands for in rules, in milliseconds since 1970; undefined: the database's own clock. */
  now(): number | undefined
  actor(principal: Principal): Actor | undefined
  runOf(shape: ReadShape): Run
}

/** Answers at once, or says how to ask. */
export type Run = (inputs: Inputs, principal: Principal) => Answer | Later

/** Makes the statements of one shape. Those that it returns are compiled once. */
export interface Statements<Q> {
  /** `build` asks the dialect for every limit. */
  prepare(build: (dialect: Dialect) => Sql): (inputs: Inputs) => Q
  /** The lines of `listSql`. */
  slice(list: GuardedList, slice: (dialect: Dialect) => Slice, size: SliceSize): (inputs: Inputs) => Q
  /** A statement over the rows of a whole list. */
  count<L extends WholeList>(list: L, build: CountSql<L>): (inputs: Inputs) => Q
  /** How many rows a whole collection has, as writes keep it. */
  whole(collection: string): (inputs: Inputs) => Q
}

export type CountSql<L> = (list: L, dialect: Dialect, form?: RelatedForm) => Sql

export type WholeList = Pick<GuardedList, 'collection' | 'rows'>

/** How many rows a slice asks for, and how many it skips. */
export interface SliceSize {
  rows(inputs: Inputs): number
  skipped(inputs: Inputs): number
}

/** Where queries run. Those of one call see one snapshot. */
export interface Snapshot<Q> {
  row(query: Q): Awaitable<ResultRow | undefined>
  list(queries: ListQueries<Q>): Awaitable<ListRows>
}

/** `of`: what the query's row says. */
export interface Count<Q> {
  readonly query: Q
  of(row: ResultRow | undefined): Total
}

export interface ListQueries<Q> {
  readonly rows: Q
  readonly parent?: Q | undefined
  readonly count?: Count<Q> | undefined
  /** How many match, where that is known. */
  readonly total?: Total | undefined
  /** Whether it matters if the snapshot is newer than the versions: see `ListRows.isNewer`. */
  readonly isChecked: boolean
}

export interface ListRows {
  /** Undefined: the parent is missing or hidden. */
  readonly rows: readonly ResultRow[] | undefined
  readonly count: Total | undefined
  /** Whether the snapshot may show a commit that a stamp does not count, which was taken before it. */
  isNewer(isCurrent: () => boolean): boolean
}
