/** Snapshots of asynchronous databases, which run several queries in one call. */
import type { ResultRow } from '../values.ts'
import type { Snapshot } from './database.ts'

type Rows = readonly ResultRow[]

/** Runs queries in one snapshot, begun after the call. */
export type Ask<Q> = (queries: readonly Q[]) => Promise<readonly Rows[]>

/** How to find out whether a snapshot is newer than the versions. */
export interface Freshness<Q> {
  /** A query that must run in the same snapshot, where one is needed. */
  query?(): Q
  /** `isCurrent`: whether the versions are still those from before the query. */
  isNewer(row: ResultRow | undefined, isCurrent: () => boolean): boolean
}

export function batched<Q>(ask: Ask<Q>, freshness: Freshness<Q>): Snapshot<Q> {
  return {
    row: async query => (await ask([query]))[0]?.[0],
    async list({ rows, parent, count, isChecked }) {
      const check = isChecked ? freshness.query?.() : undefined
      const queries = [check, rows, parent, count?.query].filter(query => query !== undefined)
      const results = [...(await ask(queries))]
      const checked = check && results.shift()?.[0]
      const page = results.shift() ?? []
      const isMissing = parent !== undefined && results.shift()?.length === 0
      return {
        rows: isMissing ? undefined : page,
        count: count?.of(results.shift()?.[0]),
        isNewer: isCurrent => freshness.isNewer(checked, isCurrent),
      }
    },
  }
}
