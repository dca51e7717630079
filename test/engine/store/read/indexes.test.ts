/** Both databases visit about a page of rows per list with an index, however deep the page, as the databases count. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { system, user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { GuardedList } from '../../../../src/engine/plan/guarded.ts'
import type { CompositeShape, Filter, ListShape, Selected } from '../../../../src/engine/plan/plan.ts'
import { postgresSchemaSql } from '../../../../src/engine/store/schema/postgres/migrate.ts'
import { compositeSql } from '../../../../src/engine/store/sql/composite.ts'
import type { Dialect } from '../../../../src/engine/store/sql/dialect.ts'
import { postgres } from '../../../../src/engine/store/sql/postgres.ts'
import { listSql, type Slice } from '../../../../src/engine/store/sql/read.ts'
import { sqlite } from '../../../../src/engine/store/sql/sqlite.ts'
import { compile, type Sql, slot } from '../../../../src/engine/store/sql/writer.ts'
import { AnswerSize } from '../../../../src/engine/store/sqlite/read/answer-size.ts'
import { schemaSql } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { field, index, owner } from '../../../../src/index.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { testOfOthers } from '../../../chosen.ts'
import { query, withPostgres } from '../../../setups/databases/postgres.ts'
import { callerId, postsWith, sortOf, type Values, valuesOf } from './indexed-lists.ts'

const rowCount = 4000
/** A page by cursor reads one more row, which shows whether another page follows. */
const pageSize = 21

const indexed = postsWith([
  index('status', '-created_at'),
  index('due'),
  index('status', '-due'),
  index('rank', '-title'),
])
const guard = createGuard(indexed)

/** An expression for a time with minutes and seconds, in the SQL of both databases. */
function timeSql(seconds: string): string {
  const two = (number: string) => `substr(CAST(100 + ${number} AS TEXT), 2)`
  return `'2026-01-01T00:' || ${two(`(${seconds}) / 60`)} || ':' || ${two(`(${seconds}) % 60`)} || '.000Z'`
}

