/**
 * While nobody else may write, what a node knows stays true without a look at the database. Whoever means to write
 * first takes a lock that others see, and waits for as long as a lease lasts. So a node that saw nobody else's lock
 * knows of every commit until its lease ends (Gray and Cheriton 1989, https://doi.org/10.1145/74850.74870).
 */
import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { LEASE, NOTICE, WRITERS } from '../schema/postgres-session.ts'
import { slot, sql } from '../sql/writer.ts'
import { noInputs, slotted } from '../values.ts'
import { ConnectionLost } from './failure.ts'
import { type Query, type Row, type Rows, statementOf } from './statement.ts'
import type { Wire } from './wire.ts'

/** How often to look who may write, in milliseconds; and where somebody else does. */
const RENEWED = LEASE / 2
const CROWDED = 1000

/** Held until the session ends. Shared, so that nobody waits for it. */
const lock = statementOf(sql`SELECT pg_advisory_lock_shared(${[WRITERS]}, ${slot(0)})`)

/** The node's number and the session of each. */
const writers = statementOf(
  sql`SELECT "objid"::bigint, "pid" FROM pg_locks WHERE "locktype" = 'advisory' AND "classid" = ${[WRITERS]} AND "objsubid" = 2 AND "database" = (SELECT "oid" FROM pg_database WHERE "datname" = current_database())`,
)

interface Question {
  readonly query: Query
  readonly answered: (rows: Rows) => void
}

export class Lease {
  /** Beside the process id, which another server may give to another node's session. */
  readonly #node = randomInt(1, 2 ** 31)
  /** Those of this node that may write, or will, by their process ids. */
  readonly #own = new Map<number, Wire>()
  /** Those of them that have waited. */
  readonly #admitted = new Map<number, Wire>()
  #until = 0
  #renewAt = 0
  /** Commits that were sent and not answered: others may see them before this node counts them. */
  #unanswered = 0
  /** Grows when a commit may have been done that this node does not count. */
  #doubts = 0

  /** Whether this node knows of every commit that anybody has seen. `now`: of `performance.now()`. */
  holds(now: number): boolean {
    return now < this.#until && this.#unanswered === 0
  }

  /** Whether it is time to look who may write. */
  isDue(now: number): boolean {
    return now >= this.#renewAt
  }

  /**
   * Asks who may write. Ask for what was committed after it, with a snapshot of its own, and call `answered` when
   * that is counted.
   */
  question(sent: number): Question {
    const doubts = this.#doubts
    this.#renewAt = sent + RENEWED
    return {
      query: writers.with(noInputs),
      answered: rows => {
        const isAlone = rows.every(row => this.#isOneOf(this.#own, row))
        if (!isAlone) this.#renewAt = sent + CROWDED
        if (isAlone && doubts === this.#doubts) this.#until = sent + LEASE
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
   * Settles when a connection may write: no other node has a lease that does not know of it. Another of this node's
   * that still has its lock speaks for it. Rejects with `ConnectionLost`.
   */
  async admit(wire: Wire): Promise<void> {
    const { pid } = wire
    if (this.#admitted.get(pid) === wire) return
    this.#own.set(pid, wire)
    wire.onClose(() => {
      for (const wires of [this.#own, this.#admitted]) if (wires.get(pid) === wire) wires.delete(pid)
    })
    const { done, error } = await wire.run([lock.with(slotted([this.#node])), writers.with(noInputs)])
    const isSpokenFor = done[1]?.some(row => this.#isOneOf(this.#admitted, row))
    if (error === undefined && !isSpokenFor) await wait(NOTICE)
    if (wire.isClosed || error !== undefined) {
      wire.destroy()
      throw new ConnectionLost('The connection was lost before it could write.', { cause: error })
    }
    this.#admitted.set(pid, wire)
  }

  #isOneOf(wires: ReadonlyMap<number, Wire>, [node, pid]: Row): boolean {
    return node === this.#node && wires.has(Number(pid))
  }
}
