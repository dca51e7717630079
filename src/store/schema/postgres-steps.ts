/**
 * The steps of a migration on PostgreSQL, in three parts: what takes long is prepared beside a service that runs,
 * under other names; one short transaction changes the tables; then what could not be prepared is finished.
 */
import { searchTable } from '../sql/dialect.ts'
import { type ColumnChange, columnsByName, type Maker, predecessor, type TableChange } from './diff.ts'
import {
  addConstraint,
  columnDefinition,
  createIndex,
  createSearchTable,
  createSearchTrigger,
  createWhole,
  initialSql,
  referenceClause,
  referenceName,
  searchIndexName,
  searchKeyName,
  shortened,
  temporaryName,
} from './postgres-ddl.ts'
import { ident, literal } from './quoted.ts'
import type { Column, Schema, Table, TableIndex } from './tables.ts'

export interface PostgresSql {
  readonly prepare: readonly Preparation[]
  /** In the transaction, before the tables change, while they change, and after all of them did. */
  readonly before: readonly string[]
  readonly alter: readonly string[]
  readonly after: readonly string[]
  /** What `postgres-catalog.ts` will find unfinished then; to be shown. */
  readonly finish: readonly string[]
}

export type Preparation =
  | { readonly kind: 'index'; readonly text: string }
  /** Added without a look at the rows, then checked beside others' writes. */
  | { readonly kind: 'constraint'; readonly table: string; readonly name: string; readonly text: string }
  | SearchPreparation

/** A search table that is filled beside others' writes, and caught up in the transaction. */
export interface SearchPreparation {
  readonly kind: 'search'
  /** The collection's name, before and after. */
  readonly from: string
  readonly to: string
  /** What the words of each column are made of: a column as it was called before, or one text for all. */
  readonly sources: readonly {
    readonly column: string
    readonly from: string | undefined
    readonly text: string
  }[]
}

const nothing: PostgresSql = { prepare: [], before: [], alter: [], after: [], finish: [] }

/** `before`: the tables that are there, to which new references can be prepared. */
export function postgresSteps(before: Schema, after: Schema): Maker<PostgresSql> {
  const oldName = (target: string): string | undefined => {
    const table = after.tables.find(each => each.name === target)
    const old = new Map(before.tables.map(each => [each.name, each]))
    return table && predecessor(table, old)?.name
  }
  return { make, drop, change: change => changeTable(change, oldName) }
}

function make(table: Table): PostgresSql {
  const references = table.columns.flatMap(column => addReference(table, column, ''))
  return { ...nothing, alter: createWhole(table), after: references }
}

function addReference(table: Table, { name, reference }: Column, how: '' | ' NOT VALID'): string[] {
  if (reference === null) return []
  return [
    addConstraint(table.name, referenceName(name), referenceClause(name, reference.table, reference), how),
  ]
}

function drop({ name }: Table, before: Schema): PostgresSql {
  const references = before.tables.flatMap(table =>
    table.columns
      .filter(({ reference }) => reference?.table === name)
      .map(column => dropConstraint(table.name, referenceName(column.name))),
  )
  return {
    ...nothing,
    before: references,
    alter: [
      `DROP TABLE IF EXISTS ${ident(searchTable(name))}`,
      `DROP TABLE ${ident(name)}`,
      `DELETE FROM "_totals" WHERE "collection" = ${literal(name)}`,
    ],
  }
}

function dropConstraint(table: string, name: string): string {
  return `ALTER TABLE ${ident(table)} DROP CONSTRAINT IF EXISTS ${ident(name)}`
}

type OldName = (target: string) => string | undefined

function changeTable(change: TableChange, oldName: OldName): PostgresSql {
  const { from, to, columns, searchChanged } = change
  const parts = [
    ...(from.name === to.name ? [] : [renameTable(from, to)]),
    ...columns.map(each => changeColumn(each, change, oldName)),
    changeIndexes(change),
    ...(searchChanged ? [changeSearch(change)] : []),
  ]
  return {
    prepare: parts.flatMap(part => part.prepare ?? []),
    before: parts.flatMap(part => part.before ?? []),
    alter: parts.flatMap(part => part.alter ?? []),
    after: parts.flatMap(part => part.after ?? []),
    finish: parts.flatMap(part => part.finish ?? []),
  }
}

