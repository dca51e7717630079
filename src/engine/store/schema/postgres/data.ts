/** Checks the rows of a PostgreSQL database before and after a migration, while others read and write them. */
import pg from 'pg'
import type { Model } from '../../../../model/model.ts'
import { postgres, withoutCollation } from '../../sql/postgres.ts'
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
import { columnsRead, overlapQueries } from '../overlaps.ts'
import { ident } from '../quoted.ts'
import type { Column } from '../tables.ts'
import { convertedSql } from './conversion.ts'
import { initialSql } from './ddl.ts'

/** The faults in the data, as sentences. */
export async function dataFaults(
  client: pg.Client,
  model: Model,
  tables: readonly TableChecks[],
): Promise<readonly string[]> {
  const faults: string[] = []
  for (const table of tables) {
    for (const check of table.checks) {
      const invalid = await invalidRowsOf(client, model, table, check)
      if (invalid !== undefined) faults.push(invalidRowsMessage(table, check, invalid))
    }
  }
  return faults
}

async function invalidRowsOf(
  client: pg.Client,
  model: Model,
  table: TableChecks,
  check: DataCheck,
): Promise<InvalidRows | undefined> {
  const { from, to } = table
  switch (check.kind) {
    case 'present':
      return findInvalid(
        client,
        countSql(from, check.oldColumn ? `${ident(check.oldColumn.name)} IS NULL` : 'true'),
      )
    case 'values': {
      const checker = ValueChecker.of(model, to, check.newColumn)
      return (
        checker && withConversion(client, check, value => checkValues(client, checker, from, check, value))
      )
    }
    case 'unique': {
      if (areConverted(check.columns)) return undefined
      return findInvalid(
        client,
        duplicatesSql(
          from,
          check.columns.map(([oldColumn, newColumn]) => newValue(oldColumn, newColumn)),
        ),
      )
    }
    case 'overlap':
      if (areConverted(columnsRead(model, table, check))) return undefined
      for (const { text, values } of overlapQueries(model, table, check, postgres, newValue)) {
        const { rows } = await client.query(
          text,
          values.map(value => (value === null ? null : String(value))),
        )
        const invalid = invalidRowsIn(rows[0])
        if (invalid !== undefined) return invalid
      }
      return undefined
    case 'target':
      return withConversion(client, check, value =>
        findInvalid(client, countSql(from, danglingCondition(value, check.target))),
      )
  }
}

/** The check of the values has reported what cannot be converted, and intervals are checked again after the migration. */
function areConverted(columns: readonly (readonly [Column | undefined, Column])[]): boolean {
  return columns.some(
    ([oldColumn, newColumn]) => oldColumn !== undefined && isConverted(oldColumn, newColumn),
  )
}

function danglingCondition(value: string, target: string | undefined): string {
  const targetExists =
    target === undefined
      ? 'false'
      : `EXISTS (SELECT 1 FROM ${ident(target)} "t" WHERE "t"."id"::text = (${value})::text)`
  return `(${value}) IS NOT NULL AND NOT ${targetExists}`
}

function newValue(oldColumn: Column | undefined, newColumn: Column): string {
  if (oldColumn === undefined) return initialSql(newColumn)
  const value = ident(oldColumn.name)
  return oldColumn.optional && !newColumn.optional && newColumn.initial !== null
    ? `coalesce(${value}, ${initialSql(newColumn)})`
    : value
}

async function findInvalid(client: pg.Client, text: string): Promise<InvalidRows | undefined> {
  const { rows } = await client.query(text)
  return invalidRowsIn(rows[0])
}

const conversion = 'pg_temp."_portico_converted"'

/** Runs `use` with the new value as SQL: null where it cannot be converted. */
async function withConversion<T>(
  client: pg.Client,
  { oldColumn, newColumn }: { readonly oldColumn: Column | undefined; readonly newColumn: Column },
  use: (value: string) => Promise<T>,
): Promise<T | undefined> {
  if (oldColumn === undefined || !isConverted(oldColumn, newColumn))
    return use(newValue(oldColumn, newColumn))
  const from = withoutCollation(oldColumn.postgres)
  const body = `BEGIN RETURN (${convertedSql(oldColumn, { ...newColumn, name: 'value' })})::text; EXCEPTION WHEN OTHERS THEN RETURN NULL; END`
  try {
    await client.query(
      `CREATE OR REPLACE FUNCTION ${conversion}("value" ${from}) RETURNS text LANGUAGE plpgsql AS $convert$ ${body} $convert$`,
    )
  } catch (cause) {
    // Without the TEMPORARY privilege, the migration itself fails on what cannot be converted.
    if (cause instanceof pg.DatabaseError && cause.code === '42501') return undefined
    throw cause
  }
  try {
    return await use(`${conversion}(${ident(oldColumn.name)})`)
  } finally {
    await client.query(`DROP FUNCTION IF EXISTS ${conversion}(${from})`)
  }
}

/** How many rows one statement reads. */
const batchRows = 1000

async function checkValues(
  client: pg.Client,
  checker: ValueChecker,
  table: string,
  { oldColumn, newColumn }: { readonly oldColumn: Column; readonly newColumn: Column },
  value: string,
): Promise<InvalidRows | undefined> {
  const text = `SELECT "id", (${value})::text AS "value" FROM ${ident(table)} WHERE ${ident(oldColumn.name)} IS NOT NULL AND "id" > $1 ORDER BY "id" LIMIT ${batchRows}`
  for (let last = '-9223372036854775808', count = batchRows; count === batchRows; ) {
    const { rows } = await client.query(text, [last])
    for (const { id, value: text } of rows) {
      checker.add(Number(id), text === null ? undefined : newColumn.encoding.decode(text))
    }
    last = String(rows.at(-1)?.id ?? last)
    count = rows.length
  }
  return checker.invalid
}
