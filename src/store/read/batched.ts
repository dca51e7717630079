/** Snapshots of databases that take several queries at once, and answer later. */
import type { ResultRow } from '../values.ts'
import type { Snapshot } from './database.ts'

type Rows = readonly ResultRow[]

/** Runs queries in one snapshot that is begun after the call. */
export type Ask<Q> = (queries: readonly Q[]) => Promise<readonly Rows[]>

/** How it is found out whether a snapshot is newer than the versions. */
export interface Freshness<Q> {
  /** A query in the same snapshot, where it takes one. */
  query?(): Q
  /** `isCurrent`: whether the versions are what they were before the query was asked. */
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
