/**
 * Versions that count every node's commits. Each writing transaction leaves a row with the names that it touched; a check
 * reads the rows that the previous check's snapshot did not see. One check serves all callers until it is sent.
 */

import type { Awaitable } from '../../../../base/awaitable.ts'
import { ApiError } from '../../../../base/errors.ts'
import { slot, sql } from '../../sql/writer.ts'
import { type ResultRow, slotInputs } from '../../values.ts'
import type { Versions } from '../../versions.ts'
import type { Pool } from '../connections/pool.ts'
import { type BoundStatement, type DataRow, type DataRows, statementOf } from '../connections/statement.ts'
import { floorRow } from '../log/event-log.ts'
import type { CacheLease } from './lease.ts'

/** After more commits since the last check, everything counts as changed. */
const maxCommits = 1000
/** How many of this node's commits that no check has seen yet are remembered. */
const maxOwnCommits = 10_000

const since = sql`${slot(0)}::text::pg_snapshot`
const unseen = sql`SELECT "xid", "names" FROM "_touched" WHERE "xid" >= pg_snapshot_xmin(${since}) AND NOT pg_visible_in_snapshot("xid", ${since}) LIMIT ${slot(1)}`
const lost = sql`(SELECT "names"::xid8 FROM "_touched" WHERE "xid" = ${floorRow}) > pg_snapshot_xmin(${since})`
const check = sql`SELECT now."s"::text, CASE WHEN now."s"::text <> ${slot(0)}::text THEN (SELECT string_agg("xid"::text || E'\\n' || "names", E'\\n\\n') FROM (${unseen}) AS "q") END, CASE WHEN now."s"::text <> ${slot(0)}::text THEN ${lost} END FROM (SELECT pg_current_snapshot() AS "s") AS now`

/** Is notified of checks and of this node's commits. With an observer, leases are not used. */
export interface CheckObserver {
  /** Sent after the snapshot of each check is taken. */
  readonly query: BoundStatement
  /** A check is sent: its snapshot sees all commits of this node until now. */
  onSent(): void
  /**
   * The check was answered; the versions will count its commits. `names`: those that the newly visible commits touched;
   * undefined: unknown, perhaps all.
   */
  onAnswered(row: DataRow | undefined, names: readonly string[] | undefined): void
  /** A commit of this node is counted. */
  onCommitted(names: readonly string[]): void
  /** Another server may answer from now on. */
  forget(): void
}

export interface ChecksParts {
  readonly pool: Pool
  readonly versions: Versions
  readonly lease: CacheLease
  /** A commit of another node was noticed. */
  readonly onChange: () => void
  readonly observer?: CheckObserver | undefined
}

/** The commits since the last check: the transaction id of each, and the names that it touched. Undefined: unknown. */
function commitsOf([, touched, isLost]: ResultRow): readonly (readonly string[])[] | undefined {
  if (isLost === 1) return undefined
  const commits = typeof touched === 'string' ? touched.split('\n\n') : []
  return commits.length > maxCommits ? undefined : commits.map(commit => commit.split('\n'))
}

/** Whether an answer to `query` contains a commit that touched one of the names. */
export function isTouched(row: ResultRow | undefined, names: readonly string[]): boolean {
  const commits = row && commitsOf(row)
  return commits === undefined || commits.some(([, ...touched]) => touched.some(name => names.includes(name)))
}

interface PendingCheck {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export class Checks {
  readonly #parts: ChecksParts
  readonly #statement = statementOf(check)
  readonly #ownCommits = new Set<string>()
  #next: PendingCheck | undefined
  #isRunning = false
  /** Older than every other snapshot. */
  #snapshot = '1:1:'
  #isLost = false

  constructor(parts: ChecksParts) {
    this.#parts = parts
  }

  /** A query to be sent with others: `isTouched` then shows whether their snapshot contains new commits. */
  get query(): BoundStatement {
    return this.#statement.with(slotInputs([this.#snapshot, maxCommits + 1]))
  }

  /** Counts everything as changed: another server may answer from now on, with other transactions. */
  forget(): void {
    this.#isLost = true
    this.#parts.lease.end()
    this.#parts.observer?.forget()
  }

  /** Afterwards the versions count every commit that was acknowledged before the call. Queries the database only if needed. */
  refresh(): Awaitable<void> {
    const { lease } = this.#parts
    const now = performance.now()
    if (!lease.holds(now)) return this.poll()
    if (lease.isDue(now)) this.poll().catch(() => {})
  }

  /** Afterwards the versions count every commit that was visible before the call, whether acknowledged or not. */
  poll(): Promise<void> {
    if (this.#next === undefined) {
      this.#next = Promise.withResolvers<void>()
      if (!this.#isRunning) setImmediate(() => void this.#run())
    }
    return this.#next.promise
  }

  /** Counts a commit of this node, which no check has to count again. */
  committed(xid: string, names: readonly string[]): void {
    this.#parts.versions.bump(names)
    this.#parts.observer?.onCommitted(names)
    this.#ownCommits.add(xid)
    if (this.#ownCommits.size > maxOwnCommits) this.#ownCommits.clear()
  }

  async #run(): Promise<void> {
    const check = this.#next
    if (check === undefined || this.#isRunning) return
    this.#isRunning = true
    this.#next = undefined
    try {
      await this.#query()
      check.resolve()
    } catch (error) {
      check.reject(error)
    } finally {
      this.#isRunning = false
      if (this.#next !== undefined) setImmediate(() => void this.#run())
    }
  }

  async #query(): Promise<void> {
    const { pool, observer, lease } = this.#parts
    const now = performance.now()
    if (observer !== undefined) {
      observer.onSent()
      const [rows, observerRows] = await pool.ask([this.query, observer.query], { isImmediate: true })
      this.#apply(rows, observerRows)
    } else if (lease.isDue(now)) {
      const { query, onAnswer } = lease.renewal(now)
      const [writers = [], rows] = await pool.ask([query, this.query], { isImmediate: true })
      this.#apply(rows)
      onAnswer(writers)
    } else this.#apply((await pool.ask([this.query], { isImmediate: true }))[0])
  }

  #apply(rows: DataRows | undefined, observerRows?: DataRows): void {
    const { observer, onChange } = this.#parts
    const row = rows?.[0]
    if (row === undefined) throw new ApiError('UNAVAILABLE')
    const commits = commitsOf(row)
    this.#snapshot = String(row[0])
    if (commits === undefined || this.#isLost) {
      this.#isLost = false
      this.#parts.versions.bumpAll()
      this.#ownCommits.clear()
      observer?.onAnswered(observerRows?.[0], undefined)
      onChange()
      return
    }
    observer?.onAnswered(
      observerRows?.[0],
      commits.flatMap(([, ...names]) => names),
    )
    let hasOtherCommits = false
    for (const [xid = '', ...names] of commits) {
      if (this.#ownCommits.delete(xid) || names.every(name => name === '')) continue
      hasOtherCommits = true
      this.#parts.versions.bump(names)
    }
    if (hasOtherCommits) onChange()
  }
}
