/** The plans of lists on SQLite, and how large its tables are. */
import type { Explainer, ListPlan } from '../../advice/look.ts'
import { positionSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { arg } from '../../sql/writer.ts'
import type { Connection } from '../connection.ts'
import { parsePlan, tablesByAlias } from './query-plan.ts'
import type { Totals } from './totals.ts'

/**
 * Answers at once. Conditions on related rows are explained as sets of ids: what runs where a short walk finds too few. SQLite plans without the values of parameters, so none is bound.
 */
export function sqliteExplainer(connection: Connection, totals: Totals): Explainer {
  return {
    explain: (list): ListPlan => {
      const { window } = list
      const offset = window.kind === 'page' ? arg(window.offset) : undefined
      const limit = sqlite.limit(arg(window.limit))
      const { text, rows } = connection.explain(
        positionSql(list, { after: undefined, limit, offset, keys: false, related: 'set' }, sqlite),
      )
      return { steps: parsePlan(rows), tables: tablesByAlias(text) }
    },
    totals: () => totals,
  }
}
