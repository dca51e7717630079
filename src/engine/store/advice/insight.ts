/** The public view of a store's query statistics. */
import type { QueryInsight } from '../store.ts'
import type { QueryStatistics } from './statistics.ts'

export function insightOf(statistics: QueryStatistics | undefined): QueryInsight | undefined {
  return (
    statistics && {
      takeSlow: () => statistics.slow.take(),
      describe: plan => statistics.describe(plan),
    }
  )
}
