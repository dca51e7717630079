/** The memory that query statistics retain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { QueryStatistics } from '../../../../src/engine/store/advice/statistics.ts'
import type { PlanAccess, PlanTree } from '../../../../src/engine/store/plans/steps.ts'
import { blog, listOfPosts } from '../blog.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const scan: PlanAccess = {
  ...{ kind: 'access', access: 'scan', table: 't0', index: undefined, covering: false, automatic: false },
  ...{ exists: false, constraint: undefined, equal: [], ranged: [], detail: 'SCAN t0', steps: [] },
}
const sort: PlanTree = { kind: 'tree', lastTerms: undefined, detail: '', steps: [] }
const explainer = {
  explain: () => ({ steps: [scan, sort], tables: new Map([['t0', 'posts']]) }),
  totals: () => ({ of: () => 100_000 }),
}

/** Counts one run of a shape that nothing else references. */
function run(statistics: QueryStatistics): WeakRef<object> {
  const plan = createGuard(blog)({ shape: { ...listOfPosts }, args: [0, 20] }, user(1, 'user', 'all'))
  statistics.recordRun(plan, { kind: 'list', text: '[]', total: undefined, next: undefined })
  return new WeakRef(plan.shape)
}

test('the statistics keep a slow list but do not prevent garbage collection of its shapes', async () => {
  const statistics = new QueryStatistics(blog, explainer, {})
  const shape = run(statistics)
  const collected = []
  for (let tries = 0; tries < 12_000 && collected.length === 0; tries++) {
    await wait(10)
    collected.push(...statistics.slow.take())
  }
  assert.deepEqual(
    collected.map(({ runs }) => runs),
    [1],
  )
  await wait(10)
  collectGarbage()
  assert.equal(shape.deref(), undefined)
})
