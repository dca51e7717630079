/** Parsing SQLite's query plans of Portico's statements, and estimating the rows that they visit. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { system } from '../../../../../src/base/principal.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import { orderById, totalOrder } from '../../../../../src/engine/plan/order.ts'
import type { CompositeShape, Filter, ListShape, Selected } from '../../../../../src/engine/plan/plan.ts'
import { estimatePlan, type PlanFacts } from '../../../../../src/engine/store/plans/estimate.ts'
import { eachAccess, type PlanAccess } from '../../../../../src/engine/store/plans/steps.ts'
import { createSchema } from '../../../../../src/engine/store/schema/sqlite/ddl.ts'
import { schemaOf } from '../../../../../src/engine/store/schema/tables.ts'
import { compositeSql } from '../../../../../src/engine/store/sql/composite.ts'
import { countSql, itemSql, listSql, type Slice } from '../../../../../src/engine/store/sql/read.ts'
import { sqlite } from '../../../../../src/engine/store/sql/sqlite.ts'
import { arg, compile, type Sql } from '../../../../../src/engine/store/sql/writer.ts'
import { AnswerSize } from '../../../../../src/engine/store/sqlite/read/answer-size.ts'
import { parsePlan, tablesByAlias } from '../../../../../src/engine/store/sqlite/read/query-plan.ts'
import { anyone, choice, collection, index, model, relation, text, unique } from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import { fields } from '../../blog.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const declared = checkModel(
  model({
    posts: collection({
      fields: {
        title: text({ max: 200, searchable: true }),
        status: choice(['draft', 'open']),
        slug: text({ unique: true }),
        author_id: relation('users', { inverse: 'posts' }),
      },
      indexes: [index('status', 'title')],
      access,
    }),
    tags: collection({ fields: { name: text() }, access }),
    post_tags: collection({
      fields: { post_id: relation('posts', { inverse: 'post_tags' }), tag_id: relation('tags') },
      indexes: [unique('post_id', 'tag_id')],
      access,
    }),
  }),
)
const totals: Readonly<Record<string, number>> = {
  posts: 100_000,
  users: 1_000,
  tags: 50,
  post_tags: 300_000,
  _search_posts: 100_000,
}

const guard = createGuard(declared)
const database = new DatabaseSync(':memory:')
// The statements count the bytes of their answers.
new AnswerSize(database)
for (const statement of createSchema(schemaOf(declared))) database.exec(statement)

function planOf(sql: Sql) {
  const { text } = compile(sql, '?')
  const rows = database
    .prepare(`EXPLAIN QUERY PLAN ${text}`)
    .all()
    .map(({ id, parent, notused, detail }) => [id, parent, notused, detail].map(value => value ?? null))
  return { steps: parsePlan(rows), tables: tablesByAlias(text) }
}

const page: Slice = {
  after: undefined,
  limit: sqlite.limit(arg(1)),
  offset: arg(0),
  keys: false,
}
const posts: ListShape = {
  kind: 'list',
  collection: 'posts',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: orderById,
  window: { kind: 'cursor', after: undefined, limit: 1 },
  select: fields('id', 'title'),
}
const compare = (field: string): Filter => ({ kind: 'compare', field, operator: 'eq', param: 2 })
const sortBy = (field: string, descending = true) => [{ field, descending }]
const listOf = (shape: Partial<ListShape>) => guard({ shape: { ...posts, ...shape }, args: [] }, system).shape
const planOfList = (shape: Partial<ListShape>) => planOf(listSql(listOf(shape), page, sqlite))

/** Estimates a plan with fixed table sizes. */
function estimate(plan: ReturnType<typeof planOf>, facts: Partial<PlanFacts> = {}) {
  return estimatePlan(plan.steps, {
    rowsOf: alias => totals[plan.tables.get(alias) ?? alias],
    isKey: (_, columns) => columns.includes('slug') || columns.length === 2,
    rowsPerKey: (_, columns) => (columns[0] === 'author_id' ? 100 : undefined),
    take: 20,
    counts: false,
    filtered: () => false,
    ...facts,
  })
}

