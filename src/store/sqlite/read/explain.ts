/** The plans of lists on SQLite, and how large its tables are. */
import type { Explainer, ListPlan } from '../../advice/look.ts'
import { explainedSql } from '../../sql/explained.ts'
import { sqlite } from '../../sql/sqlite.ts'
import type { Connection } from '../connection.ts'
import { parsePlan, tablesByAlias } from './query-plan.ts'
import type { Totals } from './totals.ts'

/**
 * Answers at once. Conditions on related rows are explained as sets of ids: what runs where a short walk finds too few. SQLite plans without the values of parameters, so none is bound.
 */
export function sqliteExplainer(connection: Connection, totals: Totals): Explainer {
  return {
    explain: (unit): ListPlan => {
      const { text, rows } = connection.explain(explainedSql(unit, sqlite, 'set'))
      return { steps: parsePlan(rows), tables: tablesByAlias(text) }
    },
    totals: () => totals,
  }
}
