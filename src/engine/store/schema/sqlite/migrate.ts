/** Migrates a SQLite database to a model: plans the steps, and applies them in one transaction. */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { syncName } from '../../../../base/private-files.ts'
import type { Model } from '../../../../model/model.ts'
import { indexedTerms } from '../../../plan/text-search.ts'
import { searchTable } from '../../sql/dialect.ts'
import { commitOrUndo, UnsettledCommit } from '../../sqlite/file/empty-commit.ts'
import { openDatabase } from '../../sqlite/file/open.ts'
import { openWritable } from '../../sqlite/file/writable.ts'
import { checksAfter, type TableChecks } from '../data-checks.ts'
import { diff, type MigrationStep } from '../diff.ts'
import { ident } from '../quoted.ts'
import {
  dataLossError,
  falseIfRefused,
  invalidRowsError,
  MigrationError,
  missingColumnsError,
  unfinishedCopyError,
} from '../refusal.ts'
import { mayStartWithoutSteps, requireAdditive, type Start, withoutLostLimits } from '../start.ts'
import { type Column, type Schema, schemaFrom, schemaOf, schemaText, type Table } from '../tables.ts'
import { dataFaults } from './data.ts'
import { addedColumns, createSchema, ownTables } from './ddl.ts'
import { sqliteSteps } from './steps.ts'

export type { MigrationStep } from '../diff.ts'
export { MigrationError } from '../refusal.ts'

/** The statements that create the model's tables in an empty SQLite database. */
export function schemaSql(model: Model): string {
  return `${createSchema(schemaOf(model)).join(';\n\n')};\n`
}

/** The steps that migrate `file` to `model`; empty if it fits. A missing file is not created. */
export function planMigration(file: string, model: Model): readonly MigrationStep[] {
  if (file !== ':memory:' && !existsSync(file))
    return diff(
      { tables: [] },
      schemaOf(model),
      sqliteSteps(() => true),
    )
  const database = openDatabase({ file, busyTimeoutMs: 5000 })
  try {
    // One snapshot, because other processes may migrate.
    database.exec('BEGIN')
    return stepsFor(database, model).map(step => {
      const faults = dataFaults(database, model, checksIn([step]))
      return faults.length === 0 ? step : { ...step, faults }
    })
  } finally {
    database.close()
  }
}

export interface MigrationOptions {
  /** Whether steps that lose data are applied. */
  readonly allowDestructive: boolean
}

/**
 * Migrates `file` to `model` in one transaction and returns the steps that were applied. Throws a `MigrationError` and changes
 * nothing if a step fails, or is destructive and not allowed.
 */
export function applyMigration(
  file: string,
  model: Model,
  options: MigrationOptions,
): readonly MigrationStep[] {
  createFolders(file)
  const database = openWritable({ file, busyTimeoutMs: 5000 })
  try {
    return migrate(database, model, steps => {
      const destructive = steps.filter(step => step.destructive)
      if (destructive.length > 0 && !options.allowDestructive) throw dataLossError(destructive)
    })
  } finally {
    database.close()
  }
}

/**
 * For a start: creates the tables of an empty database, applies additive changes if it may, and throws a `MigrationError`
 * for everything else.
 */
export function prepareDatabase(database: DatabaseSync, model: Model, start: Start): void {
  if (isPrepared(database, model, start)) {
    releaseLimits(database, model)
    return
  }
  migrate(database, model, steps => {
    // Another process may have created the tables in the meantime.
    if (storedSchema(database) === undefined) return
    requireAdditive(steps, start)
  })
}

/** See `withoutLostLimits`. Another process may have migrated the database meanwhile. */
function releaseLimits(database: DatabaseSync, model: Model): void {
  const text = storedValue(database, 'schema') ?? ''
  const schema = withoutLostLimits(schemaFrom(text), schemaOf(model))
  if (schema === undefined) return
  const update = database.prepare(`UPDATE "_portico" SET "value" = ? WHERE "key" = 'schema' AND "value" = ?`)
  update.run(schemaText(schema), text)
}

