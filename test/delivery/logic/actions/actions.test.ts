/** Actions and queries over REST: effects, access, and failures. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { anonymous, type Principal, user } from '../../../../src/base/principal.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { databaseKinds, openStore, rowSecurityPostgres } from '../../../api/contract/rest/databases.ts'
import { type Harness, openHarness } from '../../../api/contract/rest/harness.ts'
import { chosen } from '../../../chosen.ts'
import tracker from './tracker.ts'

const ann = user(2, 'user', 'all')
const ben = user(3, 'user', 'all')
const model = checkModel(tracker)

for (const kind of chosen([...databaseKinds, rowSecurityPostgres])) {
  describe(kind.name, () => {
    let harness: Harness
    before(async () => {
      harness = await openHarness(model, model => openStore(kind, model))
      for (const name of ['admin', 'ann', 'ben']) {
        await harness.seed('users', {
          name,
          email: `${name}@example.com`,
          role: name === 'admin' ? 'admin' : 'user',
        })
      }
    })
    after(() => harness.close())

    async function post(path: string, body: unknown, principal: Principal, headers = {}) {
      const reply = await harness.send({ method: 'POST', url: `/api/v1${path}`, body, headers }, principal)
      return { status: reply.status, body: reply.body === null ? null : JSON.parse(String(reply.body)) }
    }
    async function get(path: string, principal: Principal) {
      const reply = await harness.send({ url: `/api/v1${path}` }, principal)
      return { status: reply.status, body: reply.body === null ? null : JSON.parse(String(reply.body)) }
    }
    const project = (values = {}) =>
      harness.seed('projects', { name: 'p', points: 10, owner_id: 2, ...values })
    let titles = 0
    const task = (id: number) =>
      harness.seed('tasks', { title: `t${++titles}`, project_id: id, status: 'open' })
    const names = async () =>
      (await get('/projects?fields=name&per_page=100&sort=id', ann)).body.data.map(
        (item: { name: string }) => item.name,
      )

    test('an action on an item can change several items, and returns its output', async () => {
      const id = await project()
      await task(id)
      await task(id)
      const { status, body } = await post(`/projects/${id}/archive?fields=id,archived`, { why: 'old' }, ann)
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(body, { id, archived: 'old' })
      const tasks = await get(`/tasks?project_id=${id}`, ann)
      assert.deepEqual(
        tasks.body.data.map((item: { status: string }) => item.status),
        ['done', 'done'],
      )
    })

    test('the event of an action is logged after its changes', async () => {
      const id = await project()
      const start = (await get('/events', ann)).body.meta.next_after
      await task(id)
      await post(`/projects/${id}/archive`, { why: 'new' }, ann)
      const { body } = await get(`/events?after=${start}`, ann)
      const events: { type: string; values?: object; data: { archived: string } }[] = body.data
      assert.deepEqual(
        events.map(({ type }) => type),
        ['task.created', 'task.updated', 'project.updated', 'project.archived'],
      )
      assert.deepEqual(events.at(-1)?.values, { why: 'new', open: 1 })
      assert.equal(events.at(-1)?.data.archived, 'new')
      assert.equal((await get(`/events?after=${start}&types=project.archived`, ann)).body.data.length, 1)
      assert.deepEqual((await get(`/events?after=${start}&collections=projects`, ben)).body.data, [])
    })

    test('an action is 404 on an unreadable item, and 403 or 401 without permission', async () => {
      const id = await project()
      assert.equal((await post(`/projects/${id}/archive`, { why: 'x' }, ben)).status, 404)
      assert.equal((await post(`/projects/${id}/archive`, { why: 'x' }, user(1, 'admin', 'all'))).status, 403)
      assert.equal((await post('/projects/99999/archive', { why: 'x' }, ann)).status, 404)
      assert.equal((await post(`/projects/${id}/archive`, { why: 'x' }, anonymous('192.0.2.1'))).status, 401)
    })

    test('the scope of an action suffices for all that it does, and other scopes do not', async () => {
      const id = await project()
      await task(id)
      const fine = await post(
        `/projects/${id}/archive`,
        { why: 'x' },
        user(2, 'user', new Set(['archive:project'])),
      )
      assert.equal(fine.status, 200, JSON.stringify(fine.body))
      const lacks = await post(
        `/projects/${id}/archive`,
        { why: 'x' },
        user(2, 'user', new Set(['write:project', 'write:task'])),
      )
      assert.equal(lacks.status, 403)
      assert.equal(lacks.body.error.code, 'INSUFFICIENT_SCOPE')
    })

    test('all faults of the input are reported together', async () => {
      const { status, body } = await post('/projects/move_points', { from: 0, points: 0, many: 1 }, ann)
      assert.equal(status, 400)
      assert.deepEqual(body.error.details.map((detail: { field: string }) => detail.field).sort(), [
        'from',
        'many',
        'points',
        'to',
      ])
    })

    test('an item in the input must be readable by the caller', async () => {
      const mine = await project()
      const bens = await project({ owner_id: 3 })
      const { status, body } = await post('/projects/move_points', { from: mine, to: bens, points: 1 }, ann)
      assert.equal(status, 400)
      assert.deepEqual(
        body.error.details.map((detail: { field: string; code: string }) => [detail.field, detail.code]),
        [['to', 'not_found']],
      )
    })

    test('an action that fails midway changes nothing', async () => {
      const [from, to] = [await project({ points: 3 }), await project()]
      const { status, body } = await post('/projects/move_points', { from, to, points: 4 }, ann)
      assert.equal(status, 400, JSON.stringify(body))
      const fine = await post('/projects/move_points', { from, to, points: 3 }, ann)
      assert.equal(fine.status, 200, JSON.stringify(fine.body))
      assert.equal(fine.body.left, 0)
      assert.equal(fine.body.from.points, 0)
      assert.equal((await get(`/projects/${to}`, ann)).body.points, 13)
    })

    test('an optional item may be null in the input and the output', async () => {
      const id = await project()
      const last = await task(id)
      const first = await post('/tasks/next_task?fields=id', {}, ann)
      assert.equal(first.status, 200, JSON.stringify(first.body))
      assert.ok(first.body.id > 0)
      assert.deepEqual((await post('/tasks/next_task?fields=id', { after: null }, ann)).body, first.body)
      const key = { 'idempotency-key': 'next' }
      for (const headers of [{}, key, key]) {
        const none = await post('/tasks/next_task', { after: last }, ann, headers)
        assert.deepEqual(none, { status: 200, body: null })
      }
      assert.equal((await post('/tasks/next_task', { after: 99_999 }, ann)).status, 400)
      const around = await post('/tasks/around', { task: last }, ann)
      assert.equal(around.status, 200, JSON.stringify(around.body))
      assert.equal(around.body.after, null)
      assert.ok(first.body.id === last || around.body.before.id < last)
      const operations = [
        { method: 'POST', path: '/tasks/next_task', body: { after: last } },
        { method: 'GET', path: `/tasks/${last}?fields=id` },
      ]
      const batch = await post('/batch', { operations }, ann)
      assert.deepEqual(
        batch.body.results?.map((result: { body: unknown }) => result.body),
        [null, { id: last }],
        JSON.stringify(batch.body),
      )
    })

    test('an action without output returns 204', async () => {
      assert.deepEqual(await post('/actions/ping', undefined, anonymous('192.0.2.1')), {
        status: 204,
        body: null,
      })
      assert.equal((await post('/actions/ping', { a: 1 }, ann)).status, 400)
      assert.equal((await post('/actions/archive', {}, ann)).status, 404)
      assert.equal((await get('/actions/ping', ann)).status, 405)
    })

    test('the body may be left out where the whole input may be, and the OpenAPI document says so', async () => {
      await task(await project())
      const withoutBody = await post('/tasks/next_task', undefined, ann)
      assert.equal(withoutBody.status, 200)
      assert.deepEqual(withoutBody, await post('/tasks/next_task', {}, ann))
      assert.equal((await post(`/projects/${await project()}/archive`, undefined, ann)).status, 415)
      const { paths } = (await get('/openapi.json', ann)).body
      assert.equal(paths['/api/v1/tasks/next_task'].post.requestBody.required, false)
      assert.equal(paths['/api/v1/projects/{id}/archive'].post.requestBody.required, true)
    })

    test('an action as the service can write fields that clients cannot, and the caller is the actor of its changes', async () => {
      const id = await project()
      const start = (await get('/events', ann)).body.meta.next_after
      assert.equal((await post(`/projects/${id}/stamp`, {}, ann)).status, 204)
      assert.match((await get(`/projects/${id}`, ann)).body.stamped_by, /^2 2\d{3}-/)
      const { body } = await get(`/events?after=${start}`, ann)
      assert.equal(body.data.length, 1)
      assert.deepEqual(body.data[0].actor, { user_id: 2, app_id: null, via: 'stamp' })
    })

    test('an action that awaits anything but `data` fails and is undone', async () => {
      const before = await names()
      const { status, body } = await post('/projects/waits', {}, ann)
      assert.equal(status, 500)
      assert.equal(body.error.message, 'Something went wrong on our side.')
      assert.deepEqual(await names(), before)
    })

    test('an unawaited call is part of the action, and so is its failure', async () => {
      assert.equal((await post('/projects/forgets', { title: 'remembered' }, ann)).status, 204)
      assert.equal((await get('/tasks?title=remembered', ann)).body.meta.total, 1)
      const before = await names()
      assert.equal((await post('/projects/forgets', { title: 'remembered' }, ann)).status, 409)
      assert.deepEqual(await names(), before)
    })

    test('an action can catch the error of a call, which alone is undone', async () => {
      assert.equal((await post('/projects/catches', { title: 'caught' }, ann)).status, 204)
      assert.equal((await post('/projects/catches', { title: 'caught' }, ann)).status, 204)
      assert.equal((await get('/tasks?title=caught', ann)).body.meta.total, 1)
      assert.equal((await get('/tasks?title=caught%202', ann)).body.meta.total, 1)
    })

    for (const what of ['error', 'text', 'nothing', 'output', 'mail', 'fetch']) {
      test(`faulty code causes a 500 without details: ${what}`, async () => {
        const before = await names()
        const { status, body } = await post('/projects/throws', { what }, ann)
        assert.equal(status, 500)
        assert.deepEqual(body, {
          error: { code: 'INTERNAL_ERROR', message: 'Something went wrong on our side.' },
        })
        assert.deepEqual(await names(), before)
      })
    }

    const mistakes = ['where', 'operator', 'undefined', 'undefined-operand', 'no-operator']
    for (const what of [...mistakes, 'sort', 'fields', 'include', 'forgotten']) {
      test(`an invalid call of data causes a 500 that reveals no names: ${what}`, async () => {
        const before = await names()
        const { status, body } = await post('/projects/mistakes', { what }, ann)
        assert.equal(status, 500)
        assert.equal(body.error.message, 'Something went wrong on our side.')
        assert.deepEqual(await names(), before)
      })
    }

    test('a value of the wrong type in a call of `data` causes a 400 without names, since it may come from the caller', async () => {
      for (const what of ['value', 'id']) {
        const { status, body } = await post('/projects/mistakes', { what }, ann)
        assert.equal(status, 400)
        assert.equal(body.error.message, 'A value does not fit the field that it is compared with.')
      }
      assert.equal((await post('/projects/mistakes', { what: 'caught' }, ann)).status, 204)
    })

    test('a query returns its output, validates its input, and cannot write', async () => {
      const id = await project()
      await task(id)
      const { status, body } = await get(`/queries/open_tasks?project=${id}`, ann)
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.project.id, id)
      assert.deepEqual([body.open, body.least], [1, 0])
      assert.equal((await get('/queries/open_tasks', ann)).status, 400)
      const refused = await get(`/queries/open_tasks?project=${id}`, anonymous('192.0.2.1'))
      assert.equal(refused.status, 401)
      assert.equal(
        refused.body.error.message,
        'No caller can call the query open_tasks without a credential.',
      )
      assert.equal((await get(`/queries/open_tasks?project=${id}&a=1`, ann)).status, 400)
      assert.equal((await get('/queries/writes', ann)).status, 500)
      assert.equal((await post('/queries/writes', {}, ann)).status, 405)
    })

    test('an action can be an operation of a batch', async () => {
      const operations = [
        { method: 'POST', path: '/projects', body: { name: 'batched', points: 5 }, as: 'new' },
        { method: 'POST', path: '/projects/$new.id/archive', body: { why: 'in a batch' }, as: 'done' },
        { method: 'POST', path: '/tasks', body: { title: '$done.archived', project_id: '$done.id' } },
      ]
      const { status, body } = await post('/batch', { operations }, ann)
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.results[1].body.archived, 'in a batch')
      assert.equal(body.results[2].body.title, 'in a batch')
      const before = await names()
      const second = await post('/batch', { operations }, ann)
      assert.equal(second.status, 409, JSON.stringify(second.body))
      assert.deepEqual(await names(), before)
    })

    test('the body of an action may be left out in a batch where it may be left out alone', async () => {
      const id = await project()
      const run = (path: string, more = {}) =>
        post('/batch', { operations: [{ method: 'POST', path, ...more }] }, ann)
      for (const path of ['/actions/ping', `/projects/${id}/stamp`, '/tasks/next_task']) {
        const { status, body } = await run(path)
        assert.equal(status, 200, JSON.stringify(body))
      }
      const missing = await run(`/projects/${id}/archive`)
      assert.deepEqual(
        [missing.status, missing.body.error.details],
        [400, [{ field: 'operations[0].body.why', code: 'required', message: 'why is required.' }]],
      )
      const create = await run('/projects')
      assert.deepEqual(
        [create.status, create.body.error.details],
        [400, [{ field: 'operations[0].body', code: 'required', message: 'A POST needs a body.' }]],
      )
    })

    test('an action with an Idempotency-Key runs once', async () => {
      const [from, to] = [await project(), await project()]
      const send = () =>
        post('/projects/move_points', { from, to, points: 1 }, ann, { 'idempotency-key': `k${from}` })
      const first = await send()
      assert.equal(first.status, 200)
      assert.deepEqual(await send(), first)
      assert.equal((await get(`/projects/${from}`, ann)).body.points, 9)
    })
  })
}
