/** Indexes change the cost of lists, never their results: random lists with random indexes on both databases. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { system } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { GuardedList } from '../../../../src/engine/plan/guarded.ts'
import type { TotalOrder } from '../../../../src/engine/plan/order.ts'
import type { CompositeShape, Filter, ListShape, Selected, Sort } from '../../../../src/engine/plan/plan.ts'
import { createIndex as createPostgresIndex } from '../../../../src/engine/store/schema/postgres/ddl.ts'
import { postgresSchemaSql } from '../../../../src/engine/store/schema/postgres/migrate.ts'
import { createIndex as createSqliteIndex } from '../../../../src/engine/store/schema/sqlite/ddl.ts'
import { schemaOf, type Table, type TableIndex } from '../../../../src/engine/store/schema/tables.ts'
import { compositeSql } from '../../../../src/engine/store/sql/composite.ts'
import type { Dialect } from '../../../../src/engine/store/sql/dialect.ts'
import { postgres } from '../../../../src/engine/store/sql/postgres.ts'
import { listSql, positionSql, type Slice } from '../../../../src/engine/store/sql/read.ts'
import { sqlite } from '../../../../src/engine/store/sql/sqlite.ts'
import { compile, type Sql, slot } from '../../../../src/engine/store/sql/writer.ts'
import { AnswerSize } from '../../../../src/engine/store/sqlite/read/answer-size.ts'
import { schemaSql } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { index } from '../../../../src/index.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { indexOrder, keyText } from '../../../../src/model/indexes.ts'
import type { Model } from '../../../../src/model/model.ts'
import { cases } from '../../../cases.ts'
import { withPostgres } from '../../../setups/databases/postgres.ts'
import { postsWith, sortOf, type Values, valuesOf } from './indexed-lists.ts'

type Post = Readonly<Record<string, string | number | boolean | null>>
type Rows = readonly (readonly unknown[])[]

const names = ['title', 'status', 'due', 'rank', 'pinned', 'author_id', 'created_at'] as const
const keys = fc
  .tuple(fc.shuffledSubarray([...names], { minLength: 1, maxLength: 3 }), fc.integer({ min: 0, max: 7 }))
  .map(([fields, mask]) => fields.map((field, index) => ((mask >> index) & 1 ? `-${field}` : field)))

const orderOf = (written: readonly string[]) => indexOrder(sortOf(written.join())).map(keyText).join()
const indexes = fc
  .uniqueArray(keys, { maxLength: 4, selector: orderOf })
  .map(all => all.map(declaration => index(...declaration)))

const time = (second: number) => `2026-01-01T00:00:0${second}.000Z`
const perhaps = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2 })
const posts: fc.Arbitrary<readonly Post[]> = fc
  .array(
    fc.record({
      title: fc.constantFrom('a', 'b', 'ß', 'z'),
      status: fc.constantFrom('draft', 'published', 'gone'),
      due: perhaps(fc.nat(3).map(time)),
      rank: perhaps(fc.integer({ min: -2, max: 2 })),
      pinned: perhaps(fc.boolean()),
      author_id: fc.integer({ min: 1, max: 3 }),
      created_at: fc.nat(9).map(time),
    }),
    { minLength: 10, maxLength: 40 },
  )
  .map(rows => rows.map((row, index) => ({ id: index + 1, ...row })))

interface List {
  readonly sort: TotalOrder
  readonly by: readonly [field: string, value: string | number] | undefined
  /** The number of rows per page. */
  readonly size: number
}

const list: fc.Arbitrary<List> = fc.record({
  sort: keys.map(written => sortOf(written.join())),
  by: fc
    .option(
      fc.oneof(
        fc.tuple(fc.constant('status'), fc.constantFrom('draft', 'published')),
        fc.tuple(fc.constant('author_id'), fc.integer({ min: 1, max: 3 })),
        fc.tuple(fc.constant('rank'), fc.integer({ min: -1, max: 1 })),
      ),
    )
    .map(parent => parent ?? undefined),
  size: fc.integer({ min: 1, max: 8 }),
})

// --- the expected results