test('an access has its table, its index and its search columns', () => {
  const accesses: PlanAccess[] = []
  eachAccess(planOfList({ filter: compare('status'), sort: totalOrder(sortBy('title')) }).steps, access =>
    accesses.push(access),
  )
  const [first] = accesses
  assert.ok(first)
  assert.deepEqual(
    [first.access, first.table, first.index, first.covering, first.constraint, first.equal],
    ['search', 't0', 'posts__status__title__index', true, 'status=?', ['status']],
  )
  assert.equal(planOfList({ sort: totalOrder(sortBy('title')) }).tables.get('t0'), 'posts')
})

test('lists by id, or by an index without a further filter, visit only the rows that they return', () => {
  for (const shape of [
    {},
    { sort: totalOrder(sortBy('id')) },
    { filter: compare('author_id') },
    { filter: compare('status'), sort: totalOrder(sortBy('title')) },
    { sort: totalOrder(sortBy('slug')) },
  ]) {
    const { most, bounded, walks, sorts, searches } = estimate(planOfList(shape))
    assert.deepEqual(
      { bounded, walks, sorts, searches },
      { bounded: true, walks: false, sorts: 'none', searches: false },
    )
    assert.ok(most <= 40, `${most} rows`)
  }
})

test('a list sorted without an index visits and sorts the whole table', () => {
  const unsorted = estimate(planOfList({ sort: totalOrder([...sortBy('title'), ...sortBy('status')]) }))
  assert.deepEqual([unsorted.bounded, unsorted.sorts, unsorted.most], [false, 'all', 100_000])
})

test('a sorted lookup by an index is expected to visit the average rows per key, at most the whole table', () => {
  const { most, expected, sorts, bounded } = estimate(
    planOfList({ filter: compare('author_id'), sort: totalOrder(sortBy('title')) }),
  )
  assert.deepEqual([most, expected, sorts, bounded], [100_000, 100, 'all', false])
})

test('an order served partly by an index is sorted in groups', () => {
  const plan = planOfList({
    filter: compare('status'),
    sort: totalOrder([...sortBy('title'), ...sortBy('slug')]),
  })
  const { sorts, most, expected } = estimate(plan, { rowsPerGroup: () => 3 })
  assert.deepEqual([sorts, most, expected], ['groups', 100_000, 23])
})

test('a filter without an index visits rows until enough match', () => {
  const plan = planOfList({ filter: compare('title') })
  const { most, walks, sorts, bounded } = estimate(plan, { filtered: () => true })
  assert.deepEqual([most, walks, sorts, bounded], [100_000, true, 'none', false])
})

test('a filter along a relation visits one more row per row', () => {
  const filter: Filter = {
    kind: 'related',
    relation: 'author',
    filter: { kind: 'compare', field: 'role', operator: 'eq', param: 2 },
  }
  const { most, walks } = estimate(planOfList({ filter }), { filtered: () => true })
  assert.deepEqual([most, walks], [200_000, true])
})

test('a search is recognized', () => {
  const { searches, sorts, bounded } = estimate(planOfList({ search: 2, sort: totalOrder(sortBy('title')) }))
  assert.deepEqual([searches, sorts, bounded], [true, 'all', false])
})

test('the values of an `in` filter are looked up one by one', () => {
  const filter: Filter = { kind: 'compare', field: 'id', operator: 'in', param: 2 }
  const { most, bounded } = estimate(planOfList({ filter }))
  assert.deepEqual([most <= 200, bounded], [true, true])
})

test('a count visits every row that it counts', () => {
  const count = planOf(countSql(listOf({ filter: compare('status') }), sqlite))
  const { most, expected, bounded } = estimate(count, { take: undefined })
  assert.deepEqual([most, expected, bounded], [100_000, 1_000, false])
})

test('an item visits one row', () => {
  const { shape } = guard(
    { shape: { kind: 'item', collection: 'posts', id: 0, select: fields('id') }, args: [1] },
    system,
  )
  const { most, bounded } = estimate(planOf(itemSql(shape, sqlite)), { take: undefined })
  assert.deepEqual([most, bounded], [1, true])
})

const nested = (sort: ListShape['sort']): Selected => ({
  kind: 'relation',
  key: 'posts',
  relation: 'posts',
  select: fields('title'),
  list: { filter: undefined, sort, limit: 1 },
})
const usersWith = (selected: Selected): CompositeShape => ({
  kind: 'composite',
  roots: [
    {
      kind: 'list',
      key: 'users',
      collection: 'users',
      list: { filter: undefined, sort: orderById, limit: 0 },
      select: [selected],
    },
  ],
})

