/** Runs of reactions and jobs over HTTP: access, pages, retries and skips. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { anyone, collection, job, model, on, string, users } from '../../../src/index.ts'
import { type TestService, testService } from '../../../src/testing.ts'

const state = { isMended: false, notified: [] as string[], noted: [] as string[] }

const tasks = model(
  {
    users: users({}),
    tasks: collection({ fields: { title: string() }, access: { read: anyone, create: anyone } }),
  },
  {
    reactions: {
      notified: on('task.created', ({ event, later, now }) => {
        if (!state.isMended) throw new Error('not mended')
        state.notified.push(event.data.title)
        later(new Date(Date.parse(now) + 3_600_000), 'note', { text: event.data.title })
      }),
    },
    jobs: { note: job({ input: { text: string() }, run: ({ input }) => void state.noted.push(input.text) }) },
  },
)

interface Run {
  readonly id: string
  readonly state: string
  readonly item_id: number | null
  readonly error: string | null
  readonly at: string
}

let service: TestService<typeof tasks>
let admin = 0
let ann = 0
before(async () => {
  service = await testService(tasks, { now: '2026-01-01T00:00:00Z' })
  admin = (await service.users.create({ role: 'admin' })).id
  ann = (await service.users.create()).id
})
after(() => service.close())

const path = '/api/v1/events/runs'
async function send(line: string, options: { as?: number; body?: unknown } = { as: admin }) {
  const { status, text } = await service.request(line, options)
  return { status, json: text === '' ? null : JSON.parse(text) }
}
const runs = async (query = ''): Promise<Run[]> => (await send(`GET ${path}${query}`)).json.data
const callAction = (action: string, ...ids: string[]) =>
  send(`POST ${path}/${action}`, { as: admin, body: { runs: ids } })

test('only administrators can list, retry and skip runs', async () => {
  for (const line of [`GET ${path}`, `POST ${path}/retry`, `POST ${path}/skip`]) {
    const body = line.startsWith('POST') ? { runs: ['notified/1'] } : undefined
    assert.equal((await send(line, { body })).status, 401, line)
    assert.equal((await send(line, { as: ann, body })).status, 403, line)
  }
  const created = await send('POST /api/v1/api_keys', {
    as: admin,
    body: { name: 'k', scopes: ['read:task'] },
  })
  const headers = { authorization: `Bearer ${created.json.key}` }
  assert.equal((await service.request(`GET ${path}`, { headers })).status, 403)
})

test('invalid parameters, bodies, methods and paths are refused', async () => {
  for (const query of ['?state=lost', '?limit=0', '?limit=501', '?limit=1&limit=2', '?page=1', '?after=x']) {
    assert.equal((await send(`GET ${path}${query}`)).status, 400, query)
  }
  for (const body of [
    {},
    [],
    { runs: [] },
    { runs: ['notified'] },
    { runs: [1] },
    { runs: ['a/1'], more: 1 },
  ]) {
    assert.equal((await send(`POST ${path}/retry`, { as: admin, body })).status, 400, JSON.stringify(body))
  }
  assert.equal(
    (await send(`POST ${path}/retry`, { as: admin, body: { runs: Array(101).fill('a/1') } })).status,
    400,
  )
  // One fault for each element took 20 seconds.
  const many = Array(100_000).fill(1)
  for (const body of [many, { ...many.slice(0, 1000), ['x'.repeat(1000)]: 1 }]) {
    const { text, status } = await service.request(`POST ${path}/retry`, { as: admin, body })
    assert.equal(status, 400)
    assert.ok(text.length < 20_000, `${text.length} characters`)
  }
  assert.equal((await send(`POST ${path}`)).status, 405)
  assert.equal((await send(`GET ${path}/retry`)).status, 405)
  assert.equal((await send(`GET ${path}/other`)).status, 404)
})

test('waiting and dead runs are listed in pages, and can be retried and skipped', async () => {
  for (const title of ['one', 'two', 'three']) {
    assert.equal((await send('POST /api/v1/tasks', { as: ann, body: { title } })).status, 201)
  }
  await service.settled()
  const waiting = await runs('?state=waiting')
  assert.deepEqual(
    waiting.map(({ item_id, state, error }) => [item_id, state, error?.includes('not mended')]),
    [1, 2, 3].map(id => [id, 'waiting', true]),
  )
  assert.deepEqual(await runs('?state=dead'), [])
  const [first, second, third] = waiting.map(({ id }) => id)
  assert.ok(first && second && third)

  assert.equal((await callAction('retry', first, 'notified/999')).status, 404)
  assert.deepEqual(await callAction('skip', first), { status: 202, json: { runs: [first] } })
  await service.clock.advance({ seconds: 1 })
  await service.settled()
  assert.deepEqual(
    (await runs()).map(({ id }) => id),
    [second, third],
  )

  // Advances beyond the last attempt.
  for (let attempts = 0; attempts < 20; attempts++) {
    await service.clock.advance({ days: 1 })
    await service.settled()
  }
  const dead = await runs('?state=dead')
  assert.deepEqual(
    dead.map(({ id }) => id),
    [second, third],
  )
  const page = await send(`GET ${path}?limit=1`)
  assert.equal(page.json.data[0].id, second)
  const next = await send(`GET ${path}?limit=1&after=${page.json.meta.next_after}`)
  assert.deepEqual([next.json.data[0].id, next.json.meta.next_after], [third, null])

  state.isMended = true
  assert.equal((await callAction('retry', second, second)).status, 202)
  assert.equal((await callAction('skip', third)).status, 202)
  await service.clock.advance({ seconds: 1 })
  await service.settled()
  assert.deepEqual(state.notified, ['two'])
  const jobs = await runs()
  assert.deepEqual(
    jobs.map(({ state, item_id }) => [state, item_id]),
    [['waiting', null]],
  )
  assert.equal((await callAction('retry', jobs[0]?.id ?? '')).status, 202)
  await service.clock.advance({ seconds: 1 })
  await service.settled()
  assert.deepEqual(state.noted, ['two'])
  assert.deepEqual(await runs(), [])
})

test('the OpenAPI document has the paths of runs only if the model has reactions or jobs', async () => {
  const paths = async (client: Pick<typeof service, 'request'>) =>
    Object.keys(JSON.parse((await client.request('GET /api/v1/openapi.json')).text).paths).filter(name =>
      name.startsWith(path),
    )
  assert.deepEqual(await paths(service), [path, `${path}/retry`, `${path}/skip`])
  const plain = await testService(model({ users: users({}) }))
  assert.deepEqual(await paths(plain), [])
  assert.equal((await plain.request(`GET ${path}`)).status, 404)
  await plain.close()
})
