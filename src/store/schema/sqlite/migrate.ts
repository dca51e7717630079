/** Brings a database file to a model: plans the steps, applies them in one transaction. */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Model } from '../../../model/model.ts'
import { indexedTerms } from '../../../plan/text-search.ts'
import { syncName } from '../../../private-files.ts'
import { searchTable } from '../../sql/dialect.ts'
import { openDatabase } from '../../sqlite/connection.ts'
import { commitSurely, Unsettled } from '../../sqlite/file/empty-commit.ts'
import { openWritable } from '../../sqlite/file/writable.ts'
import { checksAfter, type TableChecks } from '../data-checks.ts'
import { diff, type Step } from '../diff.ts'
import { ident } from '../quoted.ts'
import { changedOutside, MigrationError, preventedByRows, unfinishedCopy, wouldLoseData } from '../refusal.ts'
import { fits, requireAdditive, type Start } from '../start.ts'
import { accepts, type Column, type Schema, schemaFrom, schemaOf, schemaText, type Table } from '../tables.ts'
import { dataFaults } from './data.ts'
import { addedColumns, createSchema, ownTables } from './ddl.ts'
import { sqliteSteps } from './steps.ts'

export type { Step } from '../diff.ts'
export { MigrationError } from '../refusal.ts'
/** The statements that make an empty SQLite database for the model. */
export function schemaSql(model: Model): string {
  return `${createSchema(schemaOf(model)).join(';\n\n')};\n`
}

/** The steps that bring `file` to `model`; none when it is there. A missing file is not made. */
export function planMigration(file: string, model: Model): readonly Step[] {
  if (file !== ':memory:' && !existsSync(file))
    return diff(
      { tables: [] },
      schemaOf(model),
      sqliteSteps(() => true),
    )
  const database = openDatabase({ file, busyTimeout: 5000 })
  try {
    return stepsFor(database, model).map(step => {
      const faults = dataFaults(database, model, checksIn([step]))
      return faults.length === 0 ? step : { ...step, faults }
    })
  } finally {
    database.close()
  }
}

export interface MigrationOptions {
  /** Whether steps that lose data, or that existing items may not survive, are applied. */
  readonly allowDestructive: boolean
}

/**
 * Brings `file` to `model` in one transaction and returns the steps that were applied.
 * Throws a `MigrationError` and changes nothing when a step is destructive and not allowed, or fails.
 */
export function applyMigration(file: string, model: Model, options: MigrationOptions): readonly Step[] {
  makeFolder(file)
  const database = openWritable({ file, busyTimeout: 5000 })
  try {
    return migrate(database, model, steps => {
      const destructive = steps.filter(step => step.destructive)
      if (destructive.length > 0 && !options.allowDestructive) throw wouldLoseData(destructive)
    })
  } finally {
    database.close()
  }
}

/**
 * What a start does: makes an empty database, applies what only adds when it may, and throws a `MigrationError` for
 * everything else.
 */
export function prepareDatabase(database: DatabaseSync, model: Model, start: Start): void {
  const stored = storedSchema(database)
  const isKnown = !start.autoMigrate || (stored !== undefined && accepts(stored))
  if (stored !== undefined && isKnown && hasOwnTables(database) && fits(stepsFor(database, model), start))
    return
  migrate(database, model, steps => {
    // Another process may have made the tables meanwhile.
    if (storedSchema(database) === undefined) return
    requireAdditive(steps, start)
  })
}

/** A database that an earlier version made may lack the youngest of them, or of their columns. */
export function hasOwnTables(database: DatabaseSync): boolean {
  const isThere = database.prepare(`SELECT 1 FROM "sqlite_schema" WHERE "name" = '_records'`).get()
  return isThere !== undefined && lackingColumns(database).length === 0
}

/** The statements that add the columns that the tables of an earlier version lack. */
function lackingColumns(database: DatabaseSync): readonly string[] {
  const columnsOf = database.prepare('SELECT "name" FROM pragma_table_info(?)')
  return Object.entries(addedColumns).flatMap(([table, columns]) => {
    const there = new Set(columnsOf.all(table).map(row => String(row.name)))
    const lacking = Object.entries(columns).filter(([name]) => !there.has(name))
    return lacking.map(([name, type]) => `ALTER TABLE ${ident(table)} ADD COLUMN ${ident(name)} ${type}`)
  })
}

