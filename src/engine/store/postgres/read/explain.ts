/** The query plans of lists on PostgreSQL, and the sizes of its tables. */
import type { Awaitable } from '../../../../base/awaitable.ts'
import type { Totals } from '../../advice/facts.ts'
import type { ListPlan, PlanReader } from '../../advice/findings.ts'
import { explainedSql } from '../../sql/explained.ts'
import { sql } from '../../sql/writer.ts'
import { noInputs } from '../../values.ts'
import type { Pool } from '../connections/pool.ts'
import { statementOf } from '../connections/statement.ts'
import type { Security } from '../row-security/security.ts'
import { postgresPlan } from './query-plan.ts'

/** The maximum age of the totals, in milliseconds: they only need to be approximate. */
const maxTotalsAgeMs = 5000

const totalsStatement = statementOf(
  sql`SELECT "collection", sum("n")::bigint FROM "_totals" GROUP BY "collection"`,
)

export function postgresPlanReader(pool: Pool, { dialect, actor }: Security): PlanReader {
  let cached: { readonly at: number; readonly totals: Awaitable<Totals> } | undefined

  const readTotals = async (): Promise<Totals> => {
    const rows = await pool.rows(totalsStatement, noInputs)
    const counts = new Map(rows.map(([collection, n]) => [String(collection), Number(n)]))
    const totals = { of: (collection: string) => counts.get(collection) ?? 0 }
    cached = { at: performance.now(), totals }
    return totals
  }

  return {
    actor,
    explain: async (unit, inputs): Promise<ListPlan> => {
      const explained = explainedSql(unit, dialect)
      const [rows] = await pool.ask([statementOf(sql`EXPLAIN (FORMAT JSON) ${explained}`).with(inputs)])
      return postgresPlan(String(rows?.[0]?.[0]))
    },
    totals() {
      if (cached !== undefined && performance.now() - cached.at < maxTotalsAgeMs) return cached.totals
      const totals = readTotals()
      cached = { at: performance.now(), totals }
      totals.catch(() => {
        cached = undefined
      })
      return totals
    },
  }
}