/** Four posts share each time of creation; a third has no `due`, a quarter no `rank`. */
const fill = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rowCount})
  INSERT INTO posts (title, status, due, rank, author_id, created_at)
  SELECT 'title ' || CAST(i * 7919 % 1000 AS TEXT),
    CASE WHEN i * 31 % 10 < 4 THEN 'published' WHEN i * 31 % 10 < 9 THEN 'draft' ELSE 'gone' END,
    CASE WHEN i % 3 > 0 THEN ${timeSql('i * 37 % 3000')} END,
    CASE WHEN i % 4 > 0 THEN i * 13 % 50 END, 1 + i * 17 % 10, ${timeSql('i / 4')} FROM n`
const users = `INSERT INTO users (id, email, name, role, created_at)
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
  SELECT i, 'u' || CAST(i AS TEXT) || '@example.com', 'u', 'user', '2026-01-01T00:00:00.000Z' FROM n`

interface List {
  readonly sort: string
  readonly by?: readonly [field: string, value: JsonValue]
}

const lists: readonly List[] = [
  ...['-created_at', 'created_at', '-due', 'due', 'status,-created_at', '-status,created_at'],
  ...['rank,-title', '-rank,title', 'author_id', '-author_id'],
]
  .map((sort): List => ({ sort }))
  .concat(
    ...['-created_at', 'created_at', '-due', 'due'].map(
      (sort): List => ({ sort, by: ['status', 'published'] }),
    ),
    ...['-created_at', 'created_at', 'id', '-id'].map((sort): List => ({ sort, by: ['author_id', 3] })),
  )

function shapeOf({ sort, by }: List, guarded = guard, caller = system): GuardedList {
  const filter: Filter | undefined = by && { kind: 'compare', field: by[0], operator: 'eq', param: 2 }
  const shape: ListShape = {
    kind: 'list',
    collection: 'posts',
    within: undefined,
    filter,
    search: undefined,
    sort: sortOf(sort),
    window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
    select: [{ kind: 'field', key: 'title', field: 'title' }],
  }
  return guarded({ shape, args: [0, 20, by?.[1] ?? null] }, caller).shape as GuardedList
}

interface CountedRows {
  readonly rows: readonly (readonly unknown[])[]
  /** The number of visited rows of posts. */
  readonly visited: number
  /** Whether more than a few rows were sorted. */
  readonly sorted: boolean
  readonly plan: string
}

interface Counting {
  readonly name: string
  readonly dialect: Dialect
  run(statement: Sql, args: readonly JsonValue[], slots: Values): Promise<CountedRows>
}

/** Adds a counting function as the first condition, which SQLite evaluates for each row found by the index. */
function sqliteCounting(database: DatabaseSync, name: string): Counting {
  let visited = 0
  database.function('seen', { varargs: true }, () => ++visited)
  // The statements count the bytes of their answers.
  new AnswerSize(database)
  return {
    name,
    dialect: sqlite,
    async run(statement, args, slots) {
      const { text, binds } = compile(statement, '?')
      const values = [...valuesOf(binds, args, slots)]
      const counted = text.replace(/FROM "posts" AS "(t\d+)"( WHERE)?/g, (_, t, w) =>
        w
          ? `FROM "posts" AS "${t}" WHERE seen("${t}"."id") AND`
          : `FROM "posts" AS "${t}" WHERE seen("${t}"."id")`,
      )
      visited = 0
      const prepared = database.prepare(counted)
      prepared.setReturnArrays(true)
      const rows = prepared.all(...values) as unknown as readonly (readonly unknown[])[]
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values)
      const plan = steps.map(step => String(step.detail)).join('; ')
      return { rows, visited, sorted: plan.includes('TEMP B-TREE'), plan }
    },
  }
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

function rowsOf({ 'Actual Rows': rows, 'Actual Loops': loops, ...node }: PlanNode): number {
  return (rows + (node['Rows Removed by Filter'] ?? 0)) * loops
}

/** `mode`: whether plans are specific to the values or generic. */
function postgresCounting(client: pg.Client, mode: 'custom' | 'generic'): Counting {
  return {
    name: `PostgreSQL, ${mode} plans`,
    dialect: postgres,
    async run(statement, args, slots) {
      const { text, binds } = compile(statement, '$')
      const values = valuesOf(binds, args, slots).map(value =>
        value === null ? 'NULL' : typeof value === 'number' ? value : `'${value}'`,
      )
      const call = values.length === 0 ? 'EXECUTE p' : `EXECUTE p (${values.join()})`
      await client.query(`SET plan_cache_mode = force_${mode}_plan; PREPARE p AS ${text}`)
      const { rows } = await client.query({ text: call, rowMode: 'array' })
      const explained = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${call}`)
      await client.query('DEALLOCATE p')
      const nodes = nodesOf(explained.rows[0]['QUERY PLAN'][0].Plan)
      const leaves = nodes.filter(node => node['Node Type'].endsWith('Scan') && node.Plans === undefined)
      const sorts = nodes.filter(node => node['Node Type'].endsWith('Sort'))
      return {
        rows,
        visited: leaves.reduce((sum, node) => sum + rowsOf(node), 0),
        sorted: sorts.some(node => Math.max(...(node.Plans ?? []).map(rowsOf)) > pageSize * 3),
        plan: nodes.map(node => `${node['Node Type']} ${node['Index Name'] ?? ''}`).join('; '),
      }
    },
  }
}

/** Reads the list from its first row and from deep positions, with an offset too, as from an anchor. */
async function checkList(counting: Counting, list: List): Promise<void> {
  const shape = shapeOf(list)
  const args = [0, 20, list.by?.[1] ?? null]
  const run = (slice: Slice, slots: Values) =>
    counting.run(listSql(shape, slice, counting.dialect), args, slots)
  const first: Slice = { after: undefined, limit: [String(rowCount)], offset: undefined, keys: true }
  const { rows: all } = await run(first, [])
  const limit = [String(pageSize)]
  const position = shape.sort.map((_, index) => slot(index))
  for (const part of [0, 0.05, 0.5, 0.95]) {
    const before = Math.floor(all.length * part)
    const slots = before === 0 ? [] : (all[before - 1]?.slice(1) as Values)
    for (const offset of before === 0 ? [0] : [0, 5]) {
      const slice: Slice = {
        after: before === 0 ? undefined : position,
        limit,
        offset: offset === 0 ? undefined : slot(position.length),
        keys: true,
      }
      const { rows, visited, sorted, plan } = await run(slice, [...slots, offset])
      const description = `${JSON.stringify(list)} at ${part} of ${counting.name}: ${visited} rows by ${plan}`
      assert.deepEqual(rows, all.slice(before + offset, before + offset + pageSize), description)
      if (offset > 0) {
        const far = await run(slice, [...slots, 3_000_000_000])
        assert.deepEqual(far.rows, [])
      }
      // At most four ranges, each with the rows of one time of creation; PostgreSQL may filter if it expects few rows.
      assert.ok(visited <= 4 * (pageSize + offset + 4) || isFiltered(list, counting, visited), description)
      assert.ok(!sorted, description)
    }
  }
}