/** Makes the folder of a database file. */
export function makeFolder(file: string): void {
  if (file === ':memory:') return
  if (existsSync(file) && !statSync(file).isFile()) throw unopened(`${file} is not a file`)
  // Not `recursive`, which never ends below /proc, where nothing can be made.
  const missing: string[] = []
  let folder = dirname(file)
  for (; !existsSync(folder) && folder !== dirname(folder); folder = dirname(folder)) missing.push(folder)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw unopened(`${folder} is not a folder`)
  for (const one of missing.toReversed()) makeOneFolder(one)
}

function unopened(why: string): MigrationError {
  return new MigrationError(
    `The database cannot be opened: ${why}. \`--database\` or DATABASE_URL names its file.`,
  )
}

function makeOneFolder(folder: string): void {
  try {
    mkdirSync(folder)
    syncName(folder)
  } catch (error) {
    // Another process may have been quicker.
    if (!existsSync(folder)) throw error
  }
}

/** The steps that bring an open database to `model`. Throws a `MigrationError` for one that is none of ours. */
export function stepsFor(database: DatabaseSync, model: Model): Step[] {
  // See `copy/sides.ts`.
  if (storedValue(database, 'copy') !== undefined) throw unfinishedCopy()
  const stored = storedSchema(database) ?? { tables: [] }
  requireTables(database, stored)
  const defaultOf = database.prepare('SELECT "dflt_value" FROM pragma_table_info(?) WHERE "name" = ?')
  const fillsDefault = (table: string, { name }: Column) =>
    (defaultOf.get(table, name)?.dflt_value ?? null) !== null
  return diff(stored, schemaOf(model), sqliteSteps(fillsDefault))
}

/** What Portico has stored of itself under a key. */
export function storedValue(database: DatabaseSync, key: string): string | undefined {
  const known = database.prepare(`SELECT 1 FROM "sqlite_schema" WHERE "name" = '_portico'`).get()
  const row = known && database.prepare('SELECT "value" FROM "_portico" WHERE "key" = ?').get(key)
  return row === undefined ? undefined : String(row.value)
}

function storedSchema(database: DatabaseSync): Schema | undefined {
  const text = storedValue(database, 'schema')
  return text === undefined ? undefined : schemaFrom(text)
}

/** Throws when the tables are not those that were made: somebody else changed them. */
function requireTables(database: DatabaseSync, { tables }: Schema): void {
  const columnsOf = database.prepare('SELECT "name" FROM pragma_table_info(?)')
  for (const table of tables) {
    const real = columnsOf.all(table.name).map(row => String(row.name))
    const missing = table.columns.filter(column => !real.includes(column.name))
    if (missing.length === 0) continue
    throw changedOutside(missing.map(column => `${table.name}.${column.name}`))
  }
}

function migrate(
  database: DatabaseSync,
  model: Model,
  check: (steps: readonly Step[]) => void,
): readonly Step[] {
  // Has no effect within a transaction, so it comes first.
  database.exec('PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE')
  try {
    const steps = stepsFor(database, model)
    check(steps)
    const checks = checksIn(steps)
    requireFit(dataFaults(database, model, checks))
    for (const text of ownTables) database.exec(text)
    for (const text of lackingColumns(database)) database.exec(text)
    for (const step of steps) apply(database, step)
    const after = schemaOf(model)
    for (const table of after.tables) if (remade(table, steps)) fillSearch(database, table)
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

function checksIn(steps: readonly Step[]): readonly TableChecks[] {
  return steps.flatMap(step => step.checks ?? [])
}

function requireFit(faults: readonly string[]): void {
  if (faults.length > 0) throw preventedByRows(faults)
}

/** Throws where it fails, and says truly whether the migration may still come to be. */
function commit(database: DatabaseSync): void {
  try {
    commitSurely(database)
  } catch (cause) {
    if (cause instanceof Unsettled) {
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

function apply(database: DatabaseSync, step: Step): void {
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

/** Whether a step made the table's search anew. */
function remade(table: Table, steps: readonly Step[]): boolean {
  const made = `CREATE VIRTUAL TABLE ${ident(searchTable(table.name))}`
  return steps.some(step => step.sql.some(text => text.startsWith(made)))
}

export function fillSearch(database: DatabaseSync, { name, search }: Pick<Table, 'name' | 'search'>): void {
  if (search.length === 0) return
  const columns = search.map(ident).join(', ')
  const marks = search.map(() => '?').join(', ')
  const table = ident(searchTable(name))
  const insert = database.prepare(`INSERT INTO ${table} (rowid, ${columns}) VALUES (?, ${marks})`)
  for (const row of database.prepare(`SELECT "id", ${columns} FROM ${ident(name)}`).iterate()) {
    const words = search.map(column => indexedTerms(String(row[column] ?? '')).join(' '))
    insert.run(Number(row.id), ...words)
  }
}
