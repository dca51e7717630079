/** Checks the rows of a SQLite database before and after a migration. */
import type { DatabaseSync } from 'node:sqlite'
import type { Cell } from '../../../model/fields/encoding.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Model } from '../../../model/model.ts'
import { isConverted } from '../changes.ts'
import {
  type DataCheck,
  type InvalidRows,
  invalidRowsMessage,
  sharedSql,
  type TableChecks,
  ValueChecker,
} from '../data-checks.ts'
import { ident } from '../quoted.ts'
import type { Column } from '../tables.ts'
import { converted } from './conversion.ts'
import { initialSql } from './ddl.ts'

/** The faults in the data, as sentences. */
export function dataFaults(
  database: DatabaseSync,
  model: Model,
  all: readonly TableChecks[],
): readonly string[] {
  return all.flatMap(table =>
    table.checks.flatMap(check => {
      const invalid = invalidRowsOf(database, model, table, check)
      return invalid === undefined ? [] : [invalidRowsMessage(table, check, invalid)]
    }),
  )
}

function invalidRowsOf(
  database: DatabaseSync,
  model: Model,
  { from, to }: TableChecks,
  check: DataCheck,
): InvalidRows | undefined {
  switch (check.kind) {
    case 'present':
      return countRows(database, from, check.was ? `${ident(check.was.name)} IS NULL` : '1')
    case 'values': {
      const checker = ValueChecker.of(model, to, check.is)
      if (checker === undefined) return undefined
      for (const [id, value] of valuesOf(database, from, check)) checker.add(id, value)
      return checker.invalid
    }
    case 'unique':
      return sharedRows(
        database,
        from,
        check.columns.map(([was, is]) => newValue(was, is)),
      )
    case 'target':
      return countRows(database, from, dangling(newValue(check.was, check.is), check.target))
  }
}

function dangling(value: string, target: string | undefined): string {
  const found =
    target === undefined ? '0' : `EXISTS (SELECT 1 FROM ${ident(target)} "t" WHERE "t"."id" = ${value})`
  return `(${value}) IS NOT NULL AND NOT ${found}`
}

/** The value of a new column in a row of the old table. */
function newValue(was: Column | undefined, is: Column): string {
  if (was === undefined) return initialSql(is)
  const value = isConverted(was, is) ? converted(was, is) : ident(was.name)
  return was.optional && !is.optional && is.initial !== null ? `coalesce(${value}, ${initialSql(is)})` : value
}

function countRows(database: DatabaseSync, table: string, where: string): InvalidRows | undefined {
  const row = database
    .prepare(`SELECT count(*) AS "n", min("id") AS "id" FROM ${ident(table)} WHERE ${where}`)
    .get()
  return invalidRowsIn(row)
}

function invalidRowsIn(row: Readonly<Record<string, unknown>> | undefined): InvalidRows | undefined {
  const count = Number(row?.n ?? 0)
  return count === 0 ? undefined : { count, example: Number(row?.id), other: Number(row?.other ?? 0) }
}

function sharedRows(
  database: DatabaseSync,
  table: string,
  values: readonly string[],
): InvalidRows | undefined {
  return invalidRowsIn(database.prepare(sharedSql(table, values)).get())
}

/** Every value that is not null, converted; undefined if it cannot be converted. */
function* valuesOf(
  database: DatabaseSync,
  table: string,
  { was, is }: { readonly was: Column; readonly is: Column },
): Generator<readonly [number, JsonValue | undefined]> {
  const column = ident(was.name)
  const rows = `SELECT "id", ${column} AS "value" FROM ${ident(table)} WHERE ${column} IS NOT NULL ORDER BY "id"`
  if (!isConverted(was, is)) {
    for (const { id, value } of database.prepare(rows).iterate())
      yield [Number(id), is.encoding.decode(value as Cell)]
    return
  }
  // A separate STRICT table decides which values a column of the type accepts.
  database.exec(
    `DROP TABLE IF EXISTS temp."_converted"; CREATE TEMP TABLE "_converted" ("id" INTEGER PRIMARY KEY, "value" ${is.sqlite}) STRICT`,
  )
  const attempt = database.prepare(
    `INSERT OR REPLACE INTO temp."_converted" SELECT 0, ${converted(was, is)} FROM ${ident(table)} WHERE "id" = ?`,
  )
  const result = database.prepare('SELECT "value" FROM temp."_converted"')
  for (const { id } of database.prepare(rows).all()) {
    try {
      attempt.run(Number(id))
    } catch {
      yield [Number(id), undefined]
      continue
    }
    yield [Number(id), is.encoding.decode(result.get()?.value as Cell)]
  }
  database.exec('DROP TABLE temp."_converted"')
}
