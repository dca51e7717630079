/** Known totals and positions of a list are used on PostgreSQL only if the snapshot has no uncounted change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../../../../src/base/principal.ts'
import type { ListAnswer } from '../../../../../src/engine/plan/answer.ts'
import { defaultAnswerLimits } from '../../../../../src/engine/plan/answer-bound.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import type { GuardedRead } from '../../../../../src/engine/plan/guarded.ts'
import type { ListShape } from '../../../../../src/engine/plan/plan.ts'
import { Pool } from '../../../../../src/engine/store/postgres/connections/pool.ts'
import type {
  BoundStatement,
  DataRows,
} from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { PostgresReads } from '../../../../../src/engine/store/postgres/read/reads.ts'
import { noSecurity } from '../../../../../src/engine/store/postgres/row-security/security.ts'
import { Checks } from '../../../../../src/engine/store/postgres/versions/checks.ts'
import { CacheLease } from '../../../../../src/engine/store/postgres/versions/lease.ts'
import { Answers } from '../../../../../src/engine/store/read/answers.ts'
import { listCacheOptions } from '../../../../../src/engine/store/read/list-cache.ts'
import { Reader } from '../../../../../src/engine/store/read/reader.ts'
import { Versions } from '../../../../../src/engine/store/versions.ts'
import { blog, listOfPosts } from '../../blog.ts'

const calm: DataRows = [['1:1:', null, 0]]
const touched: DataRows = [['1:2:', '1\nposts', 0]]
const elsewhere: DataRows = [['1:2:', '1\nusers', 0]]

const isCheck = ({ statement }: BoundStatement) => statement.text.includes('pg_current_snapshot')
const isSearchedPage = ({ hasTotal }: BoundStatement) => hasTotal === true
const isCount = (query: BoundStatement) => !isSearchedPage(query) && query.statement.text.includes('count(*)')

const guard = createGuard(blog)

/** A reader on a stub database. Its checks return `checks` in turn, its counts `total`; `pipelines` records its queries. */
function open(checks: readonly DataRows[], total = 5000) {
  const versions = new Versions()
  const pool = new Pool({ open: () => Promise.reject(new Error('not used')), size: 1, maxWaiting: 1 })
  const said = [...checks]
  const pipelines: (readonly BoundStatement[])[] = []
  const ask = async (queries: readonly BoundStatement[]): Promise<readonly DataRows[]> => {
    pipelines.push(queries)
    const rows = [499, 500, 501].map(id => [`{"id":${id}}`, id])
    return queries.map(query => {
      if (isCheck(query)) return said.shift() ?? calm
      if (isSearchedPage(query)) return rows.map(row => [...row, total])
      return isCount(query) ? [[total]] : rows
    })
  }
  const reads = new PostgresReads({
    answerLimits: defaultAnswerLimits,
    answers: new Answers(0),
    lists: listCacheOptions({ versions, keepsTotals: true }),
    checks: new Checks({ pool, versions, lease: new CacheLease(), onChange() {} }),
    security: noSecurity,
    primary: { ask },
    source: { ask },
  })
  const reader = new Reader(reads)
  const read = async (shape: ListShape, args: readonly (string | number)[]) =>
    (await reader.read(guard({ shape, args }, system) as GuardedRead)) as ListAnswer
  return { read, pipelines, versions }
}

/** Reads one deep page twice; returns the statement for its rows in each pipeline. */
async function statementsFor(checks: readonly DataRows[]): Promise<(string | undefined)[]> {
  const { read, pipelines } = open(checks)
  for (let reads = 0; reads < 2; reads++) await read(listOfPosts, [500, 2])
  const ofPosts = ({ statement }: BoundStatement) => statement.text.includes('"posts"')
  return pipelines.map(queries => queries.find(ofPosts)?.statement.text)
}

test('the first read of a deep page uses OFFSET, the next one the position found', async () => {
  const [counted, anchored, again] = await statementsFor([calm, elsewhere])
  assert.notEqual(anchored, counted)
  assert.equal(again, undefined)
})

test('a position found in a snapshot with uncounted changes is not kept', async () => {
  const [first, second] = await statementsFor([touched, calm])
  assert.equal(second, first, 'by OFFSET again')
})

test('a page read from a position in a snapshot with uncounted changes is read again with OFFSET', async () => {
  const [counted, anchored, again] = await statementsFor([calm, touched, calm])
  assert.notEqual(anchored, counted)
  assert.equal(again, counted)
})

const titled: ListShape = {
  ...listOfPosts,
  filter: { kind: 'compare', field: 'title', operator: 'eq', param: 2 },
}

test('a filtered list is counted once, however many of its pages are read', async () => {
  const { read, pipelines, versions } = open([])
  for (const offset of [0, 20, 40, 240, 900]) {
    assert.equal((await read(titled, [offset, 2, 'a'])).total, 5000)
  }
  assert.equal(pipelines.flat().filter(isCount).length, 1)
  await read(titled, [0, 2, 'b'])
  assert.equal(pipelines.flat().filter(isCount).length, 2, 'another list has another total')
  versions.bump(['posts'])
  await read(titled, [20, 2, 'a'])
  assert.equal(pipelines.flat().filter(isCount).length, 3, 'a change invalidates the total')
})

test('a cached total is not returned with rows of a snapshot that has uncounted changes', async () => {
  const { read, pipelines } = open([calm, touched])
  await read(titled, [0, 2, 'a'])
  assert.equal(pipelines.length, 1)
  await read(titled, [20, 2, 'a'])
  assert.deepEqual(
    pipelines.map(queries => [queries.some(isCheck), queries.some(isCount)]),
    [
      [true, true],
      [true, false],
      [true, true],
    ],
  )
})

test('a small total is counted again, since one page can hold the whole list', async () => {
  const { read, pipelines } = open([], 100)
  for (const offset of [0, 20]) await read(titled, [offset, 2, 'a'])
  assert.equal(pipelines.flat().filter(isCount).length, 2)
})

const searched: ListShape = { ...listOfPosts, search: 2 }
const usesKnownTotal = ({ values }: BoundStatement) => values.includes('5000')

test('the statement of a page of a search counts, and gets the total for further pages until a change', async () => {
  const { read, pipelines, versions } = open([])
  for (const offset of [0, 20, 240]) assert.equal((await read(searched, [offset, 2, 'a'])).total, 5000)
  assert.deepEqual(pipelines.flat().filter(isSearchedPage).map(usesKnownTotal), [false, true, true])
  versions.bump(['posts'])
  assert.equal((await read(searched, [20, 2, 'a'])).total, 5000)
  assert.deepEqual(pipelines.at(-1)?.filter(isSearchedPage).map(usesKnownTotal), [false])
  assert.deepEqual(pipelines.flat().filter(isCount), [])
})

test('a page of a search with a total from before an uncounted change is read again, and counted', async () => {
  const { read, pipelines } = open([calm, touched])
  for (let reads = 0; reads < 2; reads++) await read(searched, [20, 2, 'a'])
  assert.deepEqual(pipelines.flat().filter(isSearchedPage).map(usesKnownTotal), [false, true, false])
})
