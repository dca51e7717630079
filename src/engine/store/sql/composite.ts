/** The statement of a composite read: one row, one column, a JSON object with one key per root. */
import { textEncoding } from '../../../model/fields/textual.ts'
import type { Collection } from '../../../model/model.ts'
import type { GuardedComposite, GuardedItemRoot, GuardedListRoot, GuardedRoot } from '../../plan/guarded.ts'
import type { LoggedRow, Param } from '../../plan/plan.ts'
import { aggregateRootSql } from './aggregate.ts'
import { conditionSql, whereClause } from './condition.ts'
import type { Dialect } from './dialect.ts'
import { RowAlias } from './row-alias.ts'
import { manySql, objectSql } from './select.ts'
import { arg, join, name, type Sql, sql } from './writer.ts'

export function compositeSql({ roots }: GuardedComposite, dialect: Dialect): Sql {
  // Only numbers the aliases: every root has its own table.
  const statement = new RowAlias(dialect, '')
  const entries = roots.map(root => [root.key, rootSql(root, statement)] as const)
  return sql`SELECT ${dialect.text(dialect.object(entries))}`
}

function rootSql(root: GuardedRoot, statement: RowAlias): Sql {
  if (root.kind === 'item') return itemRoot(root, statement)
  if (root.kind === 'list') return listRoot(root, statement)
  const { collection, rows, aggregation } = root
  return aggregateRootSql(
    { collection, rows, within: undefined },
    aggregation,
    statement.another(collection.name),
  )
}

function itemRoot({ collection, id, event, rows, select }: GuardedItemRoot, statement: RowAlias): Sql {
  const row = statement.another(collection.name)
  row.isLogged = event !== undefined
  const object = objectSql(select, row)
  const conditions = whereClause([sql`${row.column('id')} = ${arg(id)}`, conditionSql(rows, row)])
  const from = event === undefined ? row.from() : row.of(loggedRow(collection, id, event, row))
  return sql`(SELECT ${object} FROM ${from}${conditions})`
}

function listRoot({ collection, rows, list, select }: GuardedListRoot, statement: RowAlias): Sql {
  const another = () => statement.another(collection.name)
  const matching = (row: RowAlias) => [conditionSql(rows, row)]
  return manySql(list, select, matching, another, { collection, rows, isWhole: true })
}

/** Fields that no client may read are not in the log: they come from the stored row, if it still exists. */
function loggedRow(collection: Collection, id: Param, event: LoggedRow, row: RowAlias): Sql {
  const columns = row.usedColumns().map(column => {
    const field = collection.fields.get(column)
    if (!field) throw new Error(`${collection.name} has no field ${column}`)
    const value =
      field.internal || field.writeOnly
        ? sql`(SELECT ${name(column)} FROM ${name(row.dialect.stored(collection.name))} WHERE "id" = ${arg(id)})`
        : row.dialect.logged(arg(event.row, textEncoding), field)
    return sql`${value} AS ${name(column)}`
  })
  return sql`SELECT ${join(columns, ', ')}`
}
