/**
 * While no other node may write, what a node knows stays true without asking the database. A node that is about to write
 * first takes a lock that others see, and waits for as long as a lease lasts. So a node that saw no lock of another node
 * knows of every commit until its lease ends (Gray and Cheriton 1989, https://doi.org/10.1145/74850.74870).
 */
import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { leaseMs, noticeMs, writerLockClass } from '../../schema/postgres/session.ts'
import { slot, sql } from '../../sql/writer.ts'
import { noInputs, slotted } from '../../values.ts'
import type { Connection } from '../connections/connection.ts'
import { ConnectionLost } from '../connections/failure.ts'
import { type Query, type Row, type Rows, statementOf } from '../connections/statement.ts'

/** How often to ask who may write: while no other node may, and while one may. */
const renewalMs = leaseMs / 2
const sharedRenewalMs = 1000

/** Held until the session ends. Shared, so that nobody waits for it. */
const lock = statementOf(sql`SELECT pg_advisory_lock_shared(${[writerLockClass]}, ${slot(0)})`)

/** The number and the session of each node that may write. */
const writers = statementOf(
  sql`SELECT "objid"::bigint, "pid" FROM pg_locks WHERE "locktype" = 'advisory' AND "classid" = ${[writerLockClass]} AND "objsubid" = 2 AND "database" = (SELECT "oid" FROM pg_database WHERE "datname" = current_database())`,
)

interface Question {
  readonly query: Query
  readonly answered: (rows: Rows) => void
}

export class Lease {
  /** Beside the process id, which another server may give to another node's session. */
  readonly #node = randomInt(1, 2 ** 31)
  /** The connections of this node that may write, or are about to, by their process ids. */
  readonly #own = new Map<number, Connection>()
  /** Those of them that have waited for the length of a lease. */
  readonly #admitted = new Map<number, Connection>()
  #until = 0
  #renewAt = 0
  /** The number of unanswered COMMITs: others may see them before this node counts them. */
  #unanswered = 0
  /** Increases when this node may have missed a commit. */
  #doubts = 0

  /** Whether this node knows of every commit that anybody has seen. `now`: of `performance.now()`. */
  holds(now: number): boolean {
    return now < this.#until && this.#unanswered === 0
  }

  /** Whether it is time to ask who may write. */
  isDue(now: number): boolean {
    return now >= this.#renewAt
  }

  /**
   * Asks who may write. The caller then asks what was committed, with a later snapshot, and calls `answered` when that is
   * counted.
   */
  question(sent: number): Question {
    const doubts = this.#doubts
    this.#renewAt = sent + renewalMs
    return {
      query: writers.with(noInputs),
      answered: rows => {
        const isAlone = rows.every(row => this.#isOneOf(this.#own, row))
        if (!isAlone) this.#renewAt = sent + sharedRenewalMs
        if (isAlone && doubts === this.#doubts) this.#until = sent + leaseMs
      },
    }
  }

  /** Another server may answer from now on. */
  end(): void {
    this.#until = 0
    this.#renewAt = 0
    this.#doubts++
  }

  /** A COMMIT is sent. The result is to be called with whether its outcome is known, and counted. */
  commit(): (isKnown: boolean) => void {
    this.#unanswered++
    return isKnown => {
      this.#unanswered--
      if (!isKnown) this.end()
    }
  }

  /**
   * Settles when a connection may write: by then, every lease of another node has taken it into account. It need not wait if
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
    const { done, error } = await connection.run([lock.with(slotted([this.#node])), writers.with(noInputs)])
    const isSpokenFor = done[1]?.some(row => this.#isOneOf(this.#admitted, row))
    if (error === undefined && !isSpokenFor) await wait(noticeMs)
    if (connection.isClosed || error !== undefined) {
      connection.destroy()
      throw new ConnectionLost('The connection was lost before it could write.', { cause: error })
    }
    this.#admitted.set(pid, connection)
  }

  #isOneOf(connections: ReadonlyMap<number, Connection>, [node, pid]: Row): boolean {
    return node === this.#node && connections.has(Number(pid))
  }
}