test('the rows of nested lists are multiplied, and bounded if an index serves their order', () => {
  const planOfNested = (sort: ListShape['sort']) =>
    planOf(compositeSql(guard({ shape: usersWith(nested(sort)), args: [20, 20] }, system).shape, sqlite))
  const indexed = estimate(planOfNested(orderById))
  assert.deepEqual([indexed.bounded, indexed.sorts], [true, 'none'])
  assert.ok(indexed.most >= 420 && indexed.most <= 900, `${indexed.most} rows`)
  const slow = estimate(planOfNested(totalOrder(sortBy('title'))))
  assert.deepEqual([slow.bounded, slow.sorts], [false, 'all'])
  assert.ok(slow.expected >= 2_000 && slow.expected <= 3_000, `${slow.expected} rows`)
  assert.ok(slow.most >= 2_000_000)
})

/** The formats of SQLite 3.46 or later, including those that Portico's statements do not produce. */
test('every format of a query plan step is parsed', () => {
  const only = (detail: string) => parsePlan([[2, 0, 0, detail]])[0]
  for (const detail of [
    'SCAN CONSTANT ROW',
    'SCAN 2-ROW VALUES CLAUSE',
    'SCAN (subquery-2)',
    'SCAN t0 USING COVERING INDEX posts__a__index',
    'SEARCH t1 EXISTS USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH q USING AUTOMATIC COVERING INDEX (tag_id=?)',
    'SEARCH q USING AUTOMATIC PARTIAL COVERING INDEX (tag_id=?) LEFT-JOIN',
    'SEARCH r USING PRIMARY KEY (kind=? AND id=?)',
    'SEARCH t0 USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    'SEARCH t0 USING INDEX i (a=? AND ANY(b) AND (c,d)>(?,?))',
    'SCAN _search_posts VIRTUAL TABLE INDEX 0:M2',
    'CORRELATED LIST SUBQUERY 1',
    'SCALAR SUBQUERY 12',
    'MATERIALIZE q',
    'CO-ROUTINE (subquery-1)',
    'MULTI-INDEX OR',
    'INDEX 1',
    'MERGE (UNION ALL)',
    'UNION USING TEMP B-TREE',
    'COMPOUND QUERY',
    'LEFT-MOST SUBQUERY',
    'USE TEMP B-TREE FOR GROUP BY',
    'USE TEMP B-TREE FOR DISTINCT',
    'USE TEMP B-TREE FOR count(DISTINCT)',
    'USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
    'USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY',
    'REUSE LIST SUBQUERY 1',
    'BLOOM FILTER ON q (tag_id=?)',
    'USING INDEX i FOR IN-OPERATOR',
  ]) {
    assert.notEqual(only(detail)?.kind, 'unknown', detail)
  }
  const mixed = only('SEARCH t0 USING INDEX i (a=? AND ANY(b) AND (c,d)>(?,?))')
  assert.deepEqual(mixed?.kind === 'access' && [mixed.equal, mixed.ranged], [['a'], ['b', 'c', 'd']])
  const tree = only('USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY')
  assert.equal(tree?.kind === 'tree' && tree.lastTerms, 2)
})

test('an unknown step or table is never bounded', () => {
  const steps = parsePlan([[2, 0, 0, 'SOMETHING NEW OF TABLE t0']])
  assert.equal(estimatePlan(steps, { rowsOf: () => 1, take: 1 }).bounded, false)
  const unknownTable = parsePlan([[2, 0, 0, 'SCAN t0']])
  const { bounded, most } = estimatePlan(unknownTable, { rowsOf: () => undefined, take: 1 })
  assert.deepEqual([bounded, most > 1e15], [false, true])
})

test('a union of several indexes visits the sum of their rows', () => {
  const filter: Filter = { kind: 'or', parts: [compare('author_id'), compare('status')] }
  const { most, expected, bounded } = estimate(planOfList({ filter }))
  assert.ok(most >= 100_000 && expected < most)
  assert.equal(bounded, false)
})