function compare(left: Post, right: Post, sort: readonly Sort[]): number {
  for (const { field, descending } of sort) {
    const [a = null, b = null] = [left[field], right[field]]
    if (a === b) continue
    const isLess = a === null || (b !== null && a < b)
    return isLess === descending ? 1 : -1
  }
  return 0
}

function idsOf(rows: readonly Post[], { sort, by }: List): readonly number[] {
  const matching = by === undefined ? rows : rows.filter(row => row[by[0]] === by[1])
  return matching.toSorted((a, b) => compare(a, b, sort)).map(row => Number(row.id))
}

// --- the databases

interface Database {
  readonly dialect: Dialect
  rows(text: string, values: Values): Promise<Rows>
  /** Empties the table of posts, then creates these indexes and inserts these rows. */
  refill(table: Table, indexes: readonly TableIndex[], rows: readonly Post[]): Promise<void>
}

const textOf = (value: Post[string] | undefined, sql: (value: boolean) => string) =>
  typeof value === 'boolean' ? sql(value) : typeof value === 'string' ? `'${value}'` : String(value ?? 'NULL')

function insertSql(rows: readonly Post[], sql: (value: boolean) => string): string {
  const columns = ['id', ...names]
  const values = rows.map(row => `(${columns.map(column => textOf(row[column], sql)).join()})`)
  return `INSERT INTO posts (${columns.join()}) VALUES ${values.join()}`
}

