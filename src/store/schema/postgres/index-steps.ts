/** The steps of a migration on PostgreSQL that change the indexes of a table. */
import { columnsByName, predecessor } from '../changes.ts'
import type { TableChange } from '../diff.ts'
import { ident } from '../quoted.ts'
import type { TableIndex } from '../tables.ts'
import { createIndex, createIndexConcurrently, indexedColumns, shortened, temporaryName } from './ddl.ts'
import type { Part } from './sql.ts'

/** The names that old columns have now. */
function newNames({ from, to }: TableChange): ReadonlyMap<string, string> {
  const old = columnsByName(from)
  return new Map(
    to.columns.flatMap(column => {
      const was = predecessor(column, old)
      return was ? [[was.name, column.name] as const] : []
    }),
  )
}

function renamed(index: TableIndex, nameOf: (column: string) => string): TableIndex {
  const { columns, order } = index
  return {
    ...index,
    columns: columns.map(nameOf),
    ...(order && { order: order.map(each => ({ ...each, column: nameOf(each.column) })) }),
  }
}

export function changeIndexes(change: TableChange): Part {
  const { from, to } = change
  const names = newNames(change)
  const shape = (index: TableIndex) => `${index.unique} ${indexedColumns(index)}`
  const wanted = new Map(to.indexes.map(index => [shape(index), index]))
  const dropped: string[] = []
  const renames: string[] = []
  for (const index of from.indexes) {
    const key = shape(renamed(index, column => names.get(column) ?? ''))
    const is = wanted.get(key)
    const old = ident(shortened(index.name))
    if (is === undefined) dropped.push(`DROP INDEX IF EXISTS ${old}`)
    else if (is.name !== index.name) {
      renames.push(`ALTER INDEX IF EXISTS ${old} RENAME TO ${ident(shortened(is.name))}`)
    }
    wanted.delete(key)
  }
  const made = [...wanted.values()].map(index => addIndex(index, change))
  return {
    prepare: made.flatMap(part => part.prepare ?? []),
    before: dropped,
    alter: renames,
    after: made.flatMap(part => part.after ?? []),
    finish: made.flatMap(part => part.finish ?? []),
  }
}

/**
 * Over existing columns, the index is prepared. Over new ones it is created after the transaction if it cannot fail (see
 * `catalog.ts`), else within it.
 */
function addIndex(index: TableIndex, { from, to, columns }: TableChange): Part {
  const old = columnsByName(from)
  const now = columnsByName(to)
  const predecessorOf = (name: string) => {
    const column = now.get(name)
    return column && predecessor(column, old)
  }
  const retyped = columns.some(({ kind, ...each }) => {
    return kind === 'type' && 'is' in each && index.columns.includes(each.is.name)
  })
  if (!retyped && index.columns.every(column => predecessorOf(column) !== undefined)) {
    const name = temporaryName(index.name)
    const old = renamed(index, column => predecessorOf(column)?.name ?? column)
    const texts = createIndexConcurrently(from.name, { ...old, name })
    const rename = `ALTER INDEX ${ident(name)} RENAME TO ${ident(shortened(index.name))}`
    return { prepare: [{ kind: 'index', texts }], after: [rename] }
  }
  const empty = index.columns.some(name => !old.has(name) && now.get(name)?.initial === null)
  if (!index.unique || (empty && !retyped)) return { finish: createIndexConcurrently(to.name, index) }
  return { after: [createIndex(to.name, index)] }
}
