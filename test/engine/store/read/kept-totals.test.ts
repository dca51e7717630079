/** Totals are cached only if their snapshot is not newer than the versions; estimates are used again for ten seconds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { GuardedList } from '../../../../src/engine/plan/guarded.ts'
import type { ListQueries, Snapshot, Statements } from '../../../../src/engine/store/read/database.ts'
import { ListCache, listCacheOptions } from '../../../../src/engine/store/read/list-cache.ts'
import { shapeRun } from '../../../../src/engine/store/read/shape-run.ts'
import { Versions } from '../../../../src/engine/store/versions.ts'
import { blog, listOfPosts } from '../blog.ts'

type Query = 'rows' | 'count'

const statements: Statements<Query> = {
  prepare: () => () => 'rows',
  slice: () => () => 'rows',
  count: () => () => 'count',
  whole: () => () => 'count',
}

/** A list with a total; the test decides whether the next snapshots are newer than the versions. */
function fixture(mode: 'exact' | 'estimate' = 'exact') {
  const shape = {
    ...listOfPosts,
    window: { ...listOfPosts.window, total: mode },
    filter: { kind: 'compare', field: 'body', operator: 'ne', param: 2 },
  } as const
  const guarded = createGuard(blog)({ shape, args: [0, 5, 'b'] }, user(1, 'user', 'all')) as {
    shape: GuardedList
  }
  if (guarded.shape.window.kind !== 'page') return assert.fail()
  const memory = listCacheOptions({ versions: new Versions(), keepsTotals: true })
  const run = shapeRun(guarded.shape, statements, new ListCache(guarded.shape, guarded.shape.window, memory))
  const state = { isNewer: false, total: 1000 }
  const requested: ListQueries<Query>[] = []
  const snapshot: Snapshot<Query> = {
    row: () => assert.fail(),
    list(queries) {
      requested.push(queries)
      const { isNewer, total } = state
      // For an estimate: as many as are counted, what the sample says, and the size of the collection.
      const counted = mode === 'exact' ? [total] : [Math.min(total, 10_001), total, 100_000]
      const count = queries.count?.of(counted)
      // As on PostgreSQL, an unchecked snapshot may be newer.
      return {
        rows: new Array(mode === 'exact' ? 1 : 7).fill(['{}', 1]),
        count,
        isNewer: () => isNewer || !queries.isChecked,
      }
    },
  }
  const page = async (offset: number) => {
    const answer = await run({ args: [offset, 5, 'b'], userId: 1, slots: [] }, snapshot)
    return answer.kind === 'list' ? answer.total : assert.fail()
  }
  return { state, requested, page }
}

for (const [name, offset] of [
  ['a near page', 0],
  ['a deep page', 400],
] as const) {
  test(`${name}: the total of a newer snapshot is not cached`, async () => {
    const { state, page } = fixture()
    state.isNewer = true
    state.total = 999
    assert.equal(await page(offset), 999)
    state.isNewer = false
    state.total = 1000
    assert.equal(await page(offset), 1000)
  })

  test(`${name}: the total of the same snapshot is cached, and counted again for a newer one`, async () => {
    const { state, requested, page } = fixture()
    assert.equal(await page(offset), 1000)
    state.total = 1
    assert.equal(await page(offset), 1000)
    assert.equal(requested.at(-1)?.count, undefined)
    state.isNewer = true
    assert.equal(await page(offset), 1)
  })
}

for (const [what, offset] of [
  ['a near page', 0],
  ['a deep page', 400],
] as const) {
  test(`${what}: an estimate is used again for ten seconds, whatever changes`, async t => {
    let time = 1000
    t.mock.method(performance, 'now', () => time)
    const { state, requested, page } = fixture('estimate')
    state.total = 20_000
    assert.equal(await page(offset), 20_000)
    state.total = 30_000
    state.isNewer = true
    time += 9_999
    assert.equal(await page(offset), 20_000)
    assert.equal(requested.at(-1)?.count, undefined)
    time += 1
    assert.equal(await page(offset), 30_000)
  })

  test(`${what}: a total that was counted for an estimate is counted again after a change`, async () => {
    const { state, page } = fixture('estimate')
    state.total = 9000
    assert.equal(await page(offset), 9000)
    state.total = 8000
    state.isNewer = true
    assert.equal(await page(offset), 8000)
  })
}
