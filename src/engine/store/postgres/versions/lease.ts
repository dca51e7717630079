/**
 * While no other node may write, a node's cache stays valid without asking the database. A node that is about to write first
 * takes a lock that others see, and waits for as long as a lease lasts. So a node that saw no lock of another node knows of
 * every commit until its lease ends (Gray and Cheriton 1989, https://doi.org/10.1145/74850.74870).
 */
import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { leaseMs, noticeMs, writerLockClass } from '../../schema/postgres/session.ts'
import { slot, sql } from '../../sql/writer.ts'
import { noInputs, slotInputs } from '../../values.ts'
import type { Connection } from '../connections/connection.ts'
import { ConnectionLost } from '../connections/failure.ts'
import { type BoundStatement, type DataRow, type DataRows, statementOf } from '../connections/statement.ts'

/** How often to ask who may write: while no other node may, and while one may. */
const renewalMs = leaseMs / 2
const sharedRenewalMs = 1000

/** Held until the session ends. The lock is shared, so that no session waits for it. */
const lock = statementOf(sql`SELECT pg_advisory_lock_shared(${[writerLockClass]}, ${slot(0)})`)

/** The number and the session of each node that may write. */
const writers = statementOf(
  sql`SELECT "objid"::bigint, "pid" FROM pg_locks WHERE "locktype" = 'advisory' AND "classid" = ${[writerLockClass]} AND "objsubid" = 2 AND "database" = (SELECT "oid" FROM pg_database WHERE "datname" = current_database())`,
)

interface Renewal {
  readonly query: BoundStatement
  readonly onAnswer: (rows: DataRows) => void
}

export class CacheLease {
  /** In addition to the process id, which another server may give to another node's session. */
  readonly #node = randomInt(1, 2 ** 31)
  /** The connections of this node that may write, or are about to, by their process ids. */
  readonly #own = new Map<number, Connection>()
  /** The ones among them that have waited for the length of a lease. */
  readonly #admitted = new Map<number, Connection>()
  #expiresAt = 0
  #renewAt = 0
  /** The number of unanswered COMMITs: others may see them before this node counts them. */
  #unanswered = 0
  /** Increases when this node may have missed a commit. */
  #invalidations = 0

  /** Whether this node knows of every commit that any client has seen. `now`: of `performance.now()`. */
  holds(now: number): boolean {
    return now < this.#expiresAt && this.#unanswered === 0
  }

  /** Whether it is time to ask who may write. */
  isDue(now: number): boolean {
    return now >= this.#renewAt
  }

  /**
   * Asks who may write. The caller then reads the new commits with a later snapshot, counts them, and calls `onAnswer`.
   */
  renewal(sent: number): Renewal {
    const invalidations = this.#invalidations
    this.#renewAt = sent + renewalMs
    return {
      query: writers.with(noInputs),
      onAnswer: rows => {
        const isAlone = rows.every(row => this.#isOneOf(this.#own, row))
        if (!isAlone) this.#renewAt = sent + sharedRenewalMs
        if (isAlone && invalidations === this.#invalidations) this.#expiresAt = sent + leaseMs
      },
    }
  }

  /** Another server may answer from now on. */
  end(): void {
    this.#expiresAt = 0
    this.#renewAt = 0
    this.#invalidations++
  }

  /** A COMMIT is sent. The returned function is to be called when it has ended: `isKnown`: its outcome is known, and counted. */
  commit(): (isKnown: boolean) => void {
    this.#unanswered++
    return isKnown => {
      this.#unanswered--
      if (!isKnown) this.end()
    }
  }

  /**
   * Settles when a connection may write: by then, every lease of another node takes it into account. It does not wait if
   * another connection of this node holds its lock. Rejects with `ConnectionLost`.
   */
  async admit(connection: Connection): Promise<void> {
    const { pid } = connection
    if (this.#admitted.get(pid) === connection) return
    this.#own.set(pid, connection)
    connection.onClose(() => {
      for (const connections of [this.#own, this.#admitted])
        if (connections.get(pid) === connection) connections.delete(pid)
    })
    const { results, error } = await connection.run([
      lock.with(slotInputs([this.#node])),
      writers.with(noInputs),
    ])
    const isAdmitted = results[1]?.some(row => this.#isOneOf(this.#admitted, row))
    if (error === undefined && !isAdmitted) await wait(noticeMs)
    if (connection.isClosed || error !== undefined) {
      connection.destroy()
      throw new ConnectionLost('The connection was lost before it could write.', { cause: error })
    }
    this.#admitted.set(pid, connection)
  }

  #isOneOf(connections: ReadonlyMap<number, Connection>, [node, pid]: DataRow): boolean {
    return node === this.#node && connections.has(Number(pid))
  }
}
