/** The steps of a migration on PostgreSQL that change the columns of a table, and their references. */
import type { ColumnChange } from '../changes.ts'
import type { TableChange } from '../diff.ts'
import { ident } from '../quoted.ts'
import type { Column, Table } from '../tables.ts'
import { convertedSql } from './conversion.ts'
import {
  addConstraint,
  columnDefinition,
  initialSql,
  referenceClause,
  referenceName,
  temporaryName,
  validate,
} from './ddl.ts'
import type { PartialSql } from './sql.ts'

/** The name of a table before the migration; undefined: it does not exist. */
export type OldName = (target: string) => string | undefined

export function changeColumn(
  change: ColumnChange,
  { from, to, columns }: TableChange,
  oldName: OldName,
): PartialSql {
  const table = `ALTER TABLE ${ident(to.name)}`
  switch (change.kind) {
    case 'add':
      return {
        alter: [`${table} ADD COLUMN ${columnDefinition(change.newColumn)}`],
        after: addReference(to, change.newColumn, ' NOT VALID'),
        finish: change.newColumn.reference ? [validate(to.name, referenceName(change.newColumn.name))] : [],
      }
    case 'drop':
      return { alter: [`${table} DROP COLUMN ${ident(change.oldColumn.name)}`] }
    case 'rename':
      return { alter: renameColumn(table, change, columns) }
    case 'type':
      return { alter: changeType(table, change.oldColumn, change.newColumn) }
    case 'set not null':
      return setNotNull(change.oldColumn, change.newColumn, from, to)
    case 'drop not null':
      return { alter: [`${table} ALTER COLUMN ${ident(change.newColumn.name)} DROP NOT NULL`] }
    case 'reference': {
      const isRetyped = columns.some(other => other.kind === 'type' && other.newColumn === change.newColumn)
      return changeReference(change.oldColumn, change.newColumn, from, to, isRetyped ? undefined : oldName)
    }
    case 'values':
      return {}
  }
}

function renameColumn(
  table: string,
  { oldColumn, newColumn }: { readonly oldColumn: Column; readonly newColumn: Column },
  changes: readonly ColumnChange[],
): string[] {
  const [old, name] = [referenceName(oldColumn.name), referenceName(newColumn.name)]
  const isReplaced = changes.some(other => other.kind === 'reference' && other.newColumn === newColumn)
  return [
    `${table} RENAME COLUMN ${ident(oldColumn.name)} TO ${ident(newColumn.name)}`,
    ...(oldColumn.reference && !isReplaced
      ? [`${table} RENAME CONSTRAINT ${ident(old)} TO ${ident(name)}`]
      : []),
  ]
}

function changeType(table: string, oldColumn: Column, newColumn: Column): string[] {
  const column = `${table} ALTER COLUMN ${ident(newColumn.name)}`
  return [
    ...(oldColumn.initial === null ? [] : [`${column} DROP DEFAULT`]),
    ...(oldColumn.postgres === newColumn.postgres
      ? []
      : [`${column} TYPE ${newColumn.postgres} USING ${convertedSql(oldColumn, newColumn)}`]),
    ...(newColumn.initial === null ? [] : [`${column} SET DEFAULT ${initialSql(newColumn)}`]),
  ]
}

function setNotNull(oldColumn: Column, newColumn: Column, from: Table, to: Table): PartialSql {
  const table = `ALTER TABLE ${ident(to.name)}`
  const column = ident(newColumn.name)
  const required = `${table} ALTER COLUMN ${column} SET NOT NULL`
  if (newColumn.initial !== null) {
    const fill = `UPDATE ${ident(to.name)} SET ${column} = ${initialSql(newColumn)} WHERE ${column} IS NULL`
    return { alter: [fill, `${table} ALTER COLUMN ${column} SET DEFAULT ${initialSql(newColumn)}`, required] }
  }
  // With a validated constraint, SET NOT NULL does not scan the table under its lock.
  const name = temporaryName(`${newColumn.name}__required`)
  const text = `CHECK (${ident(oldColumn.name)} IS NOT NULL)`
  return {
    prepare: [{ kind: 'constraint', table: from.name, name, text }],
    alter: [required, dropConstraint(to.name, name)],
  }
}

function changeReference(
  oldColumn: Column,
  newColumn: Column,
  from: Table,
  to: Table,
  oldName?: OldName,
): PartialSql {
  const name = referenceName(newColumn.name)
  const drops = oldColumn.reference ? [dropConstraint(from.name, referenceName(oldColumn.name))] : []
  if (newColumn.reference === null) return { before: drops }
  const target = oldName?.(newColumn.reference.table)
  if (target === undefined) return { before: drops, after: addReference(to, newColumn, '') }
  const temporary = temporaryName(name)
  const text = referenceClause(oldColumn.name, target, newColumn.reference)
  return {
    prepare: [{ kind: 'constraint', table: from.name, name: temporary, text }],
    before: drops,
    after: [`ALTER TABLE ${ident(to.name)} RENAME CONSTRAINT ${ident(temporary)} TO ${ident(name)}`],
  }
}

export function addReference(table: Table, { name, reference }: Column, suffix: '' | ' NOT VALID'): string[] {
  if (reference === null) return []
  return [
    addConstraint(table.name, referenceName(name), referenceClause(name, reference.table, reference), suffix),
  ]
}

export function dropConstraint(table: string, name: string): string {
  return `ALTER TABLE ${ident(table)} DROP CONSTRAINT IF EXISTS ${ident(name)}`
}
