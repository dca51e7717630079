/**
 * Reads of locked tables. A read that waits for a lock delays all that were sent with it, and several of them block every
 * connection. So `lock_timeout` ends each wait soon, and from then on reads of that table are sent separately, on a few
 * connections, until the lock is released or their time is over.
 */
import { type ApiError, databaseFault } from '../../../../base/errors.ts'
import type { BoundStatement, DataRows, Statement } from '../connections/statement.ts'

/** Queries that see one snapshot. */
export interface PendingRead {
  readonly queries: readonly BoundStatement[]
  readonly resolve: (rows: readonly DataRows[]) => void
  readonly reject: (error: ApiError) => void
  /** See `WaitingCallers`. */
  readonly callers: ReadonlySet<string>
  /** Until when it may wait to be sent, by `performance.now()`. */
  readonly deadline: number
  tries: number
}

/** How long a table counts as locked, or as free, after a read has shown that it is, in milliseconds. */
const stateMs = 1000

const tablesByStatement = new WeakMap<Statement, readonly string[]>()

/** The tables that a statement reads. PostgreSQL does not say for which of them it waited. */
function tablesOf(statement: Statement): readonly string[] {
  const cached = tablesByStatement.get(statement)
  if (cached !== undefined) return cached
  const names = [...statement.text.matchAll(/\b(?:FROM|JOIN) "([^"]+)"/g)].map(([, name = '']) => name)
  const tables = [...new Set(names)]
  tablesByStatement.set(statement, tables)
  return tables
}

export class LockedReads {
  readonly #maxConnections: number
  /** Until when a table counts as locked. */
  readonly #suspects = new Map<string, number>()
  /** Until when a table counts as free; kept while another one is locked. */
  readonly #free = new Map<string, number>()
  #waiting: PendingRead[] = []
  #connections = 0

  /** `size`: how many connections there are for all reads. */
  constructor(size: number) {
    this.#maxConnections = Math.max(1, size >> 2)
  }

  /** Whether a read has recently met a lock. */
  get isAny(): boolean {
    return this.#suspects.size > 0 || this.#waiting.length > 0
  }

  get waiting(): number {
    return this.#waiting.length
  }

  waitingOf(caller: string): number {
    return this.#waiting.filter(({ callers }) => callers.has(caller)).length
  }

  get mayStart(): boolean {
    return this.#waiting.length > 0 && this.#connections < this.#maxConnections
  }

  /** The reads to be sent together; `ended` must be called when they have been answered or refused. */
  next(count: number): readonly PendingRead[] {
    this.#connections++
    return this.#waiting.splice(0, count)
  }

  ended(): void {
    this.#connections--
  }

  /** Takes the reads of locked tables and returns the others. Refuses all that have waited for too long. */
  setAside(reads: readonly PendingRead[]): PendingRead[] {
    const now = performance.now()
    for (const [table, until] of this.#suspects) if (until < now) this.#suspects.delete(table)
    if (!this.isAny) this.#free.clear()
    const isSuspect = ({ queries }: PendingRead) =>
      queries.some(({ statement }) => tablesOf(statement).some(table => this.#suspects.has(table)))
    this.#waiting.push(...reads.filter(isSuspect))
    this.#refuseLate(now)
    return reads.filter(read => !isSuspect(read))
  }

  /** A read has waited in vain for a lock, at one of its queries. */
  add(read: PendingRead, query: BoundStatement | undefined): void {
    if (query !== undefined) this.#markSuspects(tablesOf(query.statement), performance.now())
    this.#waiting.push(read)
  }

  /** Few reads of a locked table are sent each second: some are never sent before their time is over. */
  #refuseLate(now: number): void {
    const isLate = ({ deadline }: PendingRead) => deadline <= now
    const late = this.#waiting.filter(isLate)
    if (late.length === 0) return
    this.#waiting = this.#waiting.filter(read => !isLate(read))
    const cause = new Error('A table was locked for too long.')
    for (const { reject } of late) reject(databaseFault(cause))
  }

  /** The read was answered: its tables are free. Needed only while `isAny`. */
  answered(read: PendingRead): void {
    const until = performance.now() + stateMs
    for (const { statement } of read.queries) {
      for (const table of tablesOf(statement)) {
        this.#suspects.delete(table)
        this.#free.set(table, until)
      }
    }
  }

  /** Of several tables, only those that no other read has found free. */
  #markSuspects(tables: readonly string[], now: number): void {
    const unknown = tables.filter(table => (this.#free.get(table) ?? 0) < now)
    for (const table of unknown.length > 0 ? unknown : tables) this.#suspects.set(table, now + stateMs)
  }

  /** Removes and returns all reads that wait. */
  takeAll(): readonly PendingRead[] {
    return this.#waiting.splice(0)
  }
}
