/** The query plans of lists on SQLite, and the sizes of its tables. */
import type { ListPlan, PlanReader } from '../../advice/findings.ts'
import { explainedSql } from '../../sql/explained.ts'
import { sqlite } from '../../sql/sqlite.ts'
import type { Connection } from '../connection.ts'
import { parsePlan, tablesByAlias } from './query-plan.ts'
import type { Totals } from './totals.ts'

/**
 * Answers synchronously. Conditions on related rows are explained as sets of ids, the form that runs if a short scan finds too
 * few rows. SQLite plans without the values of parameters, so none is bound.
 */
export function sqlitePlanReader(connection: Connection, totals: Totals): PlanReader {
  return {
    explain: (unit): ListPlan => {
      const { text, rows } = connection.explain(explainedSql(unit, sqlite, 'set'))
      return { steps: parsePlan(rows), tables: tablesByAlias(text) }
    },
    totals: () => totals,
  }
}
