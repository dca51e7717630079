/** Snapshots of asynchronous databases, which run several queries in one call. */
import type { ResultRow, ResultRows } from '../values.ts'
import type { Snapshot } from './database.ts'

/** Runs queries in one snapshot, begun after the call. */
export type RunQueries<Q> = (queries: readonly Q[]) => Promise<readonly ResultRows[]>

/** Determines whether a snapshot is newer than the versions. */
export interface Freshness<Q> {
  /** A query that must run in the same snapshot, where one is needed. */
  query?(): Q
  /** `isCurrent`: whether the versions are still those from before the query. */
  isNewer(row: ResultRow | undefined, isCurrent: () => boolean): boolean
}

export function batched<Q>(run: RunQueries<Q>, freshness: Freshness<Q>): Snapshot<Q> {
  return {
    row: async query => (await run([query]))[0]?.[0],
    async list({ rows, parent, count, isChecked }) {
      const check = isChecked ? freshness.query?.() : undefined
      const queries = [check, rows, parent, count?.query].filter(query => query !== undefined)
      const results = [...(await run(queries))]
      const freshnessRow = check && results.shift()?.[0]
      const page = results.shift() ?? []
      const isMissing = parent !== undefined && results.shift()?.length === 0
      return {
        rows: isMissing ? undefined : page,
        count: count?.of(results.shift()?.[0]),
        isNewer: isCurrent => freshness.isNewer(freshnessRow, isCurrent),
      }
    },
  }
}
