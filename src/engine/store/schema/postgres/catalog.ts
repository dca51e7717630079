/** The actual tables, indexes and constraints of a PostgreSQL database, and those that an earlier migration left unfinished. */
import type { ClientBase } from 'pg'
import { searchTable } from '../../sql/dialect.ts'
import { allTermsColumn } from '../../sql/postgres.ts'
import { ident } from '../quoted.ts'
import type { Schema } from '../tables.ts'
import {
  addConstraint,
  addedColumns,
  createIndexConcurrently,
  ownStatements,
  ownTables,
  referenceClause,
  referenceName,
  shortened,
  temporary,
  validate,
} from './ddl.ts'

export interface Catalog {
  /** The names of columns by table. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>
  /** The columns that have a default, each as `table.column`. */
  readonly defaults: ReadonlySet<string>
  /** By name; whether the index is valid. */
  readonly indexes: ReadonlyMap<string, boolean>
  /** By table, then name; whether the constraint is valid. */
  readonly constraints: ReadonlyMap<string, ReadonlyMap<string, boolean>>
}

const currentSchema = 'current_schema()::regnamespace'

const columns = `SELECT c.relname, a.attname, coalesce(a.atthasdef, false) FROM pg_class c
  LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relnamespace = ${currentSchema} AND c.relkind IN ('r', 'p')`
const indexes = `SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE NOT i.indisprimary AND c.relnamespace = ${currentSchema}`
const constraints = `SELECT t.relname, c.conname, c.convalidated FROM pg_constraint c
  JOIN pg_class t ON t.oid = c.conrelid WHERE c.connamespace = ${currentSchema}`

type ColumnRow = readonly [string, string, boolean]

async function rows(client: ClientBase, text: string): Promise<readonly ColumnRow[]> {
  return (await client.query<ColumnRow[]>({ text, rowMode: 'array' })).rows as unknown as readonly ColumnRow[]
}

export async function readCatalog(client: ClientBase): Promise<Catalog> {
  const tables = new Map<string, Set<string>>()
  const defaults = new Set<string>()
  for (const [table, column, hasDefault] of await rows(client, columns)) {
    const columnNames = tables.get(table) ?? new Set()
    tables.set(table, columnNames.add(column))
    if (hasDefault) defaults.add(`${table}.${column}`)
  }
  const byTable = new Map<string, Map<string, boolean>>()
  for (const [table, name, isValid] of await rows(client, constraints)) {
    const tableConstraints = byTable.get(table) ?? new Map()
    byTable.set(table, tableConstraints.set(name, isValid))
  }
  const indexEntries = (await rows(client, indexes)).map(
    ([name, isValid]) => [name, Boolean(isValid)] as const,
  )
  return { tables, defaults, indexes: new Map(indexEntries), constraints: byTable }
}

export function hasOwnTables({ tables }: Catalog): boolean {
  return Object.keys(ownTables).every(
    name =>
      tables.has(name) &&
      Object.keys(addedColumns[name] ?? {}).every(column => tables.get(name)?.has(column)),
  )
}

/** The statements that create the missing ones of Portico's own tables, and their missing columns. */
export function missingOwnStatements({ tables, indexes }: Catalog): readonly string[] {
  return ownStatements(
    name => tables.has(name) || indexes.has(name),
    table => tables.get(table),
  )
}

/** The columns that Portico created but that no longer exist. */
export function missingColumns({ tables }: Catalog, schema: Schema): readonly string[] {
  return schema.tables.flatMap(({ name, columns, search }) => {
    const searched = search.length === 0 ? [] : ['id', allTermsColumn, ...search]
    return [
      ...missing(
        name,
        columns.map(column => column.name),
        tables,
      ),
      ...missing(searchTable(name), searched, tables),
    ]
  })
}

function missing(table: string, columns: readonly string[], tables: Catalog['tables']): string[] {
  const existing = tables.get(table)
  return columns.filter(column => !existing?.has(column)).map(column => `${table}.${column}`)
}

export interface Unfinished {
  readonly sentence: string
  /** Whether a service needs it. */
  readonly isRequired: boolean
  /** Groups of statements that are tried together. */
  readonly sql: readonly (readonly string[])[]
}

/** Indexes that are missing or invalid, and references that were not validated yet. */
export function unfinishedWork(catalog: Catalog, { tables }: Schema): readonly Unfinished[] {
  return tables.flatMap(table => {
    const indexes = table.indexes.flatMap(index => {
      const name = shortened(index.name)
      if (catalog.indexes.get(name)) return []
      const sql = [createIndexConcurrently(table.name, index)]
      return [{ sentence: `Finish the index ${name}.`, isRequired: index.unique, sql }]
    })
    const references = table.columns.flatMap(({ name: column, reference }) => {
      if (reference === null) return []
      const name = referenceName(column)
      const isValid = catalog.constraints.get(table.name)?.get(name)
      if (isValid) return []
      const clause = referenceClause(column, reference.table, reference)
      const add = isValid === undefined ? [[addConstraint(table.name, name, clause, ' NOT VALID')]] : []
      return [
        {
          sentence: `Check the references of ${table.name}.${column}.`,
          isRequired: true,
          sql: [...add, [validate(table.name, name)]],
        },
      ]
    })
    return [...indexes, ...references]
  })
}

/** The statements that remove the preparations of an unfinished migration. */
export function cleanupStatements({ tables, indexes, constraints }: Catalog): readonly string[] {
  const isTemporary = (name: string) => name.startsWith(temporary)
  const temporaryTables = [...tables.keys()].filter(isTemporary)
  return [
    ...[...constraints].flatMap(([table, names]) =>
      [...names.keys()]
        .filter(name => isTemporary(name) && !temporaryTables.includes(table))
        .map(name => `ALTER TABLE ${ident(table)} DROP CONSTRAINT IF EXISTS ${ident(name)}`),
    ),
    ...temporaryTables.map(name => `DROP TABLE IF EXISTS ${ident(name)}`),
    ...[...indexes.keys()]
      .filter(isTemporary)
      .map(name => `DROP INDEX CONCURRENTLY IF EXISTS ${ident(name)}`),
  ]
}
