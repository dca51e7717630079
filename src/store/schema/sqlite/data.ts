/** Looks at the rows of a SQLite file before and after a migration. */
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

/** What in the data does not fit, as sentences. */
export function dataFaults(
  database: DatabaseSync,
  model: Model,
  all: readonly TableChecks[],
): readonly string[] {
  return all.flatMap(table =>
    table.checks.flatMap(check => {
      const misfits = misfitsOf(database, model, table, check)
      return misfits === undefined ? [] : [invalidRowsMessage(table, check, misfits)]
    }),
  )
}

function misfitsOf(
  database: DatabaseSync,
  model: Model,
  { from, to }: TableChecks,
  check: DataCheck,
): InvalidRows | undefined {
  switch (check.kind) {
    case 'present':
      return counted(database, from, check.was ? `${ident(check.was.name)} IS NULL` : '1')
    case 'values': {
      const judge = ValueChecker.of(model, to, check.is)
      if (judge === undefined) return undefined
      for (const [id, value] of valuesOf(database, from, check)) judge.add(id, value)
      return judge.misfits
    }
    case 'unique':
      return shared(
        database,
        from,
        check.columns.map(([was, is]) => newValue(was, is)),
      )
    case 'target':
      return counted(database, from, lost(newValue(check.was, check.is), check.target))
  }
}

function lost(value: string, target: string | undefined): string {
  const found =
    target === undefined ? '0' : `EXISTS (SELECT 1 FROM ${ident(target)} "t" WHERE "t"."id" = ${value})`
  return `(${value}) IS NOT NULL AND NOT ${found}`
}

/** What a row of the old table has in a column of the new one. */
function newValue(was: Column | undefined, is: Column): string {
  if (was === undefined) return initialSql(is)
  const value = isConverted(was, is) ? converted(was, is) : ident(was.name)
  return was.optional && !is.optional && is.initial !== null ? `coalesce(${value}, ${initialSql(is)})` : value
}

function counted(database: DatabaseSync, table: string, where: string): InvalidRows | undefined {
  const row = database
    .prepare(`SELECT count(*) AS "n", min("id") AS "id" FROM ${ident(table)} WHERE ${where}`)
    .get()
  return misfitsIn(row)
}

function misfitsIn(row: Readonly<Record<string, unknown>> | undefined): InvalidRows | undefined {
  const count = Number(row?.n ?? 0)
  return count === 0 ? undefined : { count, example: Number(row?.id), other: Number(row?.other ?? 0) }
}

function shared(database: DatabaseSync, table: string, values: readonly string[]): InvalidRows | undefined {
  return misfitsIn(database.prepare(sharedSql(table, values)).get())
}

/** Every value that is not null, as a new row would hold it; undefined where it cannot. */
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
  // A STRICT table of its own decides what a column of the type takes.
  database.exec(
    `DROP TABLE IF EXISTS temp."_tried"; CREATE TEMP TABLE "_tried" ("id" INTEGER PRIMARY KEY, "value" ${is.sqlite}) STRICT`,
  )
  const attempt = database.prepare(
    `INSERT OR REPLACE INTO temp."_tried" SELECT 0, ${converted(was, is)} FROM ${ident(table)} WHERE "id" = ?`,
  )
  const result = database.prepare('SELECT "value" FROM temp."_tried"')
  for (const { id } of database.prepare(rows).all()) {
    try {
      attempt.run(Number(id))
    } catch {
      yield [Number(id), undefined]
      continue
    }
    yield [Number(id), is.encoding.decode(result.get()?.value as Cell)]
  }
  database.exec('DROP TABLE temp."_tried"')
}
