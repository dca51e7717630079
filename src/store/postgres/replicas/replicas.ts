/**
 * Chooses where a read is answered: by a standby whose data is exactly what the last check saw, else by the primary (see
 * `decisions/read-replicas.md`).
 */
import { ApiError } from '../../../errors.ts'
import { sql } from '../../sql/writer.ts'
import type { ReplicaCounts } from '../../store.ts'
import { noInputs } from '../../values.ts'
import type { Connector } from '../connections/connector.ts'
import type { Pool } from '../connections/pool.ts'
import type { Settings } from '../connections/settings.ts'
import { type Query, type Row, type Rows, statementOf } from '../connections/statement.ts'
import type { ReadSource } from '../read/reads.ts'
import type { CheckObserver, Checks } from '../versions/checks.ts'
import type { Writer } from '../write/writer.ts'
import { Positions } from './positions.ts'
import { Replica } from './replica.ts'
import { Timeline } from './timeline.ts'

/** The parts of the store that replicas need. */
export interface StoreForReplicas {
  readonly settings: Settings
  readonly connector: Connector
  /** The pool for reads. */
  readonly primary: Pool
  readonly watch: Pool
  readonly writer: Writer
  readonly checks: Checks
}

interface Open {
  readonly primary: Pool
  readonly timeline: Timeline
  readonly replicas: readonly Replica[]
}

const position = statementOf(sql`SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`)

/** It observes checks from before the first one on; `open` makes it a source of reads. */
export class Replicas implements ReadSource, CheckObserver {
  readonly query = position.with(noInputs)
  readonly #positions = new Positions()
  #open: Open | undefined
  #next = 0
  #answers = 0
  #unfit = 0

  open({ settings, connector, primary, watch, writer, checks }: StoreForReplicas): void {
    const { connections, maxWaiting } = settings
    const timeline = new Timeline(watch, writer)
    const replicas = settings.replicas.map(
      ({ url, onChange = () => {} }) =>
        new Replica({
          open: () => connector.replica(url),
          openWatch: () => connector.watching(url),
          size: Math.max(1, connections - 1),
          maxWaiting,
          timeline,
          news: () => checks.query,
          onChange,
        }),
    )
    this.#open = { primary, timeline, replicas }
  }

  /** Rejects with an `ApiError`. */
  async ask(queries: readonly Query[], reads: readonly string[]): Promise<readonly Rows[]> {
    const { primary } = this.#required()
    const need = this.#positions.of(reads)
    const replica = this.#choose(need)
    if (replica !== undefined) {
      const rows = await replica.read(queries, reads, need).catch(refused)
      if (rows !== undefined) {
        this.#answers++
        return rows
      }
      this.#unfit++
    }
    return primary.ask(queries)
  }

  sent(): void {
    this.#positions.sent()
  }

  answered(row: Row | undefined, names: readonly string[] | undefined): void {
    this.#positions.found(Number(row?.[0]), names)
  }

  committed(names: readonly string[]): void {
    this.#positions.committed(names)
  }

  forget(): void {
    this.#positions.forget()
    this.#open?.timeline.forget()
  }

  counts(): ReplicaCounts {
    const { replicas } = this.#required()
    const up = replicas.filter(replica => replica.isUp)
    const lags = up.map(({ place }) => Math.max(0, this.#positions.newest - Math.max(0, place)))
    return {
      known: replicas.length,
      up: up.length,
      lag: Math.max(0, ...lags),
      answers: this.#answers,
      unfit: this.#unfit,
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#required().replicas.map(replica => replica.close()))
  }

  #required(): Open {
    if (this.#open === undefined) throw new TypeError('the replicas are not open yet')
    return this.#open
  }

  /** Takes turns between the replicas that have what is needed. The others are polled until they have it. */
  #choose(need: number): Replica | undefined {
    const { replicas } = this.#required()
    let chosen: Replica | undefined
    this.#next = (this.#next + 1) % replicas.length
    for (let at = 0; at < replicas.length; at++) {
      const replica = replicas[(this.#next + at) % replicas.length]
      if (replica === undefined) continue
      if (replica.place < need) replica.seek(need)
      else chosen ??= replica
    }
    return chosen
  }
}

/** The primary can answer what a standby cannot, unless the read timed out, which it would on the primary too. */
function refused(error: unknown): undefined {
  if (isTooLong(error)) throw error
  return undefined
}

/** `query_canceled`; a conflict with what is replayed has another code. */
function isTooLong(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === '57014'
}
