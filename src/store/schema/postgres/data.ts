/** Checks the rows of a PostgreSQL database before and after a migration, while others read and write them. */
import pg from 'pg'
import type { Model } from '../../../model/model.ts'
import { withoutCollation } from '../../sql/postgres.ts'
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
export async function dataFaults(
  client: pg.Client,
  model: Model,
  all: readonly TableChecks[],
): Promise<readonly string[]> {
  const faults: string[] = []
  for (const table of all) {
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
  { from, to }: TableChecks,
  check: DataCheck,
): Promise<InvalidRows | undefined> {
  switch (check.kind) {
    case 'present':
      return countRows(client, from, check.was ? `${ident(check.was.name)} IS NULL` : 'true')
    case 'values': {
      const checker = ValueChecker.of(model, to, check.is)
      return (
        checker && withConversion(client, check, value => checkValues(client, checker, from, check, value))
      )
    }
    case 'unique': {
      // The check of the values has reported what cannot be converted.
      if (check.columns.some(([was, is]) => was !== undefined && isConverted(was, is))) return undefined
      return invalidRowsIn(
        await client.query(
          sharedSql(
            from,
            check.columns.map(([was, is]) => newValue(was, is)),
          ),
        ),
      )
    }
    case 'target':
      return withConversion(client, check, value => countRows(client, from, dangling(value, check.target)))
  }
}

function dangling(value: string, target: string | undefined): string {
  const found =
    target === undefined
      ? 'false'
      : `EXISTS (SELECT 1 FROM ${ident(target)} "t" WHERE "t"."id"::text = (${value})::text)`
  return `(${value}) IS NOT NULL AND NOT ${found}`
}

function newValue(was: Column | undefined, is: Column): string {
  if (was === undefined) return initialSql(is)
  const value = ident(was.name)
  return was.optional && !is.optional && is.initial !== null ? `coalesce(${value}, ${initialSql(is)})` : value
}

async function countRows(client: pg.Client, table: string, where: string): Promise<InvalidRows | undefined> {
  return invalidRowsIn(
    await client.query(`SELECT count(*) AS "n", min("id") AS "id" FROM ${ident(table)} WHERE ${where}`),
  )
}

function invalidRowsIn({ rows: [row] }: pg.QueryResult): InvalidRows | undefined {
  const count = Number(row?.n ?? 0)
  return count === 0 ? undefined : { count, example: Number(row.id), other: Number(row.other ?? 0) }
}

const conversion = 'pg_temp."_portico_converted"'

/** Runs `use` with the new value as SQL: null where it cannot be converted. */
async function withConversion<T>(
  client: pg.Client,
  { was, is }: { readonly was: Column | undefined; readonly is: Column },
  use: (value: string) => Promise<T>,
): Promise<T | undefined> {
  if (was === undefined || !isConverted(was, is)) return use(newValue(was, is))
  const from = withoutCollation(was.postgres)
  const body = `BEGIN RETURN (${converted(was, { ...is, name: 'value' })})::text; EXCEPTION WHEN OTHERS THEN RETURN NULL; END`
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
    return await use(`${conversion}(${ident(was.name)})`)
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
  { was, is }: { readonly was: Column; readonly is: Column },
  value: string,
): Promise<InvalidRows | undefined> {
  const text = `SELECT "id", (${value})::text AS "value" FROM ${ident(table)} WHERE ${ident(was.name)} IS NOT NULL AND "id" > $1 ORDER BY "id" LIMIT ${batchRows}`
  for (let last = '-9223372036854775808', count = batchRows; count === batchRows; ) {
    const { rows } = await client.query(text, [last])
    for (const { id, value: text } of rows) {
      checker.add(Number(id), text === null ? undefined : is.encoding.decode(text))
    }
    last = String(rows.at(-1)?.id ?? last)
    count = rows.length
  }
  return checker.invalid
}
