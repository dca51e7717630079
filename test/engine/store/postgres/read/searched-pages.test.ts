/** A page of search results reads few rows, whether few or many match and whether the total is known, by one plan. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { system, user } from '../../../../../src/base/principal.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import type { GuardedList } from '../../../../../src/engine/plan/guarded.ts'
import { totalOrder } from '../../../../../src/engine/plan/order.ts'
import type { Filter, ListShape } from '../../../../../src/engine/plan/plan.ts'
import type { BoundStatement } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { limited } from '../../../../../src/engine/store/postgres/read/limited.ts'
import { statementsOf } from '../../../../../src/engine/store/postgres/read/reads.ts'
import { isSearchedPage } from '../../../../../src/engine/store/postgres/read/searched-pages.ts'
import { noSecurity } from '../../../../../src/engine/store/postgres/row-security/security.ts'
import { postgresSchemaSql } from '../../../../../src/engine/store/schema/postgres/migrate.ts'
import { postgres, rowSecurityPostgres } from '../../../../../src/engine/store/sql/postgres.ts'
import { countSql, listSql, type Slice } from '../../../../../src/engine/store/sql/read.ts'
import { arg, slot } from '../../../../../src/engine/store/sql/writer.ts'
import {
  type AccessRule,
  anyone,
  collection,
  field,
  index,
  model,
  relation,
  role,
  string,
  text,
} from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../../src/model/fields/type.ts'
import { newDatabase, query, type TestDatabase } from '../../../../setups/databases/postgres.ts'

const rowCount = 9000
const pageSize = 20

function articles(read: AccessRule = anyone, readBody: AccessRule = anyone) {
  const fields = {
    title: text({ searchable: true }),
    body: text({ searchable: true, access: { read: readBody } }),
    kind: string(),
    status: string(),
    author_id: relation('users', { inverse: 'articles' }),
  }
  const indexes = [index('status')]
  return checkModel(model({ articles: collection({ fields, indexes, access: { read } }) }))
}

const guard = createGuard(articles())

/** How many rows each word matches. The rows of `late` are the last ones. */
const matches = { common: rowCount / 3, late: 1000, medium: rowCount / 60, rare: 4, missing: 0 }
type Word = keyof typeof matches

const terms = `array_remove(ARRAY['title', CASE WHEN i % 3 = 0 THEN 'common' END, CASE WHEN i > ${rowCount - 1000} THEN 'late' END,
  CASE WHEN i % 60 = 0 THEN 'medium' END, CASE WHEN i % 2250 = 7 THEN 'rare' END], NULL)`
const fill = `INSERT INTO users (id, email, name, role, created_at) VALUES (1, 'a@example.com', 'a', 'user', '2026-01-01T00:00:00.000Z');
  INSERT INTO articles (title, body, kind, status, author_id)
    SELECT 'title ' || i, repeat('text ', 20), 'k' || i % 2, 's', 1 FROM generate_series(1, ${rowCount}) AS i;
  INSERT INTO "_search_articles" ("id", "_all", "title", "body")
    SELECT i, t || b, t, b FROM generate_series(1, ${rowCount}) AS i, LATERAL (SELECT ${terms} AS t) AS t,
      (SELECT array_agg('body' || n) AS b FROM generate_series(1, 50) AS n) AS b;
  ANALYZE`

let database: TestDatabase
let client: pg.Client

before(async () => {
  database = await newDatabase()
  await query(database.url, postgresSchemaSql(articles()))
  await query(database.url, fill)
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  // As on the connections of the store.
  await client.query('SET jit = off')
})

after(async () => {
  await client.end()
  await database.drop()
})

const ofKind: Filter = { kind: 'compare', field: 'kind', operator: 'eq', param: 3 }

