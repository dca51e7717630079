/** Actions as mutations, alone and in atomic requests, and queries as fields of `Query`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ExecutionContext } from '../../../../src/api/graphql/engine.ts'
import { createEngine } from '../../../../src/api/graphql/execute/create-engine.ts'
import { anonymous, type Principal, user } from '../../../../src/base/principal.ts'
import { operationParts } from '../../../../src/engine/logic/operations/call.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { type DatabaseKind, databaseKinds, openStore } from '../../../api/contract/rest/databases.ts'
import { seedItem } from '../../../api/contract/rest/harness.ts'
import tracker from './tracker.ts'

const model = checkModel(tracker)
const context: ExecutionContext = {
  onFault: error => {
    throw error
  },
  rateLimit: undefined,
}
const ann = user(1, 'user', 'all')

async function openFixture(kind: DatabaseKind) {
  const { store, close } = await openStore(kind, model)
  const run = createRun(createGuard(model), store)
  const parts = operationParts(model, new Map())
  const logic = { ...parts, limits: { ...parts.limits, operations: 50 } }
  const engine = createEngine({ model, run, hooks: new Map(), logic })
  const faults: unknown[] = []
  const onFault = (error: unknown) => faults.push(error)
  const ask = async (query: string, principal: Principal = ann, variables?: object) => {
    const prepared = engine.prepare(query, undefined)
    if (prepared.outcome === 'request error') return JSON.parse(prepared.text)
    const ready = engine.bind(prepared, variables)
    if (ready.outcome === 'request error') return JSON.parse(ready.text)
    const { text } = await engine.execute(ready, principal, { onFault, rateLimit: undefined })
    return JSON.parse(text)
  }
  await seedItem(run, 'users', { name: 'ann', email: 'ann@example.com' })
  await seedItem(run, 'users', { name: 'ben', email: 'ben@example.com' })
  const project = await seedItem(run, 'projects', { name: 'one', points: 5, owner_id: 1 })
  for (const [title = '', status = ''] of [
    ['a', 'done'],
    ['b', 'open'],
    ['c', 'open'],
  ]) {
    await seedItem(run, 'tasks', { title, status, project_id: project })
  }
  return { ask, projectId: project, faults, close }
}

for (const kind of databaseKinds) {
  describe(kind.name, () => {
    test('an action is a mutation that can be part of an atomic request', async () => {
      const { store, close } = await openStore(kind, model)
      try {
        const run = createRun(createGuard(model), store)
        const engine = createEngine({ model, run, hooks: new Map() })
        await seedItem(run, 'users', { name: 'ann', email: 'ann@example.com' })
        const project = await seedItem(run, 'projects', { name: 'one', points: 5, owner_id: 1 })
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
          `mutation { a: archive(id: ${project}, why: "old") { id name why: archived } }`,
        )
        assert.deepEqual(archived.data, { a: { id: String(project), name: 'one', why: 'old' } })
        const moved = await ask(
          `mutation { movePoints(from: ${project}, to: ${two}, points: 2) { rest: left from { points } __typename } }`,
        )
        assert.deepEqual(moved.data, {
          movePoints: { rest: 3, from: { points: 3 }, __typename: 'MovePointsPayload' },
        })
        const undone = await ask(
          `mutation @atomic { movePoints(from: ${project}, to: ${two}, points: 2) { left } createProject(name: "x", ownerId: 1) { id } forgets: archive(id: 999, why: "x") { id } }`,
        )
        assert.equal(undone.data, null)
        const state = await ask('{ projects(limit: 100, orderBy: ID_ASC) { points } }')
        assert.deepEqual(state.data, { projects: [{ points: 3 }, { points: 3 }] })
        const atomic = await ask(
          `mutation @atomic { movePoints(from: ${project}, to: ${two}, points: 1) { left } archive(id: ${two}, why: "both") { points } }`,
        )
        assert.deepEqual(atomic.data, { movePoints: { left: 2 }, archive: { points: 4 } })
        const refused = await ask(
          `mutation { archive(id: ${project}, why: "x") { id } }`,
          user(2, 'user', 'all'),
        )
        assert.equal(refused.errors?.[0]?.extensions?.code, 'NOT_FOUND')
        const scoped = user(1, 'user', new Set(['archive:project']))
        const fine = await ask(`mutation { archive(id: ${project}, why: "scoped") { archived } }`, scoped)
        assert.deepEqual(fine.data, { archive: { archived: 'scoped' } })
        const swapped = await ask(
          `mutation { movePoints(from: ${project}, to: ${two}, points: 1) { left: from { points } from: left } }`,
        )
        assert.deepEqual(swapped.data, { movePoints: { left: { points: 1 }, from: 1 } })
      } finally {
        await close()
      }
    })

    test('an optional item may be null', async () => {
      const { ask, faults, close } = await openFixture(kind)
      try {
        const source = `mutation ($id: ID) {
          first: nextTask { id title }
          none: nextTask(after: $id) { id title project { name } }
          around(task: 3) { before { title } after { title } }
        }`
        const answer = await ask(source, ann, { id: 3 })
        assert.equal(answer.errors, undefined, JSON.stringify(answer.errors))
        assert.deepEqual(answer.data, {
          first: { id: '1', title: 'a' },
          none: null,
          around: { before: { title: 'b' }, after: null },
        })
        assert.deepEqual(faults, [])
      } finally {
        await close()
      }
    })

    test('a query is a field of Query and can be combined with others', async () => {
      const { ask, projectId, faults, close } = await openFixture(kind)
      try {
        const both = await ask(
          `query ($id: ID!, $least: Float) {
            before: projects { name }
            open: openTasks(project: $id, least: $least) { many: open least project { name tasks { title } } __typename }
            latest(id: $id, done: YES) { title project { name } }
            none: latest(id: $id, done: NO) { id title }
            after: project(id: $id) { points }
          }`,
          ann,
          { id: projectId, least: 2 },
        )
        assert.equal(both.errors, undefined, JSON.stringify(both.errors))
        assert.deepEqual(both.data, {
          before: [{ name: 'one' }],
          open: {
            ...{ many: 2, least: 2, __typename: 'OpenTasksResult' },
            project: { name: 'one', tasks: [{ title: 'a' }, { title: 'b' }, { title: 'c' }] },
          },
          latest: { title: 'a', project: { name: 'one' } },
          none: { id: '3', title: 'c' },
          after: { points: 5 },
        })
        assert.equal(both.errors, undefined)
        const defaults = await ask(`{ openTasks(project: ${projectId}) { least } }`)
        assert.deepEqual(defaults.data, { openTasks: { least: 0 } })
        // The result of a query is not cached.
        await ask(`mutation { archive(id: ${projectId}, why: "x") { id } }`)
        assert.equal((await ask(`{ openTasks(project: ${projectId}) { open } }`)).data.openTasks.open, 0)
        assert.deepEqual(faults, [])
      } finally {
        await close()
      }
    })

    test('a query has the same access, scopes and faults as over REST', async () => {
      const { ask, projectId, faults, close } = await openFixture(kind)
      const codes = ({ errors = [] }: { errors?: { extensions: { code: string } }[] }) =>
        errors.map(({ extensions }) => extensions.code)
      try {
        const latest = `{ latest(id: ${projectId}, done: YES) { title } me { name } }`
        const refused = await ask(latest, user(2, 'user', 'all'))
        assert.deepEqual(refused.data, { latest: null, me: { name: 'ben' } })
        assert.deepEqual(codes(refused), ['NOT_FOUND'])
        assert.deepEqual(refused.errors[0].path, ['latest'])
        const nobody = await ask(`{ openTasks(project: ${projectId}) { open } }`, anonymous('192.0.2.1'))
        assert.deepEqual([nobody.data, codes(nobody)], [{ openTasks: null }, ['UNAUTHORIZED']])
        const scoped = user(1, 'user', new Set(['see:progress']))
        assert.deepEqual((await ask(`{ latest(id: ${projectId}, done: YES) { title } }`, scoped)).data, {
          latest: { title: 'a' },
        })
        const without = user(1, 'user', new Set(['read:project', 'read:task']))
        assert.deepEqual(codes(await ask(latest.replace('me { name }', ''), without)), ['INSUFFICIENT_SCOPE'])
        const absent = await ask('{ openTasks(project: 999) { open } }')
        assert.deepEqual(codes(absent), ['VALIDATION_FAILED'])
        assert.equal(absent.errors[0].extensions.details[0].field, 'project')
        assert.deepEqual(faults, [])
      } finally {
        await close()
      }
    })

    test('a query is limited in time, reads and cost, and cannot write', async () => {
      const { ask, projectId, faults, close } = await openFixture(kind)
      try {
        for (const query of ['endless { count }', 'writes']) {
          const { data, errors } = await ask(`{ q: ${query} projects { name } }`)
          assert.deepEqual(data, { q: null, projects: [{ name: 'one' }] })
          assert.equal(errors.length, 1)
        }
        assert.ok(faults.length >= 1, String(faults))
        const { extensions } = await ask(`{ openTasks(project: ${projectId}) { open } }`)
        assert.ok(extensions.cost.points >= 50 || extensions.cost >= 50, JSON.stringify(extensions))
        const fields = Array.from(
          { length: 300 },
          (_, n) => `q${n}: openTasks(project: ${projectId}) { open }`,
        )
        const expensive = await ask(`{ ${fields.join(' ')} }`)
        assert.equal(expensive.data, undefined)
        assert.match(expensive.errors[0].message, /costs|at most/)
      } finally {
        await close()
      }
    })
  })
}
