/** SQLite as the source or the target of a copy. */
import { existsSync } from 'node:fs'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Model } from '../../../model/model.ts'
import { copiedKeys } from '../log/keys.ts'
import { ident, literal } from '../schema/quoted.ts'
import { createIndex, createTable, createTotalsAndSearch, keepSums, ownTables } from '../schema/sqlite/ddl.ts'
import {
  createFolders,
  fillSearch,
  hasOwnTables,
  planMigration,
  requireReferences,
  storedValue,
  storeSchema,
} from '../schema/sqlite/migrate.ts'
import { sumsOf } from '../schema/sums.ts'
import { schemaOf } from '../schema/tables.ts'
import { openDatabase } from '../sqlite/file/open.ts'
import {
  alreadyFinishedError,
  begunKey,
  type CopiedLogState,
  type CopiedState,
  CopyError,
  type CopyMark,
  type CopySource,
  type CopyTarget,
  type FinishedMark,
  finishedKey,
  finishedMark,
  nonEmptyTargetError,
  outdatedSourceError,
  requireSame,
  type TargetState,
  unfitSourceError,
} from './sides.ts'
import { type CopyRow, type CopyTable, keyColumns, RowBatch, selectSql } from './tables.ts'

function open(file: string): DatabaseSync {
  return openDatabase({ file, busyTimeoutMs: 5000 })
}

function rowOf(row: unknown): CopyRow {
  return (row as readonly SQLOutputValue[]).map(value =>
    value === null || typeof value === 'string' ? value : Number(value),
  )
}

/** The condition that a key is after one row's and not after another's, and its values. */
function range(
  table: CopyTable,
  after: CopyRow | undefined,
  last: CopyRow | undefined,
): readonly [string, CopyRow] {
  const placeholders = Array(table.key).fill('?').join(', ')
  const parts = [
    ...(after ? [`(${keyColumns(table)}) > (${placeholders})`] : []),
    ...(last ? [`(${keyColumns(table)}) <= (${placeholders})`] : []),
  ]
  const values = [after, last].flatMap(row => row?.slice(0, table.key) ?? [])
  return [parts.length === 0 ? '' : ` WHERE ${parts.join(' AND ')}`, values]
}

async function* batchesOf(database: DatabaseSync, table: CopyTable): AsyncGenerator<readonly CopyRow[]> {
  const statement = database.prepare(`${selectSql(table)} ORDER BY ${keyColumns(table)}`)
  statement.setReturnArrays(true)
  const batch = new RowBatch()
  for (const row of statement.iterate()) {
    const fullBatch = batch.add(rowOf(row))
    if (fullBatch !== undefined) yield fullBatch
  }
  const remaining = batch.take()
  if (remaining.length > 0) yield remaining
}

export class SqliteSource implements CopySource {
  readonly #database: DatabaseSync
  readonly #version: unknown

  private constructor(database: DatabaseSync) {
    this.#database = database
    this.#version = this.#dataVersion()
    // All reads of the source use this snapshot.
    database.exec('BEGIN')
    database.prepare('SELECT 1 FROM "_portico"').get()
  }

  static async open(file: string, model: Model): Promise<SqliteSource> {
    if (!existsSync(file)) throw new CopyError(`There is no database at ${file}.`)
    if (planMigration(file, model).length > 0) throw unfitSourceError()
    const database = open(file)
    if (hasOwnTables(database)) return new SqliteSource(database)
    database.close()
    throw outdatedSourceError()
  }

  async count({ name }: CopyTable): Promise<number> {
    return Number(this.#database.prepare(`SELECT count(*) AS "n" FROM ${ident(name)}`).get()?.n)
  }

  batches(table: CopyTable): AsyncIterable<readonly CopyRow[]> {
    return batchesOf(this.#database, table)
  }

  async lastNumber({ name }: CopyTable): Promise<number> {
    const row = this.#database.prepare('SELECT "seq" FROM "sqlite_sequence" WHERE "name" = ?').get(name)
    return Number(row?.seq ?? 0)
  }

  async logState(): Promise<CopiedLogState> {
    const rows = this.#database.prepare(`SELECT "key", "value" FROM "_portico" WHERE ${copiedKeys}`).all()
    return new Map(rows.map(({ key, value }) => [String(key), String(value)]))
  }

  async hasChanged(): Promise<boolean> {
    this.#database.exec('COMMIT')
    return this.#dataVersion() !== this.#version
  }

  async close(): Promise<void> {
    this.#database.close()
  }

  #dataVersion(): unknown {
    return this.#database.prepare('PRAGMA data_version').get()?.data_version
  }
}

export class SqliteTarget implements CopyTarget {
  readonly #database: DatabaseSync

