/** Reads on PostgreSQL: each read is one pipeline, in one snapshot. */

import type { Principal } from '../../../../base/principal.ts'
import { AnswerBound, type AnswerLimits } from '../../../plan/answer-bound.ts'
import type { Answers, GuardedReadShape } from '../../read/answers.ts'
import { batched, type Freshness, type RunQueries } from '../../read/batched.ts'
import type { ReadDatabase, RunRead, Snapshot, Statements } from '../../read/database.ts'
import type { ReadsInFlight } from '../../read/in-flight.ts'
import { JoinedReads } from '../../read/joined-reads.ts'
import { largestAnswer } from '../../read/largest-answer.ts'
import { type ListCacheOptions, listCacheOf } from '../../read/list-cache.ts'
import { shapeRun } from '../../read/shape-run.ts'
import { WaitingCallers } from '../../read/waiting-callers.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { listSql } from '../../sql/read.ts'
import { slot, sql } from '../../sql/writer.ts'
import { type Actor, slotInputs } from '../../values.ts'
import type { Versions } from '../../versions.ts'
import { type BoundStatement, type DataRows, statementOf } from '../connections/statement.ts'
import type { Security } from '../row-security/security.ts'
import { type Checks, isTouched } from '../versions/checks.ts'
import { boundedQueries, boundedQuery } from './bounded.ts'
import { isSearchedPage, searchedPageSql } from './searched-pages.ts'

export interface ReadOptions {
  /** The collections that are read. */
  readonly reads: readonly string[]
  readonly waitingCallers: WaitingCallers
}

/** Answers queries in one snapshot that has all changes of the collections which the versions count. */
export interface ReadSource {
  ask(queries: readonly BoundStatement[], options: ReadOptions): Promise<readonly DataRows[]>
}

export interface PostgresReadsParts {
  readonly answers: Answers
  readonly answerLimits: AnswerLimits
  readonly lists: ListCacheOptions
  readonly checks: Pick<Checks, 'query'>
  readonly security: Security
  /** The value of `now` in rules; omitted: the database's own clock. */
  readonly clock?: (() => number) | undefined
  /** For Portico's own reads. */
  readonly primary: ReadSource
  /** For all other reads. */
  readonly source: ReadSource
}

export class PostgresReads implements ReadDatabase {
  readonly answers: Answers
  readonly answerBound: AnswerBound
  readonly versions: Versions
  /** With row security, answers for one user are not cached for another, even if the guard had a fault. */
  readonly isPersonal: boolean
  readonly #parts: PostgresReadsParts
  readonly #statements: Statements<BoundStatement>

  constructor(parts: PostgresReadsParts) {
    const { answers, answerLimits, lists, security } = parts
    this.#parts = parts
    this.#statements = statementsOf(security)
    this.answers = answers
    this.answerBound = new AnswerBound(answerLimits, 'readBytes')
    this.versions = lists.versions
    this.isPersonal = security.isOn
  }

  readsInFlight(): ReadsInFlight {
    return new JoinedReads()
  }

  hold(): void {}

  now(): number | undefined {
    return this.#parts.clock?.()
  }

  actor(principal: Principal): Actor | undefined {
    return this.#parts.security.actor(principal)
  }

  runOf(shape: GuardedReadShape): RunRead {
    const { lists: memory, checks, primary, source } = this.#parts
    const isPaged = shape.kind === 'list' && shape.window.kind === 'page'
    const lists = isPaged ? listCacheOf(shape, shape.window, memory) : undefined
    const run = shapeRun(shape, this.#statements, lists)
    const { reads, volatile } = shape
    const freshness: Freshness<BoundStatement> = {
      query: () => checks.query,
      isNewer: row => isTouched(row, reads),
    }
    return (inputs, { access, budgetKey }) =>
      async ({ waitingCallers = new WaitingCallers(budgetKey) }) => {
        // Volatile reads depend on the primary's clock, or on whether an address has just been confirmed.
        const from = access.system || volatile ? primary : source
        const options = { reads, waitingCallers: access.system ? new WaitingCallers('') : waitingCallers }
        return run(
          inputs,
          batchedQueries(queries => from.ask(queries, options), freshness),
        )
      }
  }
}

/** Snapshots that run the queries of `statementsOf`. They throw ANSWER_TOO_LARGE. */
export function batchedQueries(
  run: RunQueries<BoundStatement>,
  freshness: Freshness<BoundStatement>,
): Snapshot<BoundStatement> {
  return batched(boundedQueries(run), freshness, ({ hasTotal }) => hasTotal === true)
}

export function statementsOf({ isOn, dialect }: Security): Statements<BoundStatement> {
  return {
    prepare: (build, largest) => boundedQuery(dialect, build, largest),
    slice: (list, slice, size) => {
      const isSearched = isSearchedPage(list, dialect)
      const toSql = isSearched ? searchedPageSql : listSql
      const build = (limiting: Dialect) => toSql(list, slice(limiting), limiting)
      const query = boundedQuery(dialect, build, largestAnswer(list), size)
      return isSearched ? inputs => ({ ...query(inputs), hasTotal: true }) : query
    },
    count: (list, build) => {
      const statement = statementOf(build(list, dialect))
      return inputs => ({ ...statement.with(inputs), answerBound: inputs.answerBound })
    },
    whole: collection => {
      if (isOn) return inputs => totals.with({ ...inputs, slots: [collection] })
      const query = totals.with(slotInputs([collection]))
      return () => query
    },
  }
}

/** Totals of whole collections are kept as they change: see `addTotals`. */
const totals = statementOf(
  sql`SELECT coalesce(sum("n"), 0)::bigint FROM "_totals" WHERE "collection" = ${slot(0)}`,
)
