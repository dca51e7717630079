/** The steps of a migration on PostgreSQL that rebuild the search of a table. */
import { searchTable } from '../../sql/dialect.ts'
import { columnsByName, isConverted, predecessor } from '../changes.ts'
import type { TableChange } from '../diff.ts'
import { ident } from '../quoted.ts'
import type { Column, Table } from '../tables.ts'
import { convertedSql } from './conversion.ts'
import { createSearchTrigger, searchIndexName, searchKeyName, temporaryName } from './ddl.ts'
import type { PartialSql, SearchPreparation } from './sql.ts'

export function changeSearch({ from, to }: TableChange): PartialSql {
  const old = ident(searchTable(from.name))
  const drops =
    from.search.length === 0
      ? []
      : [`DROP TRIGGER IF EXISTS "_unsearched" ON ${ident(from.name)}`, `DROP TABLE IF EXISTS ${old}`]
  if (to.search.length === 0) return { before: drops }
  const name = searchTable(to.name)
  const temporaryTable = temporaryName(name)
  return {
    prepare: [searchPreparation(from, to)],
    before: drops,
    after: [
      `ALTER TABLE ${ident(temporaryTable)} RENAME TO ${ident(name)}`,
      `ALTER INDEX ${ident(searchIndexName(temporaryTable))} RENAME TO ${ident(searchIndexName(name))}`,
      `ALTER INDEX ${ident(searchKeyName(temporaryTable))} RENAME TO ${ident(searchKeyName(name))}`,
      createSearchTrigger(to.name),
    ],
  }
}

function searchPreparation(from: Table, to: Table): SearchPreparation {
  const oldColumns = columnsByName(from)
  const newColumns = columnsByName(to)
  const sources = to.search.map(name => {
    const column = newColumns.get(name)
    const oldColumn = column && predecessor(column, oldColumns)
    const initial = column?.initial?.kind === 'value' ? column.initial.value : null
    const isFilled = oldColumn === undefined || column?.optional === false
    return {
      column: name,
      expression: column && oldColumn && newValue(oldColumn, column),
      text: isFilled ? String(initial ?? '') : '',
    }
  })
  return { kind: 'search', from: from.name, to: to.name, sources }
}

/** The value of a column after the migration, from a row before it. */
function newValue(oldColumn: Column, newColumn: Column): string {
  return isConverted(oldColumn, newColumn)
    ? convertedSql(oldColumn, { ...newColumn, name: oldColumn.name })
    : ident(oldColumn.name)
}
