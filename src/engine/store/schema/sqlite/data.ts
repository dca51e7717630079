/** Checks the rows of a SQLite database before and after a migration. */
import type { DatabaseSync } from 'node:sqlite'
import type { StoredValue } from '../../../../model/fields/encoding.ts'
import type { JsonValue } from '../../../../model/fields/type.ts'
import type { Model } from '../../../../model/model.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { isConverted } from '../changes.ts'
import {
  countSql,
  type DataCheck,
  duplicatesSql,
  type InvalidRows,
  invalidRowsIn,
  invalidRowsMessage,
  type TableChecks,
  ValueChecker,
} from '../data-checks.ts'
import { overlapQueries } from '../overlaps.ts'
import { ident } from '../quoted.ts'
import type { Column } from '../tables.ts'
import { convertedSql, newValue } from './conversion.ts'

/** The faults in the data, as sentences. */
export function dataFaults(
  database: DatabaseSync,
  model: Model,
  tables: readonly TableChecks[],
): readonly string[] {
  return tables.flatMap(table =>
    table.checks.flatMap(check => {
      const invalid = invalidRowsOf(database, model, table, check)
      return invalid === undefined ? [] : [invalidRowsMessage(table, check, invalid)]
    }),
  )
}

function invalidRowsOf(
  database: DatabaseSync,
  model: Model,
  table: TableChecks,
  check: DataCheck,
): InvalidRows | undefined {
  const { from, to } = table
  switch (check.kind) {
    case 'present':
      return findInvalid(
        database,
        countSql(from, check.oldColumn ? `${ident(check.oldColumn.name)} IS NULL` : '1'),
      )
    case 'values': {
      const checker = ValueChecker.of(model, to, check.newColumn)
      if (checker === undefined) return undefined
      for (const [id, value] of valuesOf(database, from, check)) checker.add(id, value)
      return checker.invalid
    }
    case 'unique':
      return findInvalid(
        database,
        duplicatesSql(
          from,
          check.columns.map(([oldColumn, newColumn]) => newValue(oldColumn, newColumn)),
        ),
      )
    case 'overlap':
      for (const { text, values } of overlapQueries(model, table, check, sqlite, newValue)) {
        const invalid = invalidRowsIn(database.prepare(text).get(...values))
        if (invalid !== undefined) return invalid
      }
      return undefined
    case 'target':
      return findInvalid(
        database,
        countSql(from, danglingCondition(newValue(check.oldColumn, check.newColumn), check.target)),
      )
  }
}

function danglingCondition(value: string, target: string | undefined): string {
  const targetExists =
    target === undefined ? '0' : `EXISTS (SELECT 1 FROM ${ident(target)} "t" WHERE "t"."id" = ${value})`
  return `(${value}) IS NOT NULL AND NOT ${targetExists}`
}

function findInvalid(database: DatabaseSync, text: string): InvalidRows | undefined {
  return invalidRowsIn(database.prepare(text).get())
}

/** Every value that is not null, converted; undefined if it cannot be converted. */
function* valuesOf(
  database: DatabaseSync,
  table: string,
  { oldColumn, newColumn }: { readonly oldColumn: Column; readonly newColumn: Column },
): Generator<readonly [number, JsonValue | undefined]> {
  const column = ident(oldColumn.name)
  const rows = `SELECT "id", ${column} AS "value" FROM ${ident(table)} WHERE ${column} IS NOT NULL ORDER BY "id"`
  if (!isConverted(oldColumn, newColumn)) {
    for (const { id, value } of database.prepare(rows).iterate())
      yield [Number(id), newColumn.encoding.decode(value as StoredValue)]
    return
  }
  // A separate STRICT table decides which values a column of the type accepts.
  database.exec(
    `DROP TABLE IF EXISTS temp."_converted"; CREATE TEMP TABLE "_converted" ("id" INTEGER PRIMARY KEY, "value" ${newColumn.sqlite}) STRICT`,
  )
  const attempt = database.prepare(
    `INSERT OR REPLACE INTO temp."_converted" SELECT 0, ${convertedSql(oldColumn, newColumn)} FROM ${ident(table)} WHERE "id" = ?`,
  )
  const result = database.prepare('SELECT "value" FROM temp."_converted"')
  for (const { id } of database.prepare(rows).all()) {
    try {
      attempt.run(Number(id))
    } catch {
      yield [Number(id), undefined]
      continue
    }
    yield [Number(id), newColumn.encoding.decode(result.get()?.value as StoredValue)]
  }
  database.exec('DROP TABLE temp."_converted"')
}