  constructor(file: string) {
    createFolders(file)
    this.#database = open(file)
    // A power failure may lose part of an unfinished copy, which is compared again. A copy is finished only once all of it
    // is on disk.
    this.#database.exec('PRAGMA foreign_keys = OFF; PRAGMA synchronous = NORMAL')
  }

  async claim(mark: CopyMark, model: Model): Promise<TargetState> {
    const database = this.#database
    return this.#transaction(() => {
      const finished = this.#finishedMark(mark)
      if (finished !== undefined) return finished
      const begunMark = storedValue(database, begunKey)
      if (begunMark !== undefined) {
        requireSame(begunMark, mark)
        return 'begun'
      }
      if (database.prepare('SELECT 1 FROM "sqlite_schema"').get() !== undefined) throw nonEmptyTargetError()
      for (const text of ownTables.filter(statement => !statement.includes(' INDEX '))) database.exec(text)
      for (const table of schemaOf(model).tables) database.exec(createTable(table))
      database
        .prepare(`INSERT INTO "_portico" ("key", "value") VALUES (?, ?)`)
        .run(begunKey, JSON.stringify(mark))
      return 'new'
    })
  }

  async between(
    table: CopyTable,
    after: CopyRow | undefined,
    last: CopyRow | undefined,
  ): Promise<readonly CopyRow[]> {
    const [where, values] = range(table, after, last)
    const statement = this.#database.prepare(`${selectSql(table)}${where} ORDER BY ${keyColumns(table)}`)
    statement.setReturnArrays(true)
    return statement.all(...values).map(rowOf)
  }

  async replace(
    table: CopyTable,
    after: CopyRow | undefined,
    last: CopyRow | undefined,
    rows: readonly CopyRow[],
  ): Promise<void> {
    const [where, values] = range(table, after, last)
    const names = table.columns.map(column => ident(column.name))
    const insert = this.#database.prepare(
      `INSERT INTO ${ident(table.name)} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    )
    this.#transaction(() => {
      this.#requireUnfinished()
      this.#database.prepare(`DELETE FROM ${ident(table.name)}${where}`).run(...values)
      for (const row of rows) insert.run(...row)
    })
  }

  batches(table: CopyTable): AsyncIterable<readonly CopyRow[]> {
    return batchesOf(this.#database, table)
  }

  async finish(model: Model, { lastNumbers, logState }: CopiedState, mark: FinishedMark): Promise<void> {
    const database = this.#database
    const schema = schemaOf(model)
    database.exec('PRAGMA synchronous = FULL')
    this.#transaction(() => {
      this.#requireUnfinished()
      for (const text of ownTables) database.exec(text)
      for (const table of schema.tables) {
        for (const index of table.indexes) database.exec(createIndex(table, index))
        for (const text of createTotalsAndSearch(table)) database.exec(text)
        fillSearch(database, table)
      }
      for (const text of keepSums(sumsOf(schema))) database.exec(text)
      for (const [name, last] of lastNumbers) {
        database.exec(`DELETE FROM "sqlite_sequence" WHERE "name" = ${literal(name)}`)
        database.prepare('INSERT INTO "sqlite_sequence" ("name", "seq") VALUES (?, ?)').run(name, last)
      }
      for (const [key, value] of logState) {
        database.prepare('INSERT INTO "_portico" ("key", "value") VALUES (?, ?)').run(key, value)
      }
      requireReferences(database)
      storeSchema(database, schema)
      database.prepare('DELETE FROM "_portico" WHERE "key" = ?').run(begunKey)
      database
        .prepare('INSERT INTO "_portico" ("key", "value") VALUES (?, ?)')
        .run(finishedKey, JSON.stringify(mark))
    })
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  async close(): Promise<void> {
    this.#database.close()
  }

  #finishedMark(mark: CopyMark): FinishedMark | undefined {
    const text = storedValue(this.#database, finishedKey)
    return text === undefined ? undefined : finishedMark(text, mark)
  }

  /** Throws if another process has finished the copy: a service may already write to it. */
  #requireUnfinished(): void {
    if (storedValue(this.#database, begunKey) === undefined) throw alreadyFinishedError()
  }

  #transaction<T>(work: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }
}
