/** The steps of a migration on PostgreSQL that change the columns of a table, and their references. */
import type { ColumnChange } from '../changes.ts'
import type { TableChange } from '../diff.ts'
import { ident } from '../quoted.ts'
import type { Column, Table } from '../tables.ts'
import { converted } from './conversion.ts'
import {
  addConstraint,
  columnDefinition,
  initialSql,
  referenceClause,
  referenceName,
  temporaryName,
  validate,
} from './ddl.ts'
import type { Part } from './sql.ts'

/** The name of a table before the migration; undefined: it does not exist. */
export type OldName = (target: string) => string | undefined

export function changeColumn(
  change: ColumnChange,
  { from, to, columns }: TableChange,
  oldName: OldName,
): Part {
  const table = `ALTER TABLE ${ident(to.name)}`
  switch (change.kind) {
    case 'add':
      return {
        alter: [`${table} ADD COLUMN ${columnDefinition(change.is)}`],
        after: addReference(to, change.is, ' NOT VALID'),
        finish: change.is.reference ? [validate(to.name, referenceName(change.is.name))] : [],
      }
    case 'drop':
      return { alter: [`${table} DROP COLUMN ${ident(change.was.name)}`] }
    case 'rename':
      return { alter: renameColumn(table, change, columns) }
    case 'type':
      return { alter: changeType(table, change.was, change.is) }
    case 'set not null':
      return setNotNull(change.was, change.is, from, to)
    case 'drop not null':
      return { alter: [`${table} ALTER COLUMN ${ident(change.is.name)} DROP NOT NULL`] }
    case 'reference': {
      const isRetyped = columns.some(other => other.kind === 'type' && other.is === change.is)
      return changeReference(change.was, change.is, from, to, isRetyped ? undefined : oldName)
    }
    case 'values':
      return {}
  }
}

function renameColumn(
  table: string,
  { was, is }: { readonly was: Column; readonly is: Column },
  changes: readonly ColumnChange[],
): string[] {
  const [old, name] = [referenceName(was.name), referenceName(is.name)]
  const isReplaced = changes.some(other => other.kind === 'reference' && other.is === is)
  return [
    `${table} RENAME COLUMN ${ident(was.name)} TO ${ident(is.name)}`,
    ...(was.reference && !isReplaced ? [`${table} RENAME CONSTRAINT ${ident(old)} TO ${ident(name)}`] : []),
  ]
}

function changeType(table: string, was: Column, is: Column): string[] {
  const column = `${table} ALTER COLUMN ${ident(is.name)}`
  return [
    ...(was.initial === null ? [] : [`${column} DROP DEFAULT`]),
    ...(was.postgres === is.postgres ? [] : [`${column} TYPE ${is.postgres} USING ${converted(was, is)}`]),
    ...(is.initial === null ? [] : [`${column} SET DEFAULT ${initialSql(is)}`]),
  ]
}

function setNotNull(was: Column, is: Column, from: Table, to: Table): Part {
  const table = `ALTER TABLE ${ident(to.name)}`
  const column = ident(is.name)
  const required = `${table} ALTER COLUMN ${column} SET NOT NULL`
  if (is.initial !== null) {
    const fill = `UPDATE ${ident(to.name)} SET ${column} = ${initialSql(is)} WHERE ${column} IS NULL`
    return { alter: [fill, `${table} ALTER COLUMN ${column} SET DEFAULT ${initialSql(is)}`, required] }
  }
  // With a validated constraint, SET NOT NULL does not scan the table under its lock.
  const name = temporaryName(`${is.name}__required`)
  const text = `CHECK (${ident(was.name)} IS NOT NULL)`
  return {
    prepare: [{ kind: 'constraint', table: from.name, name, text }],
    alter: [required, dropConstraint(to.name, name)],
  }
}

function changeReference(was: Column, is: Column, from: Table, to: Table, oldName?: OldName): Part {
  const name = referenceName(is.name)
  const before = was.reference ? [dropConstraint(from.name, referenceName(was.name))] : []
  if (is.reference === null) return { before }
  const target = oldName?.(is.reference.table)
  if (target === undefined) return { before, after: addReference(to, is, '') }
  const temporary = temporaryName(name)
  const text = referenceClause(was.name, target, is.reference)
  return {
    prepare: [{ kind: 'constraint', table: from.name, name: temporary, text }],
    before,
    after: [`ALTER TABLE ${ident(to.name)} RENAME CONSTRAINT ${ident(temporary)} TO ${ident(name)}`],
  }
}

export function addReference(table: Table, { name, reference }: Column, how: '' | ' NOT VALID'): string[] {
  if (reference === null) return []
  return [
    addConstraint(table.name, referenceName(name), referenceClause(name, reference.table, reference), how),
  ]
}

export function dropConstraint(table: string, name: string): string {
  return `ALTER TABLE ${ident(table)} DROP CONSTRAINT IF EXISTS ${ident(name)}`
}