function onSqlite(database: DatabaseSync): Database {
  return {
    dialect: sqlite,
    async rows(text, values) {
      const statement = database.prepare(text)
      statement.setReturnArrays(true)
      return statement.all(...values) as unknown as Rows
    },
    async refill(table, indexes, rows) {
      database.exec('DELETE FROM posts')
      const existingIndexes = database.prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'posts'`,
      )
      for (const { name } of existingIndexes.all()) database.exec(`DROP INDEX "${name}"`)
      for (const index of indexes) database.exec(createSqliteIndex(table, index))
      database.exec(insertSql(rows, value => (value ? '1' : '0')))
    },
  }
}

function onPostgres(client: pg.Client): Database {
  return {
    dialect: postgres,
    async rows(text, values) {
      return (await client.query<unknown[]>({ text, values: [...values], rowMode: 'array' })).rows
    },
    async refill({ name }, indexes, rows) {
      const existingIndexes = await client.query(
        `SELECT indexname FROM pg_indexes WHERE tablename = 'posts' AND indexname <> 'posts_pkey'`,
      )
      await client.query(
        [
          'TRUNCATE posts',
          ...existingIndexes.rows.map(row => `DROP INDEX "${row.indexname}"`),
          ...indexes.map(index => createPostgresIndex(name, index)),
          insertSql(rows, String),
          'ANALYZE posts',
        ].join(';'),
      )
    },
  }
}

const title: readonly Selected[] = [{ kind: 'field', key: 'title', field: 'title' }]

class ListReader {
  readonly #guard: ReturnType<typeof createGuard>
  readonly #database: Database
  readonly #list: List

  constructor(model: Model, database: Database, list: List) {
    this.#guard = createGuard(model)
    this.#database = database
    this.#list = list
  }

  get #filter(): Filter | undefined {
    const { by } = this.#list
    return by && { kind: 'compare', field: by[0], operator: 'eq', param: 0 }
  }

  #ask(statement: Sql, args: readonly JsonValue[], slots: Values): Promise<Rows> {
    const { text, binds } = compile(statement, this.#database.dialect.sign)
    return this.#database.rows(text, valuesOf(binds, args, slots))
  }

  get shape(): GuardedList {
    const shape: ListShape = {
      kind: 'list',
      collection: 'posts',
      within: undefined,
      filter: this.#filter,
      search: undefined,
      sort: this.#list.sort,
      window: { kind: 'page', offset: 1, limit: 2, total: 'none' },
      select: title,
    }
    return this.#guard({ shape, args: this.#args }, system).shape as GuardedList
  }

  get #args(): readonly JsonValue[] {
    return [this.#list.by?.[1] ?? null, 0, 9]
  }

  /** The keys of at most `limit` rows after a position. */
  async after(position: Values | undefined, limit: number, offset: number): Promise<readonly Values[]> {
    const { shape } = this
    const slice: Slice = {
      after: position?.map((_, index) => slot(index)),
      limit: [String(limit)],
      offset: slot(position?.length ?? 0),
      keys: true,
    }
    const { dialect } = this.#database
    const slots = [...(position ?? []), offset]
    const rows = await this.#ask(listSql(shape, slice, dialect), this.#args, slots)
    const values = rows.map(row => row.slice(1) as Values)
    const positions = await this.#ask(positionSql(shape, slice, dialect), this.#args, slots)
    assert.deepEqual(positions, values)
    return values
  }

  /** The keys of the rows of a connection in a composite read after a position. */
  async connected(
    position: readonly JsonValue[] | undefined,
    limit: number,
  ): Promise<readonly (readonly JsonValue[])[]> {
    const args = [...this.#args, limit, ...(position ?? [])]
    const shape: CompositeShape = {
      kind: 'composite',
      roots: [
        {
          kind: 'list',
          key: 'posts',
          collection: 'posts',
          list: {
            filter: this.#filter,
            sort: this.#list.sort,
            limit: 3,
            ...(position && { after: position.map((_, index) => index + 4) }),
            connection: { total: false },
          },
          select: title,
        },
      ],
    }
    const guarded = this.#guard({ shape, args }, system).shape
    const [row] = await this.#ask(compositeSql(guarded, this.#database.dialect), args, [])
    const { rows } = JSON.parse(String(row?.[0])).posts as { rows: { keys: readonly JsonValue[] }[] }
    return rows.map(row => row.keys)
  }
}

const idOf = (position: readonly unknown[] | undefined) => Number(position?.at(-1))

/** Reads every page after the last row of the previous one, as lists and as connections. */
async function checkList(reader: ListReader, { size }: List, expected: readonly number[]): Promise<void> {
  assert.deepEqual((await reader.after(undefined, 100, 0)).map(idOf), expected)
  let position: Values | undefined
  let connected: readonly JsonValue[] | undefined
  for (let index = 0; index < expected.length; index += size) {
    const page = await reader.after(position, size, 0)
    assert.deepEqual(page.map(idOf), expected.slice(index, index + size))
    const later = await reader.after(position, size, 2)
    assert.deepEqual(later.map(idOf), expected.slice(index + 2, index + 2 + size))
    const rowsRead = await reader.connected(connected, size)
    assert.deepEqual(rowsRead.map(idOf), expected.slice(index, index + size))
    position = page.at(-1)
    connected = rowsRead.at(-1)
  }
}

/** `kept`: for each index of the table, whether it is created. */
const round = fc.record({
  indexes,
  posts,
  kept: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
  lists: fc.array(list, { minLength: 4, maxLength: 6 }),
})

async function checkRounds(database: Database, parameters: ReturnType<typeof cases>): Promise<void> {
  const property = fc.asyncProperty(round, async ({ indexes, posts, kept, lists }) => {
    const model = postsWith(indexes)
    const table = schemaOf(model).tables.find(table => table.name === 'posts') ?? assert.fail()
    await database.refill(
      table,
      table.indexes.filter((_, index) => kept[index] !== false),
      posts,
    )
    for (const list of lists) await checkList(new ListReader(model, database, list), list, idsOf(posts, list))
  })
  await fc.assert(property, parameters)
}

test('SQLite returns the same rows whichever indexes exist', async () => {
  const database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  // The statements count the bytes of their answers.
  new AnswerSize(database)
  try {
    database.exec(schemaSql(postsWith([])))
    await checkRounds(onSqlite(database), cases(100, 40))
  } finally {
    database.close()
  }
})

test('PostgreSQL returns the same rows whichever indexes exist', () =>
  withPostgres(async url => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      await client.query(`${postgresSchemaSql(postsWith([]))}; SET session_replication_role = replica`)
      // Makes PostgreSQL use the indexes even for so few rows.
      await client.query('SET enable_seqscan = off; SET enable_sort = off')
      await checkRounds(onPostgres(client), cases(3, 3))
    } finally {
      await client.end()
    }
  }))