/** With its statistics, PostgreSQL may find an author's tenth of the rows by another index in the right order. */
function isFiltered({ by }: List, { name }: Counting, visited: number): boolean {
  return by?.[0] === 'author_id' && name.startsWith('PostgreSQL') && visited <= 12 * (pageSize + 9)
}

const title: readonly Selected[] = [{ kind: 'field', key: 'title', field: 'title' }]

/** Checks a connection nested in an item, after a position given as arguments. */
async function checkConnection(counting: Counting, sort: string): Promise<void> {
  const keys = sortOf(sort)
  const inner = (after: readonly number[] | undefined): Selected => ({
    kind: 'relation',
    key: 'posts',
    relation: 'posts',
    select: title,
    list: { filter: undefined, sort: keys, limit: 1, connection: { total: false }, ...(after && { after }) },
  })
  const read = async (after: readonly number[] | undefined, args: readonly JsonValue[]) => {
    const shape: CompositeShape = {
      kind: 'composite',
      roots: [{ kind: 'item', key: 'user', collection: 'users', id: 0, select: [inner(after)] }],
    }
    const guarded = guard({ shape, args }, system).shape
    const counted = await counting.run(compositeSql(guarded, counting.dialect), args, [])
    return { ...counted, rows: JSON.parse(String(counted.rows[0]?.[0])).user.posts.rows }
  }
  const { rows: all } = await read(undefined, [3, rowCount])
  assert.equal(all.length, rowCount / 10)
  for (const offset of [10, 150, 300, 390]) {
    const position: readonly JsonValue[] = all[offset - 1].keys
    const after = position.map((_, key) => key + 2)
    const { rows, visited, plan } = await read(after, [3, 10, ...position])
    const description = `${sort} at ${offset} of ${counting.name}: ${visited} rows by ${plan}`
    assert.deepEqual(rows, all.slice(offset, offset + 10), description)
    if (keys[0]?.field === 'created_at') assert.ok(visited <= 200, description)
  }
}

async function checkAll(counting: Counting): Promise<void> {
  for (const list of lists) await checkList(counting, list)
  for (const sort of ['-created_at', 'created_at', '-due', 'due', 'rank,-title', '-status,title'])
    await checkConnection(counting, sort)
}

test('with a read rule that most rows satisfy, SQLite still reads a list in the order of an index', async () => {
  const published = field('status').eq('published')
  const rules = [
    [published, 'id', [index('status', '-created_at')]],
    [published, '-created_at', [index('status')]],
    [published, '-created_at', [index('status', '-created_at')]],
    [published.or(owner('author_id')), 'id', [index('status')]],
    [published.or(owner('author_id')), '-created_at', [index('status', '-created_at')]],
  ] as const
  for (const [read, sort, indexes] of rules) {
    const ruled = postsWith(indexes, read)
    const database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
    try {
      database.exec(`${schemaSql(ruled)}; ${users}; ${fill}`)
      const shape = shapeOf({ sort }, createGuard(ruled), user(callerId, 'user', new Set(['read:post'])))
      const slice: Slice = { after: undefined, limit: [String(pageSize)], offset: undefined, keys: true }
      const counting = sqliteCounting(database, 'SQLite')
      const { rows, visited, sorted, plan } = await counting.run(listSql(shape, slice, sqlite), [0, 20], [])
      assert.equal(rows.length, pageSize)
      assert.ok(visited <= 4 * pageSize && !sorted, `${sort}: ${visited} rows by ${plan}`)
    } finally {
      database.close()
    }
  }
})

test('SQLite visits about a page of rows, with statistics and without', async () => {
  const database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  try {
    database.exec(`${schemaSql(indexed)}; ${users}; ${fill}`)
    await checkAll(sqliteCounting(database, 'SQLite without statistics'))
    database.exec('ANALYZE')
    await checkAll(sqliteCounting(database, 'SQLite with statistics'))
  } finally {
    database.close()
  }
})

testOfOthers('PostgreSQL visits about a page of rows, with custom and generic plans', () =>
  withPostgres(async url => {
    await query(url, postgresSchemaSql(indexed))
    await query(url, `${users}; ${fill}; ANALYZE`)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      // Everything is in memory; otherwise a table of this size would be scanned sequentially.
      await client.query('SET random_page_cost = 1')
      await checkAll(postgresCounting(client, 'custom'))
      await checkAll(postgresCounting(client, 'generic'))
    } finally {
      await client.end()
    }
  }),
)
