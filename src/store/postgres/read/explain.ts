/** The plans of lists on PostgreSQL, and how large its tables are. */
import type { Awaitable } from '../../../plan/answer.ts'
import type { Totals } from '../../advice/facts.ts'
import type { ListPlan, PlanReader } from '../../advice/look.ts'
import { explainedSql } from '../../sql/explained.ts'
import { sql } from '../../sql/writer.ts'
import { noInputs } from '../../values.ts'
import type { Pool } from '../connections/pool.ts'
import { statementOf } from '../connections/statement.ts'
import type { Security } from '../row-security/security.ts'
import { postgresPlan } from './query-plan.ts'

/** How old the totals may be, in milliseconds: they only give the approximate size of tables. */
const totalsMs = 5000

const totalsStatement = statementOf(
  sql`SELECT "collection", sum("n")::bigint FROM "_totals" GROUP BY "collection"`,
)

export function postgresPlanReader(pool: Pool, { dialect, actor }: Security): PlanReader {
  let known: { readonly at: number; readonly totals: Awaitable<Totals> } | undefined

  const readTotals = async (): Promise<Totals> => {
    const rows = await pool.rows(totalsStatement, noInputs)
    const counts = new Map(rows.map(([collection, n]) => [String(collection), Number(n)]))
    const totals = { of: (collection: string) => counts.get(collection) ?? 0 }
    known = { at: Date.now(), totals }
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
      if (known !== undefined && Date.now() - known.at < totalsMs) return known.totals
      const totals = readTotals()
      known = { at: Date.now(), totals }
      totals.catch(() => {
        known = undefined
      })
      return totals
    },
  }
}