function shapeOf(changes: Partial<ListShape> = {}, guarded = guard, caller = system): GuardedList {
  const shape: ListShape = {
    kind: 'list',
    collection: 'articles',
    within: undefined,
    filter: undefined,
    search: 2,
    sort: totalOrder([{ field: 'id', descending: false }]),
    window: { kind: 'page', offset: 0, limit: 1, total: 'exact' },
    select: [{ kind: 'field', key: 'title', field: 'title' }],
    ...changes,
  }
  return guarded({ shape, args: argsOf('common') }, caller).shape as GuardedList
}

const argsOf = (word: Word, offset = 0): readonly JsonValue[] => [offset, pageSize, word, 'k1']

const first: Slice = { after: undefined, limit: [String(pageSize)], offset: undefined, keys: false }
const statements = statementsOf(noSecurity)
const size = { rows: () => pageSize, skipped: () => 0 }

function pagesOf(list: GuardedList, slice: Slice) {
  const toQuery = statements.slice(list, () => slice, size)
  return (word: Word, total?: number, slots: readonly number[] = []) =>
    toQuery({ args: argsOf(word), userId: null, slots, total })
}

const named = ({ statement, values }: BoundStatement) => ({
  name: statement.name,
  text: statement.text,
  values: [...values],
})

async function rowsOf(request: BoundStatement): Promise<readonly (readonly unknown[])[]> {
  return (await client.query<unknown[]>({ ...named(request), rowMode: 'array' })).rows
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** The number of rows that all scans of tables and indexes have looked at. */
function visitedRows(node: PlanNode): number {
  const isScan = node['Node Type'].endsWith('Scan') && !/^(CTE|Subquery)/.test(node['Node Type'])
  const own = isScan
    ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    : 0
  return (node.Plans ?? []).reduce((sum, plan) => sum + visitedRows(plan), own)
}

/** Executes a statement that the connection has prepared. */
async function visitedBy({ statement, values }: BoundStatement): Promise<number> {
  const list = values.map(value => (value === null ? 'NULL' : pg.escapeLiteral(value))).join()
  const explained = await client.query(
    `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE "${statement.name}"(${list})`,
  )
  return visitedRows(explained.rows[0]['QUERY PLAN'][0].Plan)
}

/** How often the statement was executed by custom and by generic plans. */
async function plansOf({
  statement: { name },
}: BoundStatement): Promise<readonly [custom: number, generic: number]> {
  const { rows } = await client.query(
    'SELECT custom_plans::int, generic_plans::int FROM pg_prepared_statements WHERE name = $1',
    [name],
  )
  return [rows[0].custom_plans, rows[0].generic_plans]
}

const words = Object.keys(matches) as readonly Word[]

for (const [name, filter, share] of [
  ['a search', undefined, 1],
  ['a search with a further condition', ofKind, 0.5],
] as const) {
  test(`${name} reads few rows for each word, by a plan that is made once`, async () => {
    const page = pagesOf(shapeOf({ filter }), first)
    // First with known totals: a plan for them would omit the count, and appear cheaper than the generic one.
    for (let executions = 0; executions < 6; executions++) await rowsOf(page('common', 3000))
    assert.deepEqual(await plansOf(page('common')), [5, 1])
    // The index, its table and the list's table each count a match; of `common`, a third of the rows match.
    const pageRows = 2 * pageSize + (3 * pageSize) / share
    for (const word of words) {
      const known = await visitedBy(page(word, matches[word] * share))
      const counted = await visitedBy(page(word))
      const few = word === 'common' ? pageRows * 2 : 3.2 * matches[word] + pageRows
      assert.ok(known <= few, `${word}, total known: ${known} rows`)
      assert.ok(counted <= few + 3 * matches[word], `${word}, counted: ${counted} rows`)
    }
    assert.deepEqual(await plansOf(page('common')), [5, 1 + 2 * words.length])
  })
}

test('pages from an offset and from a position are planned once, too', async () => {
  for (const slice of [
    { ...first, offset: arg(0) },
    { ...first, after: [slot(1)], offset: slot(0), keys: true },
  ]) {
    const page = pagesOf(shapeOf(), slice)
    for (let executions = 0; executions < 7; executions++)
      await rowsOf(page('common', 3000, [20, rowCount - 100]))
    assert.deepEqual(await plansOf(page('common')), [5, 2])
  }
})

test('the rows are those of the list, and the total is the given one or the count', async () => {
  const positions: readonly Pick<Slice, 'after' | 'offset'>[] = [
    { after: undefined, offset: undefined },
    { after: undefined, offset: slot(0) },
    { after: [slot(1)], offset: slot(0) },
  ]
  for (const filter of [undefined, ofKind]) {
    for (const descending of [false, true]) {
      const list = shapeOf({ filter, sort: totalOrder([{ field: 'id', descending }]) })
      const count = statements.count(list, countSql)
      for (const position of positions) {
        const slice: Slice = { ...first, ...position, keys: true }
        const page = pagesOf(list, slice)
        const plain = limited(postgres, dialect => listSql(list, slice, dialect))
        for (const word of words) {
          for (const offset of [0, 130]) {
            const inputs = { args: argsOf(word), userId: null, slots: [offset, rowCount / 2] }
            const expected = await rowsOf(plain(inputs))
            const total = (await rowsOf(count(inputs)))[0]?.[0]
            // A known total is not checked. If it is wrong, only another way may be taken.
            for (const known of [undefined, 1, 100_000]) {
              const result = await rowsOf(page(word, known, inputs.slots))
              const ending = String(known ?? total)
              const all =
                expected.length === 0 ? [[null, null, ending]] : expected.map(row => [...row, ending])
              assert.deepEqual(result, all, `${word} ${offset} ${known}`)
            }
          }
        }
      }
    }
  }
})

test('a search that reads one field finds no words of others, along the ids either', async () => {
  const list = shapeOf({}, createGuard(articles(anyone, role('admin'))), user(2, 'user', 'all'))
  const page = statements.slice(list, () => first, size)
  const total = async (word: string, known?: number) => {
    const rows = await rowsOf(page({ args: [0, pageSize, word, ''], userId: 2, slots: [], total: known }))
    return [rows.filter(([text]) => text !== null).length, rows[0]?.at(-1)]
  }
  assert.deepEqual(await total('title'), [pageSize, String(rowCount)])
  assert.deepEqual(await total('body1'), [0, '0'])
  assert.deepEqual(await total('body1', rowCount), [0, String(rowCount)])
})

test('other lists are read by `listSql`: those that another index may find, and those without an exact total', () => {
  const compare = (name: string): Filter => ({ kind: 'compare', field: name, operator: 'eq', param: 3 })
  const isSearched = (changes: Partial<ListShape>) => isSearchedPage(shapeOf(changes), postgres)
  const any = (...filters: readonly Filter[]): Filter => ({ kind: 'or', parts: filters })
  assert.equal(isSearched({}), true)
  assert.equal(isSearched({ filter: compare('kind') }), true)
  assert.equal(isSearched({ filter: any(compare('kind'), compare('status')) }), true)
  assert.equal(isSearched({ filter: compare('status') }), false)
  assert.equal(isSearched({ filter: any(compare('author_id'), compare('status')) }), false)
  assert.equal(isSearched({ search: undefined }), false)
  assert.equal(isSearched({ sort: totalOrder([{ field: 'created_at', descending: true }]) }), false)
  assert.equal(isSearched({ window: { kind: 'page', offset: 0, limit: 1, total: 'none' } }), false)
  assert.equal(isSearched({ window: { kind: 'page', offset: 0, limit: 1, total: 'estimate' } }), false)
  assert.equal(isSearched({ window: { kind: 'cursor', after: undefined, limit: 1 } }), false)
  assert.equal(isSearchedPage(shapeOf(), rowSecurityPostgres), false)
  const ruled = createGuard(articles(field('kind').eq('k1')))
  assert.equal(isSearchedPage(shapeOf({}, ruled, user(1, 'user', 'all')), postgres), true)
})
