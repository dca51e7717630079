/** Actions as mutations: alone, and atomic with others. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ExecutionContext } from '../../../src/graphql/engine.ts'
import { createEngine } from '../../../src/graphql/execute/create-engine.ts'
import { checkModel } from '../../../src/model/check.ts'
import { createGuard } from '../../../src/plan/guard.ts'
import { type Principal, user } from '../../../src/principal.ts'
import { createRun } from '../../../src/serve/store.ts'
import { seedItem } from '../../contract/rest/bench.ts'
import { kinds, openStore } from '../../contract/rest/databases.ts'
import tracker from './tracker.ts'

const model = checkModel(tracker)
const context: ExecutionContext = {
  onFault: error => {
    throw error
  },
  rateLimit: undefined,
}
const ann = user(1, 'user', 'all')

for (const kind of kinds) {
  describe(kind.name, () => {
    test('an action is a mutation', async () => {
      const { store, close } = await openStore(kind, model)
      try {
        const run = createRun(createGuard(model), store)
        const engine = createEngine({ model, run, hooks: new Map() })
        await seedItem(run, 'users', { name: 'ann', email: 'ann@example.com' })
        const one = await seedItem(run, 'projects', { name: 'one', points: 5, owner_id: 1 })
        const two = await seedItem(run, 'projects', { name: 'two', points: 1, owner_id: 1 })
        const ask = async (query: string, principal: Principal = ann) => {
          const prepared = engine.prepare(query, undefined)
          if (prepared.outcome === 'request error') assert.fail(prepared.text)
          const ready = engine.bind(prepared, undefined)
          if (ready.outcome === 'request error') assert.fail(ready.text)
          const { extensions: _, ...reply } = JSON.parse(
            (await engine.execute(ready, principal, context)).text,
          )
          return reply
        }
        assert.deepEqual(await ask('mutation { ping }'), { data: { ping: true } })
        const archived = await ask(
          `mutation { a: archive(id: ${one}, why: "old") { id name why: archived } }`,
        )
        assert.deepEqual(archived.data, { a: { id: String(one), name: 'one', why: 'old' } })
        const moved = await ask(
          `mutation { movePoints(from: ${one}, to: ${two}, points: 2) { rest: left from { points } __typename } }`,
        )
        assert.deepEqual(moved.data, {
          movePoints: { rest: 3, from: { points: 3 }, __typename: 'MovePointsPayload' },
        })
        const undone = await ask(
          `mutation @atomic { movePoints(from: ${one}, to: ${two}, points: 2) { left } createProject(name: "x", ownerId: 1) { id } forgets: archive(id: 999, why: "x") { id } }`,
        )
        assert.equal(undone.data, null)
        const state = await ask('{ projects(limit: 100, orderBy: ID_ASC) { points } }')
        assert.deepEqual(state.data, { projects: [{ points: 3 }, { points: 3 }] })
        const atomic = await ask(
          `mutation @atomic { movePoints(from: ${one}, to: ${two}, points: 1) { left } archive(id: ${two}, why: "both") { points } }`,
        )
        assert.deepEqual(atomic.data, { movePoints: { left: 2 }, archive: { points: 4 } })
        const refused = await ask(`mutation { archive(id: ${one}, why: "x") { id } }`, user(2, 'user', 'all'))
        assert.equal(refused.errors?.[0]?.extensions?.code, 'NOT_FOUND')
        const scoped = user(1, 'user', new Set(['archive:project']))
        const fine = await ask(`mutation { archive(id: ${one}, why: "scoped") { archived } }`, scoped)
        assert.deepEqual(fine.data, { archive: { archived: 'scoped' } })
      } finally {
        await close()
      }
    })
  })
}
