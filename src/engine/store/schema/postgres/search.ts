/** Fills a new search table while others write, and catches up with them under a lock. */
import type { ClientBase } from 'pg'
import { indexedTerms } from '../../../plan/text-search.ts'
import { searchTable } from '../../sql/dialect.ts'
import { allTermsColumn } from '../../sql/postgres.ts'
import { ident } from '../quoted.ts'
import { createSearchIndex, createSearchTable, keepTermStatistics, temporaryName } from './ddl.ts'
import type { SearchPreparation } from './sql.ts'

/** The number of rows that are read and written at once. */
const rowsPerBatch = 500

/** A filled search table. Rows that transactions from `since` on have changed must be read again. */
export interface FilledSearch {
  readonly preparation: SearchPreparation
  readonly since: string
}

export async function fillSearch(client: ClientBase, preparation: SearchPreparation): Promise<FilledSearch> {
  const { from, to, sources } = preparation
  const temporaryTable = temporaryName(searchTable(to))
  const columns = sources.map(source => source.column)
  await client.query(createSearchTable(temporaryTable, columns))
  await client.query(keepTermStatistics(temporaryTable))
  const { rows } = await client.query('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS "xid"')
  await fillSearchTable(client, from, temporaryTable, sources)
  await client.query(createSearchIndex(temporaryTable, temporaryTable))
  return { preparation, since: String(rows[0]?.xid) }
}

/** Stores the search terms of all rows of a collection in an empty search table. */
export async function fillSearchTable(
  client: ClientBase,
  collection: string,
  table: string,
  sources: Sources,
): Promise<void> {
  for (let last: string | null = '0'; last !== null; ) {
    const text: string = `${selectOf(sources)} FROM ${ident(collection)} WHERE "id" > ${last} ORDER BY "id" LIMIT ${rowsPerBatch}`
    const batch = await readRows(client, text)
    await store(client, table, sources, batch)
    last = batch.at(rowsPerBatch - 1)?.[0] ?? null
  }
}

/** Within the transaction. */
export async function catchUp(client: ClientBase, { preparation, since }: FilledSearch): Promise<void> {
  const { from, to, sources } = preparation
  const table = ident(from)
  const name = temporaryName(searchTable(to))
  const temporaryTable = ident(name)
  await client.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`)
  await client.query(
    `DELETE FROM ${temporaryTable} "s" WHERE NOT EXISTS (SELECT 1 FROM ${table} "t" WHERE "t"."id" = "s"."id")`,
  )
  // The age of a frozen row is arbitrary: some frozen rows are read needlessly.
  const mayHaveChanged = `age("xmin") <= age((${since}::bigint & 4294967295)::text::xid)`
  const batch = await readRows(
    client,
    `${selectOf(sources)} FROM ${table} WHERE ${mayHaveChanged} ORDER BY "id"`,
  )
  for (let start = 0; start < batch.length; start += rowsPerBatch) {
    await store(client, name, sources, batch.slice(start, start + rowsPerBatch))
  }
}

type TextRow = readonly (string | null)[]
type Sources = SearchPreparation['sources']

function selectOf(sources: Sources): string {
  const texts = sources.flatMap(({ expression }) =>
    expression === undefined ? [] : [`(${expression})::text`],
  )
  return `SELECT ${['"id"::text AS "text"', ...texts].join(', ')}`
}

async function readRows(client: ClientBase, text: string): Promise<readonly TextRow[]> {
  return (await client.query<string[]>({ text, rowMode: 'array' })).rows as unknown as readonly TextRow[]
}

async function store(
  client: ClientBase,
  table: string,
  sources: Sources,
  batch: readonly TextRow[],
): Promise<void> {
  if (batch.length === 0) return
  const columns = [allTermsColumn, ...sources.map(source => source.column)]
  const values: unknown[] = []
  const rows = batch.map(([id, ...texts]) => {
    let next = 0
    const terms = sources.map(({ expression, text }) =>
      indexedTerms((expression === undefined ? undefined : texts[next++]) ?? text),
    )
    const placeholders = [id, [...new Set(terms.flat())], ...terms].map(value => `$${values.push(value)}`)
    return `(${placeholders.join(', ')})`
  })
  const updates = columns.map(column => `${ident(column)} = excluded.${ident(column)}`)
  await client.query(
    `INSERT INTO ${ident(table)} ("id", ${columns.map(ident).join(', ')}) VALUES ${rows.join(', ')} ON CONFLICT ("id") DO UPDATE SET ${updates.join(', ')}`,
    values,
  )
}