type Part = Partial<PostgresSql>

function renameTable(from: Table, to: Table): Part {
  return {
    alter: [
      `ALTER TABLE ${ident(from.name)} RENAME TO ${ident(to.name)}`,
      `UPDATE "_totals" SET "collection" = ${literal(to.name)} WHERE "collection" = ${literal(from.name)}`,
    ],
  }
}

function changeColumn(change: ColumnChange, { from, to, columns }: TableChange, oldName: OldName): Part {
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
    case 'require':
      return require(change.was, change.is, from, to)
    case 'release':
      return { alter: [`${table} ALTER COLUMN ${ident(change.is.name)} DROP NOT NULL`] }
    case 'reference': {
      const retyped = columns.some(other => other.kind === 'type' && other.is === change.is)
      return changeReference(change.was, change.is, from, to, retyped ? undefined : oldName)
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
  const remade = changes.some(other => other.kind === 'reference' && other.is === is)
  return [
    `${table} RENAME COLUMN ${ident(was.name)} TO ${ident(is.name)}`,
    ...(was.reference && !remade ? [`${table} RENAME CONSTRAINT ${ident(old)} TO ${ident(name)}`] : []),
  ]
}

function changeType(table: string, was: Column, is: Column): string[] {
  if (was.postgres === is.postgres && was.encoding === is.encoding) return []
  const column = `${table} ALTER COLUMN ${ident(is.name)}`
  return [
    ...(was.initial === null ? [] : [`${column} DROP DEFAULT`]),
    ...(was.postgres === is.postgres ? [] : [`${column} TYPE ${is.postgres} USING ${converted(was, is)}`]),
    ...(is.initial === null ? [] : [`${column} SET DEFAULT ${initialSql(is)}`]),
  ]
}

/** As SQLite casts, but that what has no such value is an error. */
function converted(was: Column, is: Column): string {
  const column = ident(is.name)
  const type = is.postgres.replace(/ COLLATE .*$/, '')
  if (was.encoding === 'boolean') return `${column}::int::${type}`
  if (is.encoding === 'boolean') return `${column}::text::${type}`
  if (was.postgres === 'double precision' && type === 'bigint') return `trunc(${column})::${type}`
  return `${column}::text::${type}`
}

function require(was: Column, is: Column, from: Table, to: Table): Part {
  const table = `ALTER TABLE ${ident(to.name)}`
  const column = ident(is.name)
  const required = `${table} ALTER COLUMN ${column} SET NOT NULL`
  if (is.initial !== null) {
    const fill = `UPDATE ${ident(to.name)} SET ${column} = ${initialSql(is)} WHERE ${column} IS NULL`
    return { alter: [fill, `${table} ALTER COLUMN ${column} SET DEFAULT ${initialSql(is)}`, required] }
  }
  // A checked constraint saves the look at every row under the lock.
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
  const made = temporaryName(name)
  const text = referenceClause(was.name, target, is.reference)
  return {
    prepare: [{ kind: 'constraint', table: from.name, name: made, text }],
    before,
    after: [`ALTER TABLE ${ident(to.name)} RENAME CONSTRAINT ${ident(made)} TO ${ident(name)}`],
  }
}

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

function changeIndexes(change: TableChange): Part {
  const { from, to } = change
  const names = newNames(change)
  const shape = (columns: readonly string[], unique: boolean) => `${unique} ${columns.join()}`
  const wanted = new Map(to.indexes.map(index => [shape(index.columns, index.unique), index]))
  const dropped: string[] = []
  const renamed: string[] = []
  for (const index of from.indexes) {
    const key = shape(
      index.columns.map(column => names.get(column) ?? ''),
      index.unique,
    )
    const is = wanted.get(key)
    const old = ident(shortened(index.name))
    if (is === undefined) dropped.push(`DROP INDEX IF EXISTS ${old}`)
    else if (is.name !== index.name) {
      renamed.push(`ALTER INDEX IF EXISTS ${old} RENAME TO ${ident(shortened(is.name))}`)
    }
    wanted.delete(key)
  }
  const made = [...wanted.values()].map(index => addIndex(index, change))
  return {
    prepare: made.flatMap(part => part.prepare ?? []),
    before: dropped,
    alter: renamed,
    after: made.flatMap(part => part.after ?? []),
    finish: made.flatMap(part => part.finish ?? []),
  }
}

/**
 * Over columns that are there, it is prepared. Over new ones it is made after the transaction, where it cannot
 * fail: see `postgres-catalog.ts`. One that may fail is made within it.
 */
function addIndex(index: TableIndex, { from, to, columns }: TableChange): Part {
  const old = columnsByName(from)
  const now = columnsByName(to)
  const was = index.columns.map(name => {
    const column = now.get(name)
    return column && predecessor(column, old)
  })
  const retyped = columns.some(({ kind, ...each }) => {
    return kind === 'type' && 'is' in each && index.columns.includes(each.is.name)
  })
  if (!retyped && was.every(column => column !== undefined)) {
    const name = temporaryName(index.name)
    const text = createIndex(
      from.name,
      { name, columns: was.map(column => column.name), unique: index.unique },
      ' CONCURRENTLY',
    )
    const rename = `ALTER INDEX ${ident(name)} RENAME TO ${ident(shortened(index.name))}`
    return { prepare: [{ kind: 'index', text }], after: [rename] }
  }
  const empty = index.columns.some(name => !old.has(name) && now.get(name)?.initial === null)
  if (!index.unique || (empty && !retyped)) return { finish: [createIndex(to.name, index, ' CONCURRENTLY')] }
  return { after: [createIndex(to.name, index)] }
}

function changeSearch({ from, to }: TableChange): Part {
  const old = ident(searchTable(from.name))
  const undone =
    from.search.length === 0
      ? []
      : [`DROP TRIGGER IF EXISTS "_unsearched" ON ${ident(from.name)}`, `DROP TABLE IF EXISTS ${old}`]
  if (to.search.length === 0) return { before: undone }
  const name = searchTable(to.name)
  const made = temporaryName(name)
  return {
    prepare: [searchPreparation(from, to)],
    before: undone,
    after: [
      `ALTER TABLE ${ident(made)} RENAME TO ${ident(name)}`,
      `ALTER INDEX ${ident(searchIndexName(made))} RENAME TO ${ident(searchIndexName(name))}`,
      `ALTER INDEX ${ident(searchKeyName(made))} RENAME TO ${ident(searchKeyName(name))}`,
      createSearchTrigger(to.name),
    ],
  }
}

function searchPreparation(from: Table, to: Table): SearchPreparation {
  const old = columnsByName(from)
  const now = columnsByName(to)
  const sources = to.search.map(name => {
    const column = now.get(name)
    const was = column && predecessor(column, old)
    const initial = column?.initial?.kind === 'value' ? column.initial.value : null
    return { column: name, from: was?.name, text: String(initial ?? '') }
  })
  return { kind: 'search', from: from.name, to: to.name, sources }
}

/** The statements of a preparation, as an operator reads them. */
export function preparationSql(preparation: Preparation): string[] {
  switch (preparation.kind) {
    case 'index':
      return [preparation.text]
    case 'constraint': {
      const { table, name, text } = preparation
      return [addConstraint(table, name, text, ' NOT VALID'), validate(table, name)]
    }
    case 'search': {
      const columns = preparation.sources.map(source => source.column)
      return [createSearchTable(temporaryName(searchTable(preparation.to)), columns)]
    }
  }
}

export function validate(table: string, constraint: string): string {
  return `ALTER TABLE ${ident(table)} VALIDATE CONSTRAINT ${ident(constraint)}`
}
