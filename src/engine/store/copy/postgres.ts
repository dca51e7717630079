/** PostgreSQL as the source or the target of a copy. */
import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import type { Model } from '../../../model/model.ts'
import { copiedKeys } from '../log/keys.ts'
import { hasOwnTables, readCatalog } from '../schema/postgres/catalog.ts'
import {
  allOwnStatements,
  createIndex,
  createReferences,
  createSearch,
  createTable,
  keepSums,
  ownTables,
} from '../schema/postgres/ddl.ts'
import { planPostgres, storePostgresSchema } from '../schema/postgres/migrate.ts'
import { fillSearchTable } from '../schema/postgres/search.ts'
import { connect, inTransaction, tryLock } from '../schema/postgres/session.ts'
import { ident, literal } from '../schema/quoted.ts'
import { sumsOf } from '../schema/sums.ts'
import { type Schema, schemaOf } from '../schema/tables.ts'
import { searchTable } from '../sql/dialect.ts'
import {
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
import { type CopyRow, type CopyTable, type CopyValue, keyColumns, RowBatch, selectSql } from './tables.ts'

/** Rows per FETCH: each of them may be long. */
const rowsPerFetch = 100

const number = (text: string): CopyValue => Number(text)

/** By the OID of the type (https://www.postgresql.org/docs/15/catalog-pg-type.html). */
const parsers = new Map<number, (text: string) => CopyValue>([
  [16, text => (text === 't' ? 1 : 0)],
  [20, number],
  [23, number],
  [701, number],
])

const types: pg.CustomTypesConfig = {
  getTypeParser: oid => parsers.get(oid) ?? ((text: string) => text),
}

async function readRows(
  client: pg.Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly CopyRow[]> {
  const { rows } = await client.query<CopyValue[]>({ text, values: [...values], rowMode: 'array', types })
  return rows
}

async function readOne(client: pg.Client, text: string, values: readonly unknown[] = []): Promise<CopyValue> {
  return (await readRows(client, text, values))[0]?.[0] ?? null
}

/** The condition that a key is after one row's and not after another's, and its values. */
function range(
  table: CopyTable,
  after: CopyRow | undefined,
  last: CopyRow | undefined,
): readonly [string, readonly CopyValue[]] {
  const values: CopyValue[] = []
  const keyOfRow = (row: CopyRow) => {
    const placeholders = table.columns
      .slice(0, table.key)
      .map(({ type }, index) => `$${values.push(row[index] ?? null)}::${type}`)
    return `(${placeholders.join(', ')})`
  }
  const parts = [
    ...(after ? [`(${keyColumns(table)}) > ${keyOfRow(after)}`] : []),
    ...(last ? [`(${keyColumns(table)}) <= ${keyOfRow(last)}`] : []),
  ]
  return [parts.length === 0 ? '' : ` WHERE ${parts.join(' AND ')}`, values]
}

/** Ends the connection where `open` fails: an open one would keep the command from ending. */
async function openSide<S>(url: string, open: (client: pg.Client) => Promise<S>): Promise<S> {
  const client = await connect(url)
  try {
    return await open(client)
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

/** Within a transaction. */
async function* batchesOf(client: pg.Client, table: CopyTable): AsyncGenerator<readonly CopyRow[]> {
  const text = `${selectSql(table)} ORDER BY ${keyColumns(table)}`
  await client.query(`DECLARE "copied" NO SCROLL CURSOR FOR ${text}`)
  const batch = new RowBatch()
  for (let rows: readonly CopyRow[] | undefined; rows?.length !== 0; ) {
    rows = await readRows(client, `FETCH ${rowsPerFetch} FROM "copied"`)
    for (const row of rows) {
      const fullBatch = batch.add(row)
      if (fullBatch !== undefined) yield fullBatch
    }
  }
  await client.query('CLOSE "copied"')
  const remaining = batch.take()
  if (remaining.length > 0) yield remaining
}

function sequenceOf(name: string): string {
  return `pg_get_serial_sequence(${literal(ident(name))}, 'id')`
}

const beginSnapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY'

/** The transaction id below which rows of `_touched` may have been pruned: see `floorRow`. */
const floor = `coalesce((SELECT "names"::xid8 FROM "_touched" WHERE "xid" = '0'::xid8), '0'::xid8)`

export class PostgresSource implements CopySource {
  readonly #client: pg.Client
  /** The snapshot, and the floor in it. */
  readonly #snapshot: readonly [string, string]

  private constructor(client: pg.Client, snapshot: readonly [string, string]) {
    this.#client = client
    this.#snapshot = snapshot
  }

  static async open(url: string, model: Model): Promise<PostgresSource> {
    if ((await planPostgres(url, model)).length > 0) throw unfitSourceError()
    return openSide(url, async client => {
      if (!hasOwnTables(await readCatalog(client))) throw outdatedSourceError()
      await client.query(beginSnapshot)
      const [row] = await readRows(client, `SELECT pg_current_snapshot()::text, ${floor}::text`)
      return new PostgresSource(client, [String(row?.[0]), String(row?.[1])])
    })
  }

  async count({ name }: CopyTable): Promise<number> {
    return Number(await readOne(this.#client, `SELECT count(*) FROM ${ident(name)}`))
  }

  batches(table: CopyTable): AsyncIterable<readonly CopyRow[]> {
    return batchesOf(this.#client, table)
  }

  async lastNumber(table: CopyTable): Promise<number> {
    const name = String(await readOne(this.#client, `SELECT ${sequenceOf(table.name)}`))
    return Number(
      await readOne(this.#client, `SELECT CASE WHEN "is_called" THEN "last_value" ELSE 0 END FROM ${name}`),
    )
  }

  async logState(): Promise<CopiedLogState> {
    const rows = await readRows(this.#client, `SELECT "key", "value" FROM "_portico" WHERE ${copiedKeys}`)
    return new Map(rows.map(([key, value]) => [String(key), String(value)]))
  }

  /**
   * Pruned rows of `_touched` count as a change where the snapshot may have missed one of their commits. A new record leaves
   * no row there. Its own `xmin` has the low 32 bits of the transaction id; `age` gives the rest.
   */
  async hasChanged(): Promise<boolean> {
    await this.#client.query('COMMIT')
    const since = '$1::text::pg_snapshot'
    const from = `pg_snapshot_xmin(${since})`
    const age = `age((${from}::text::bigint & 4294967295)::text::xid)`
    const xid = `greatest(${from}::text::bigint + ${age} - age("xmin"), 0)::text::xid8`
    const commits = `SELECT 1 FROM "_touched" WHERE "xid" >= ${from} AND NOT pg_visible_in_snapshot("xid", ${since})`
    const isPruned = `${floor} > greatest($2::text::xid8, ${from})`
    const records = `SELECT 1 FROM "_records" WHERE NOT pg_visible_in_snapshot(${xid}, ${since})`
    const text = `SELECT EXISTS (${commits}) OR ${isPruned} OR EXISTS (${records})`
    return (await readOne(this.#client, text, this.#snapshot)) === 1
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

/** Retries for seconds: the server may notice late that the process that held the lock was killed. */
async function takeLock(client: pg.Client): Promise<boolean> {
  for (let tries = 0; tries < 50; tries++) {
    if (await tryLock(client)) return true
    await wait(100)
  }
  return false
}

export class PostgresTarget implements CopyTarget {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  static async open(url: string): Promise<PostgresTarget> {
    return openSide(url, async client => {
      if (!(await takeLock(client))) {
        throw new CopyError('Another process is copying into the target, or migrating it.')
      }
      // The copy is reported as done only after its last commit, which flushes all commits before it to disk, too.
      await client.query("SET synchronous_commit = off; SET maintenance_work_mem = '128MB'")
      return new PostgresTarget(client)
    })
  }

  claim(mark: CopyMark, model: Model): Promise<TargetState> {
    const client = this.#client
    return inTransaction(this.#client, async () => {
      const tables = await readRows(
        client,
        `SELECT "relname" FROM pg_class WHERE "relnamespace" = current_schema()::regnamespace AND "relkind" IN ('r', 'p', 'v', 'm', 'f')`,
      )
      const isOurs = tables.some(([name]) => name === '_portico')
      const begunMark = isOurs && (await this.#stored(begunKey))
      const finishedText = isOurs && (await this.#stored(finishedKey))
      const finished = typeof finishedText === 'string' && finishedMark(finishedText, mark)
      if (finished) return finished
      if (typeof begunMark === 'string') {
        requireSame(begunMark, mark)
        return 'begun'
      }
      if (tables.length > 0) throw nonEmptyTargetError()
      const ownStatements = Object.values(ownTables).map(({ table }) => table)
      await client.query([...ownStatements, ...schemaOf(model).tables.map(createTable)].join(';\n'))
      await client.query('INSERT INTO "_portico" ("key", "value") VALUES ($1, $2)', [
        begunKey,
        JSON.stringify(mark),
      ])
      return 'new'
    })
  }

  between(
    table: CopyTable,
    after: CopyRow | undefined,
    last: CopyRow | undefined,
  ): Promise<readonly CopyRow[]> {
    const [where, values] = range(table, after, last)
    return readRows(this.#client, `${selectSql(table)}${where} ORDER BY ${keyColumns(table)}`, values)
  }

  async replace(
    table: CopyTable,
    after: CopyRow | undefined,
    last: CopyRow | undefined,
    rows: readonly CopyRow[],
  ): Promise<void> {
    const [where, values] = range(table, after, last)
    const names = table.columns.map(column => ident(column.name))
    const lists = table.columns.map((_, index) => `$${index + 1}::text[]`)
    const converted = table.columns.map(({ name, type }) => `${ident(name)}::${type}`)
    await inTransaction(this.#client, async () => {
      await this.#client.query(`DELETE FROM ${ident(table.name)}${where}`, [...values])
      if (rows.length === 0) return
      await this.#client.query(
        `INSERT INTO ${ident(table.name)} (${names.join(', ')}) SELECT ${converted.join(', ')} FROM unnest(${lists.join(', ')}) AS "r" (${names.join(', ')})`,
        table.columns.map((_, index) => rows.map(row => row[index])),
      )
    })
  }

  async *batches(table: CopyTable): AsyncGenerator<readonly CopyRow[]> {
    await this.#client.query(beginSnapshot)
    yield* batchesOf(this.#client, table)
    await this.#client.query('COMMIT')
  }

  async finish(model: Model, { lastNumbers, logState }: CopiedState, done: FinishedMark): Promise<void> {
    const client = this.#client
    const schema = schemaOf(model)
    await client.query('SET synchronous_commit = on')
    await inTransaction(this.#client, async () => {
      await client.query(allOwnStatements.join(';\n'))
      for (const table of schema.tables) await this.#complete(table)
      for (const table of schema.tables) {
        for (const text of createReferences(table)) await client.query(text)
      }
      for (const text of keepSums(sumsOf(schema))) await client.query(text)
      for (const [name, last] of lastNumbers) {
        if (last > 0) await client.query(`SELECT setval(${sequenceOf(name)}, $1)`, [last])
      }
      for (const [key, value] of logState) {
        await client.query('INSERT INTO "_portico" ("key", "value") VALUES ($1, $2)', [key, value])
      }
      await storePostgresSchema(client, schema)
      await client.query('DELETE FROM "_portico" WHERE "key" = $1', [begunKey])
      await client.query('INSERT INTO "_portico" ("key", "value") VALUES ($1, $2)', [
        finishedKey,
        JSON.stringify(done),
      ])
    })
    await client.query('ANALYZE')
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  #stored(key: string): Promise<CopyValue> {
    return readOne(this.#client, 'SELECT "value" FROM "_portico" WHERE "key" = $1', [key])
  }

  async #complete(table: Schema['tables'][number]): Promise<void> {
    const { name, indexes, search } = table
    const client = this.#client
    for (const index of indexes) await client.query(createIndex(name, index))
    await client.query(
      `INSERT INTO "_totals" ("collection", "slot", "n") SELECT ${literal(name)}, 0, count(*) FROM ${ident(name)}`,
    )
    if (search.length === 0) return
    await client.query(createSearch(table).join(';\n'))
    const sources = search.map(column => ({ column, expression: ident(column), text: '' }))
    await fillSearchTable(client, name, searchTable(name), sources)
  }
}
