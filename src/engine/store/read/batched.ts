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

/**
 * `hasTotal`: whether the rows of a list's query end with its total. If the page is empty, such a query returns one row, whose
 * text is null.
 */
export function batched<Q>(
  run: RunQueries<Q>,
  freshness: Freshness<Q>,
  hasTotal: (query: Q) => boolean = () => false,
): Snapshot<Q> {
  return {
    row: async query => (await run([query]))[0]?.[0],
    async list({ rows, parent, count, isChecked }) {
      const check = isChecked ? freshness.query?.() : undefined
      const isTotalled = hasTotal(rows)
      const countQuery = isTotalled ? undefined : count?.query
      const queries = [check, rows, parent, countQuery].filter(query => query !== undefined)
      const results = [...(await run(queries))]
      const freshnessRow = check && results.shift()?.[0]
      const page = results.shift() ?? []
      const isMissing = parent !== undefined && results.shift()?.length === 0
      return {
        rows: isMissing ? undefined : isTotalled ? withoutTotals(page) : page,
        count: count?.of(isTotalled ? page[0]?.slice(-1) : results.shift()?.[0]),
        isNewer: isCurrent => freshness.isNewer(freshnessRow, isCurrent),
      }
    },
  }
}

function withoutTotals(rows: ResultRows): ResultRows {
  return rows.filter(([text]) => text !== null).map(row => row.slice(0, -1))
}