/** Whether no step is needed. */
function isPrepared(database: DatabaseSync, model: Model, start: Start): boolean {
  if (storedSchema(database) === undefined || !hasOwnTables(database)) return false
  return falseIfRefused(() => mayStartWithoutSteps(stepsFor(database, model), start))
}

/** Whether Portico's own tables are complete: in a database of an earlier version, some tables or columns may be missing. */
export function hasOwnTables(database: DatabaseSync): boolean {
  const hasRecords = database.prepare(`SELECT 1 FROM "sqlite_schema" WHERE "name" = '_records'`).get()
  return hasRecords !== undefined && missingColumnStatements(database).length === 0
}

/** The statements that add the columns that are missing in tables of an earlier version. */
function missingColumnStatements(database: DatabaseSync): readonly string[] {
  const columnsOf = database.prepare('SELECT "name" FROM pragma_table_info(?)')
  return Object.entries(addedColumns).flatMap(([table, columns]) => {
    const existing = new Set(columnsOf.all(table).map(row => String(row.name)))
    const missing = Object.entries(columns).filter(([name]) => !existing.has(name))
    return missing.map(([name, type]) => `ALTER TABLE ${ident(table)} ADD COLUMN ${ident(name)} ${type}`)
  })
}

/** Creates the folder of a database file. */
export function createFolders(file: string): void {
  if (file === ':memory:') return
  if (existsSync(file) && !statSync(file).isFile()) throw cannotOpenError(`${file} is not a file`)
  // Not `recursive`, which never returns below /proc, where nothing can be created.
  const missing: string[] = []
  let folder = dirname(file)
  for (; !existsSync(folder) && folder !== dirname(folder); folder = dirname(folder)) missing.push(folder)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw cannotOpenError(`${folder} is not a folder`)
  for (const missingFolder of missing.toReversed()) createFolder(missingFolder)
}

function cannotOpenError(reason: string): MigrationError {
  return new MigrationError(
    `The database cannot be opened: ${reason}. \`--database\` or DATABASE_URL names its file.`,
  )
}

function createFolder(folder: string): void {
  try {
    mkdirSync(folder)
    syncName(folder)
  } catch (error) {
    // Another process may have created it.
    if (!existsSync(folder)) throw error
  }
}

/** The steps that migrate an open database to `model`. Throws a `MigrationError` if something else changed its tables. */
export function stepsFor(database: DatabaseSync, model: Model): MigrationStep[] {
  // See `copy/sides.ts`.
  if (storedValue(database, 'copy') !== undefined) throw unfinishedCopyError()
  const stored = storedSchema(database) ?? { tables: [] }
  requireTables(database, stored)
  const defaultOf = database.prepare('SELECT "dflt_value" FROM pragma_table_info(?) WHERE "name" = ?')
  const fillsDefault = (table: string, { name }: Column) =>
    (defaultOf.get(table, name)?.dflt_value ?? null) !== null
  return diff(stored, schemaOf(model), sqliteSteps(fillsDefault))
}

/** A value of the table `_portico`. */
export function storedValue(database: DatabaseSync, key: string): string | undefined {
  const hasTable = database.prepare(`SELECT 1 FROM "sqlite_schema" WHERE "name" = '_portico'`).get()
  const row = hasTable && database.prepare('SELECT "value" FROM "_portico" WHERE "key" = ?').get(key)
  return row === undefined ? undefined : String(row.value)
}

function storedSchema(database: DatabaseSync): Schema | undefined {
  const text = storedValue(database, 'schema')
  return text === undefined ? undefined : schemaFrom(text)
}

