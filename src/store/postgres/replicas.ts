/**
 * Where reads are answered: by a standby that has just what the last check has seen of what is read, else by the
 * primary (see `decisions/read-replicas.md`).
 */
import { ApiError } from '../../errors.ts'
import type { ReplicaCounts } from '../store.ts'
import type { Pool } from './pool.ts'
import type { Positions } from './positions.ts'
import type { Replica } from './replica.ts'
import type { Query, Rows } from './statement.ts'

interface ReplicasParts {
  readonly replicas: readonly Replica[]
  readonly primary: Pool
  readonly positions: Positions
}

export class Replicas {
  readonly #parts: ReplicasParts
  #next = 0
  #answers = 0
  #unfit = 0

  constructor(parts: ReplicasParts) {
    this.#parts = parts
  }

  /** Runs the queries in one snapshot that has all changes of `reads` which the versions count. Rejects with an `ApiError`. */
  async bundle(queries: readonly Query[], reads: readonly string[]): Promise<readonly Rows[]> {
    const need = this.#parts.positions.of(reads)
    const replica = this.#choose(need)
    if (replica !== undefined) {
      const rows = await replica.read(queries, reads, need).catch(refused)
      if (rows !== undefined) {
        this.#answers++
        return rows
      }
      this.#unfit++
    }
    return this.#parts.primary.bundle(queries)
  }

  counts(): ReplicaCounts {
    const { replicas, positions } = this.#parts
    const up = replicas.filter(replica => replica.isUp)
    const lags = up.map(({ place }) => Math.max(0, positions.newest - Math.max(0, place)))
    return {
      known: replicas.length,
      up: up.length,
      lag: Math.max(0, ...lags),
      answers: this.#answers,
      unfit: this.#unfit,
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.replicas.map(replica => replica.close()))
  }

  /** In turn those that have what is needed. The others are asked whether they have it by now. */
  #choose(need: number): Replica | undefined {
    const { replicas } = this.#parts
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

/** What a standby cannot do, the primary can; but for what takes too long, which would do so there too. */
function refused(error: unknown): undefined {
  if (isTooLong(error)) throw error
  return undefined
}

/** `query_canceled`; a conflict with what is replayed has another code. */
function isTooLong(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === '57014'
}
