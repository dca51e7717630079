/** Actions that read for ever are stopped and undone without affecting other writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import { openPostgres } from '../../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { Model } from '../../../../src/model/model.ts'
import { openHarness } from '../../../api/contract/rest/harness.ts'
import { withPostgres } from '../../../setups/databases/postgres.ts'
import tracker from './tracker.ts'

/** The statuses of three writes of the same commit, of which the second loops, and what is stored then. */
async function outcome(open: (model: Model) => Promise<Store> | Store): Promise<readonly unknown[]> {
  const harness = await openHarness(checkModel(tracker), async model => {
    const store = await open(model)
    return { store, close: () => store.close() }
  })
  try {
    await harness.seed('users', { name: 'ann', email: 'ann@example.com' })
    const ann = user(1, 'user', 'all')
    const post = async (path: string, body: unknown) =>
      (await harness.send({ method: 'POST', url: `/api/v1${path}`, body }, ann)).status
    const statuses = await Promise.all([
      post('/projects', { name: 'before' }),
      post('/projects/loops', {}),
      post('/projects', { name: 'behind' }),
    ])
    const { body } = await harness.send({ url: '/api/v1/projects?per_page=100&fields=name' }, ann)
    const names = JSON.parse(String(body)).data.map(({ name }: { name: string }) => name)
    return [...statuses, names.join(' ')]
  } finally {
    await harness.close()
  }
}

test('an action that reads for ever is stopped and undone on SQLite', async () => {
  const stored = await outcome(model => openSqlite(model, { file: ':memory:' }))
  assert.deepEqual(stored, [201, 400, 201, 'before behind'])
})

test('an action that reads for ever is stopped and undone on PostgreSQL', () =>
  withPostgres(async url => {
    const stored = await outcome(model => openPostgres(model, { url }))
    // The limit of calls or that of time, whichever is reached first.
    assert.ok([400, 503].includes(Number(stored[1])), JSON.stringify(stored))
    assert.deepEqual(stored, [201, stored[1], 201, 'before behind'])
  }))