/** Throws if a column that Portico created no longer exists. */
function requireTables(database: DatabaseSync, { tables }: Schema): void {
  const columnsOf = database.prepare('SELECT "name" FROM pragma_table_info(?)')
  for (const table of tables) {
    const existing = columnsOf.all(table.name).map(row => String(row.name))
    const missing = table.columns.filter(column => !existing.includes(column.name))
    if (missing.length === 0) continue
    throw missingColumnsError(missing.map(column => `${table.name}.${column.name}`))
  }
}

function migrate(
  database: DatabaseSync,
  model: Model,
  check: (steps: readonly MigrationStep[]) => void,
): readonly MigrationStep[] {
  // The pragma has no effect within a transaction.
  database.exec('PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE')
  try {
    const steps = stepsFor(database, model)
    check(steps)
    const checks = checksIn(steps)
    requireFit(dataFaults(database, model, checks))
    for (const text of ownTables) database.exec(text)
    for (const text of missingColumnStatements(database)) database.exec(text)
    for (const step of steps) applyStep(database, step)
    const after = schemaOf(model)
    for (const table of after.tables) if (recreatesSearch(table, steps)) fillSearch(database, table)
    requireReferences(database)
    requireTables(database, after)
    requireFit(dataFaults(database, model, checks.map(checksAfter)))
    storeSchema(database, after)
    commit(database)
    return steps
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  } finally {
    database.exec('PRAGMA foreign_keys = ON')
  }
}

function checksIn(steps: readonly MigrationStep[]): readonly TableChecks[] {
  return steps.flatMap(step => step.checks ?? [])
}

function requireFit(faults: readonly string[]): void {
  if (faults.length > 0) throw invalidRowsError(faults)
}

/** If the commit fails, the error tells whether the migration may still have been applied. */
function commit(database: DatabaseSync): void {
  try {
    commitOrUndo(database)
  } catch (cause) {
    if (cause instanceof UnsettledCommit) {
      throw new MigrationError(
        'The migration may have been applied: the disk failed before it could be confirmed. Run `portico migrate` to see what is left to do.',
        { cause },
      )
    }
    throw new MigrationError(
      `Nothing was changed. It could not be stored: ${cause instanceof Error ? cause.message : cause}.`,
      { cause },
    )
  }
}

function applyStep(database: DatabaseSync, step: MigrationStep): void {
  try {
    for (const text of step.sql) database.exec(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new MigrationError(`Nothing was changed. This step failed: ${step.sentence} (${reason})`, { cause })
  }
}

export function storeSchema(database: DatabaseSync, schema: Schema): void {
  const insert = database.prepare(`INSERT OR REPLACE INTO "_portico" ("key", "value") VALUES ('schema', ?)`)
  insert.run(schemaText(schema))
}

export function requireReferences(database: DatabaseSync): void {
  const [fault] = database.prepare('PRAGMA foreign_key_check').all()
  if (fault === undefined) return
  throw new MigrationError(
    `Nothing was changed. Items of ${fault.table} would refer to items of ${fault.parent} that do not exist.`,
  )
}

/** Whether a step creates the table's search. */
function recreatesSearch(table: Table, steps: readonly MigrationStep[]): boolean {
  const statement = `CREATE VIRTUAL TABLE ${ident(searchTable(table.name))}`
  return steps.some(step => step.sql.some(text => text.startsWith(statement)))
}

export function fillSearch(database: DatabaseSync, { name, search }: Pick<Table, 'name' | 'search'>): void {
  if (search.length === 0) return
  const columns = search.map(ident).join(', ')
  const placeholders = search.map(() => '?').join(', ')
  const table = ident(searchTable(name))
  const insert = database.prepare(`INSERT INTO ${table} (rowid, ${columns}) VALUES (?, ${placeholders})`)
  for (const row of database.prepare(`SELECT "id", ${columns} FROM ${ident(name)}`).iterate()) {
    const terms = search.map(column => indexedTerms(String(row[column] ?? '')).join(' '))
    insert.run(Number(row.id), ...terms)
  }
}
