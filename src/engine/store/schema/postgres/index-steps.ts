/** The steps of a migration on PostgreSQL that change the indexes of a table. */
import { columnsByName, predecessor } from '../changes.ts'
import type { TableChange } from '../diff.ts'
import { ident } from '../quoted.ts'
import type { TableIndex } from '../tables.ts'
import { createIndex, createIndexConcurrently, indexedColumns, shortened, temporaryName } from './ddl.ts'
import type { PartialSql } from './sql.ts'

/** The new names of the old columns. */
function newNames({ from, to }: TableChange): ReadonlyMap<string, string> {
  const oldColumns = columnsByName(from)
  return new Map(
    to.columns.flatMap(column => {
      const oldColumn = predecessor(column, oldColumns)
      return oldColumn ? [[oldColumn.name, column.name] as const] : []
    }),
  )
}

function renamed(index: TableIndex, nameOf: (column: string) => string): TableIndex {
  const { columns, order } = index
  return {
    ...index,
    columns: columns.map(nameOf),
    ...(order && { order: order.map(key => ({ ...key, column: nameOf(key.column) })) }),
  }
}

export function changeIndexes(change: TableChange): PartialSql {
  const { from, to } = change
  const names = newNames(change)
  const shape = (index: TableIndex) => `${index.unique} ${indexedColumns(index)}`
  const newIndexes = new Map(to.indexes.map(index => [shape(index), index]))
  const dropped: string[] = []
  const renames: string[] = []
  for (const index of from.indexes) {
    const key = shape(renamed(index, column => names.get(column) ?? ''))
    const replacement = newIndexes.get(key)
    const old = ident(shortened(index.name))
    if (replacement === undefined) dropped.push(`DROP INDEX IF EXISTS ${old}`)
    else if (replacement.name !== index.name) {
      renames.push(`ALTER INDEX IF EXISTS ${old} RENAME TO ${ident(shortened(replacement.name))}`)
    }
    newIndexes.delete(key)
  }
  const additions = [...newIndexes.values()].map(index => addIndex(index, change))
  return {
    prepare: additions.flatMap(part => part.prepare ?? []),
    before: dropped,
    alter: renames,
    after: additions.flatMap(part => part.after ?? []),
    finish: additions.flatMap(part => part.finish ?? []),
  }
}

/**
 * Over existing columns, the index is prepared. Over new ones it is created after the transaction if it cannot fail (see
 * `catalog.ts`), else within it.
 */
function addIndex(index: TableIndex, { from, to, columns }: TableChange): PartialSql {
  const oldColumns = columnsByName(from)
  const newColumns = columnsByName(to)
  const predecessorOf = (name: string) => {
    const column = newColumns.get(name)
    return column && predecessor(column, oldColumns)
  }
  const retyped = columns.some(
    change => change.kind === 'type' && index.columns.includes(change.newColumn.name),
  )
  if (!retyped && index.columns.every(column => predecessorOf(column) !== undefined)) {
    const name = temporaryName(index.name)
    const old = renamed(index, column => predecessorOf(column)?.name ?? column)
    const texts = createIndexConcurrently(from.name, { ...old, name })
    const rename = `ALTER INDEX ${ident(name)} RENAME TO ${ident(shortened(index.name))}`
    return { prepare: [{ kind: 'index', texts }], after: [rename] }
  }
  const isNull = index.columns.some(name => !oldColumns.has(name) && newColumns.get(name)?.initial === null)
  if (!index.unique || (isNull && !retyped)) return { finish: createIndexConcurrently(to.name, index) }
  return { after: [createIndex(to.name, index)] }
}
