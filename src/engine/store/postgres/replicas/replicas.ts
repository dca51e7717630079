/**
 * Chooses the server for a read: a standby whose data is exactly what the last check saw, else the primary. See
 * `decisions/read-replicas.md`.
 */
import { ApiError } from '../../../../base/errors.ts'
import { sql } from '../../sql/writer.ts'
import type { ReplicaCounts } from '../../store.ts'
import { noInputs } from '../../values.ts'
import type { Connector } from '../connections/connector.ts'
import type { Pool } from '../connections/pool.ts'
import type { PostgresSettings } from '../connections/settings.ts'
import { type BoundStatement, type DataRow, type DataRows, statementOf } from '../connections/statement.ts'
import type { ReadOptions, ReadSource } from '../read/reads.ts'
import type { CheckObserver, Checks } from '../versions/checks.ts'
import type { Writer } from '../write/writer.ts'
import { Positions } from './positions.ts'
import { Replica } from './replica.ts'
import { Timeline } from './timeline.ts'

/** The parts of the store that replicas need. */
export interface StoreForReplicas {
  readonly settings: PostgresSettings
  readonly connector: Connector
  /** The pool for reads. */
  readonly primary: Pool
  readonly watch: Pool
  readonly writer: Writer
  readonly checks: Checks
}

interface Open {
  readonly primary: Pool
  readonly timeoutMs: number
  readonly timeline: Timeline
  readonly replicas: readonly Replica[]
}

const position = statementOf(sql`SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`)

/** It observes all checks, from the first one on; `open` makes it a source of reads. */
export class Replicas implements ReadSource, CheckObserver {
  readonly query = position.with(noInputs)
  readonly #positions = new Positions()
  #open: Open | undefined
  #next = 0
  #answers = 0
  #unfit = 0

  open({ settings, connector, primary, watch, writer, checks }: StoreForReplicas): void {
    const { connections, maxWaiting, timeoutMs } = settings
    const timeline = new Timeline(watch, writer)
    const replicas = settings.replicas.map(
      ({ url, onChange = () => {} }) =>
        new Replica({
          open: () => connector.openReplica(url),
          openWatch: () => connector.openWatcher(url),
          size: Math.max(1, connections - 1),
          maxWaiting,
          timeline,
          newCommits: () => checks.query,
          onChange,
        }),
    )
    this.#open = { primary, timeoutMs, timeline, replicas }
  }

  /** Rejects with an `ApiError`. */
  async ask(
    queries: readonly BoundStatement[],
    { reads, waitingCallers }: ReadOptions,
  ): Promise<readonly DataRows[]> {
    const { primary, timeoutMs } = this.#requireOpen()
    // One time for both: a read that has waited for the replica does not wait as long again for the primary.
    const deadline = performance.now() + timeoutMs
    const requiredPosition = this.#positions.required(reads)
    const replica = this.#choose(requiredPosition)
    if (replica !== undefined) {
      const rows = await replica
        .read(queries, { reads, requiredPosition, waitingCallers, deadline })
        .catch(undefinedUnlessTimeout)
      if (rows !== undefined) {
        this.#answers++
        return rows
      }
      this.#unfit++
    }
    return primary.ask(queries, { waitingCallers, deadline })
  }

  onSent(): void {
    this.#positions.checkSent()
  }

  onAnswered(row: DataRow | undefined, names: readonly string[] | undefined): void {
    this.#positions.checkAnswered(Number(row?.[0]), names)
  }

  onCommitted(names: readonly string[]): void {
    this.#positions.committed(names)
  }

  forget(): void {
    this.#positions.forget()
    this.#open?.timeline.forget()
  }

  counts(): ReplicaCounts {
    const { replicas } = this.#requireOpen()
    const up = replicas.filter(replica => replica.isUp)
    const lags = up.map(({ position }) => Math.max(0, this.#positions.newest - Math.max(0, position)))
    return {
      known: replicas.length,
      up: up.length,
      lag: Math.max(0, ...lags),
      answers: this.#answers,
      unfit: this.#unfit,
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#requireOpen().replicas.map(replica => replica.close()))
  }

  #requireOpen(): Open {
    if (this.#open === undefined) throw new TypeError('the replicas are not open yet')
    return this.#open
  }

  /** Takes turns between the replicas that have reached the position. Polls the others more often until they reach it. */
  #choose(requiredPosition: number): Replica | undefined {
    const { replicas } = this.#requireOpen()
    let chosen: Replica | undefined
    this.#next = (this.#next + 1) % replicas.length
    for (let step = 0; step < replicas.length; step++) {
      const replica = replicas[(this.#next + step) % replicas.length]
      if (replica === undefined) continue
      if (replica.position < requiredPosition) replica.seek(requiredPosition)
      else chosen ??= replica
    }
    return chosen
  }
}

/** The primary can answer a read that a standby refused, unless it timed out: it would time out on the primary too. */
function undefinedUnlessTimeout(error: unknown): undefined {
  if (isTimeout(error)) throw error
  return undefined
}

/** `query_canceled`. A conflict with recovery has another code. */
function isTimeout(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === '57014'
}
