/** Synchronous reads on the event loop. */
import type { Snapshot, Statements } from '../../read/database.ts'
import { listSql } from '../../sql/read.ts'
import { isRanked } from '../../sql/search.ts'
import { budgetedSqlite, sqlite } from '../../sql/sqlite.ts'
import type { Inputs } from '../../values.ts'
import { countStatement } from './count.ts'
import type { InlineContext, InlineQuery, InlineStatement } from './inline-statement.ts'
import { followsRelations, RelatedRows } from './related-rows.ts'
import type { Totals } from './totals.ts'

/** `isBudgeted`: whether their time is limited: see `budget.ts`. */
export function inlineStatements(shared: InlineContext, isBudgeted: boolean): Statements<InlineQuery> {
  const dialect = isBudgeted ? budgetedSqlite : sqlite
  const context = { ...shared, dialect }
  const { connection, totals } = context
  const query = (statement: InlineStatement) => (inputs: Inputs) => ({ statement, inputs })
  return {
    prepare: build => query(connection.prepare(build(dialect))),
    slice: (list, sliceOf, size) => {
      const slice = sliceOf(dialect)
      const isPlain = !followsRelations(list.rows) || isRanked(list.sort)
      return query(
        isPlain
          ? connection.prepare(listSql(list, slice, dialect))
          : new RelatedRows(list, slice, size, context),
      )
    },
    count: (list, build) => {
      const statement = countStatement(list, build, context)
      return inputs => ({ statement: statement(), inputs })
    },
    whole: collection => query(wholeTotal(collection, totals)),
  }
}

/** The total of a whole collection. */
function wholeTotal(collection: string, totals: Totals): InlineStatement {
  const get = () => [totals.of(collection)]
  return { get, all: () => [get()] }
}

const never = () => false

/** The snapshot that reads of one turn of the event loop share. */
export const inlineSnapshot: Snapshot<InlineQuery> = {
  row: ({ statement, inputs }) => statement.get(inputs),
  list({ rows, parent, count }) {
    if (parent !== undefined && parent.statement.get(parent.inputs) === undefined) return missingParent
    const counted = count?.of(count.query.statement.get(count.query.inputs))
    const { statement, inputs } = rows
    return { rows: statement.all(inputs, inputs.total ?? counted?.total), count: counted, isNewer: never }
  },
}

const missingParent = { rows: undefined, count: undefined, isNewer: never }
