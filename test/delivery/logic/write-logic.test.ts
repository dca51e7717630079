/** `prepare`, `check` and `atMost` apply to writes over every transport, on every database. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chosen } from '../../chosen.ts'
import { type Fixture, withFixture } from '../../identity/conformance/server.ts'
import tasks from '../../models/tasks.ts'
import { call } from '../../server/serve/service.ts'
import { postgres, postgresRowSecurity } from '../../setups/postgres.ts'
import type { Setup } from '../../setups/setup.ts'
import { sqlite } from '../../setups/sqlite.ts'

const setups: readonly Setup[] = chosen([sqlite, postgres, postgresRowSecurity])
const path = '/api/v1/tasks'

type Json = Readonly<Record<string, unknown>>

class Client {
  readonly fixture: Fixture

  constructor(fixture: Fixture) {
    this.fixture = fixture
  }

  async ask(method: string, at: string, body?: unknown, headers?: Readonly<Record<string, string>>) {
    return call(this.fixture.url + at, { method, key: this.fixture.ann.key, body, headers })
  }

  async create(body: Json): Promise<Json> {
    const answer = await this.ask('POST', path, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.json
  }

  async graphql(query: string): Promise<Json> {
    return (await this.ask('POST', '/graphql', { query })).json
  }

  async events(): Promise<readonly Json[]> {
    const { json } = await this.ask('GET', '/api/v1/events?after=0&collections=tasks&limit=1000')
    return json.data as readonly Json[]
  }
}

function onEach(name: string, use: (client: Client, fixture: Fixture) => Promise<void>, only = setups): void {
  for (const setup of only) {
    test(`${name} (${setup.name})`, () =>
      withFixture({}, fixture => use(new Client(fixture), fixture), tasks, setup))
  }
}

onEach('`prepare` runs for every kind of write over REST and GraphQL', async client => {
  const created = await client.create({ title: ' A Task ', status: 'done' })
  assert.deepEqual([created.title, created.slug], ['A Task', 'a-task'])
  assert.equal(typeof created.done_at, 'string')
  const at = `${path}/${created.id}`
  const patched = await client.ask('PATCH', at, { status: 'open', title: 'B c' })
  assert.deepEqual([patched.status, patched.json.slug, patched.json.done_at], [200, 'b-c', null])
  const put = await client.ask('PUT', at, { title: 'C d', status: 'done' })
  assert.deepEqual([put.status, put.json.slug, typeof put.json.done_at], [200, 'c-d', 'string'])
  const bulk = await client.ask('POST', path, [{ title: 'D e' }, { title: 'E f', status: 'done' }])
  const items = bulk.json.data as readonly Json[]
  assert.deepEqual(
    items.map(({ slug, done_at }) => [slug, typeof done_at]),
    [
      ['d-e', 'object'],
      ['e-f', 'string'],
    ],
  )
  const batch = await client.ask('POST', '/api/v1/batch', {
    operations: [
      { method: 'POST', path: '/tasks', body: { title: 'F g' }, as: 'made' },
      { method: 'PATCH', path: '/tasks/$made.id', body: { title: 'G h' } },
    ],
  })
  const results = batch.json.results as readonly { readonly body: Json }[]
  assert.deepEqual(
    results.map(({ body }) => body.slug),
    ['f-g', 'g-h'],
  )
  const task = await client.graphql('mutation { createTask(title: "H I") { id slug } }')
  const { id, slug } = (task.data as { readonly createTask: Json }).createTask
  assert.equal(slug, 'h-i')
  const changed = await client.graphql(`mutation { updateTask(id: ${id}, title: "I J") { slug } }`)
  assert.deepEqual(changed.data, { updateTask: { slug: 'i-j' } })
})

onEach('events, entity tags and searches include the fields set by `prepare`', async client => {
  const { id } = await client.create({ title: 'Alpha' })
  const first = await client.ask('GET', `${path}/${id}`)
  const tag = first.headers.get('etag') ?? ''
  const changed = await client.ask(
    'PATCH',
    `${path}/${id}`,
    { title: 'Beta', status: 'done' },
    { 'If-Match': tag },
  )
  assert.equal(changed.status, 200, changed.text)
  const late = await client.ask('PATCH', `${path}/${id}`, { title: 'Gamma' }, { 'If-Match': tag })
  assert.equal(late.status, 412)
  const events = (await client.events()).map(({ type, changed: names }) => [
    type,
    names && [...(names as string[])].sort(),
  ])
  assert.deepEqual(events, [
    ['task.created', undefined],
    ['task.updated', ['done_at', 'slug', 'status', 'title', 'updated_at']],
  ])
  const search = async (q: string) =>
    ((await client.ask('GET', `${path}?q=${q}`)).json.data as unknown[]).length
  assert.deepEqual([await search('alpha'), await search('beta')], [0, 1])
})

onEach('a change reverted by `prepare` is no change', async client => {
  const { id, updated_at } = await client.create({ title: 'Same' })
  const answer = await client.ask('PATCH', `${path}/${id}`, { title: ' Same ' })
  assert.deepEqual([answer.status, answer.json.title, answer.json.updated_at], [200, 'Same', updated_at])
  assert.equal((await client.events()).length, 1)
})

onEach(
  '`prepare` can set fields that the caller cannot write, and gets the caller',
  async (client, { ann }) => {
    const refused = await client.ask('POST', path, { title: 'Mine', points: 5 })
    assert.equal(refused.status, 403)
    const mine = await client.create({ title: 'Mine', note: 'many points' })
    assert.equal(mine.points, 1000)
    const seen = (await client.create({ title: 'Seen', note: 'who?', secret: 's' })).seen_by as Json
    const caller = { id: ann.id, role: 'user', scopes: 'all', thirdParty: false, app: null }
    assert.deepEqual(seen.caller, caller)
    assert.equal(seen.previous, null)
    const names = seen.next as readonly string[]
    assert.ok(names.includes('secret') && names.includes('created_at') && !names.includes('id'))
    const user = await client.ask('GET', `/api/v1/users/${ann.id}`)
    // `prepare` also ran when Portico itself created the user.
    assert.equal(user.json.nickname, 'ann')
  },
)

onEach('the rule of an update holds for what `prepare` makes of the item', async client => {
  const { id } = await client.create({ title: 'Allowed' })
  const answer = await client.ask('PATCH', `${path}/${id}`, { title: 'Taboo' })
  assert.deepEqual([answer.status, answer.code], [403, 'FORBIDDEN'])
  assert.equal((await client.ask('GET', `${path}/${id}`)).json.slug, 'allowed')
})

onEach('faults of `check` are reported like those of the schema', async client => {
  const one = await client.ask('POST', path, { title: 'wrong' })
  const details = [{ field: 'title', code: 'wrong', message: 'Wrong.' }]
  const error = { code: 'VALIDATION_FAILED', message: 'Wrong.', details }
  assert.deepEqual([one.status, one.json], [400, { error }])
  const two = await client.ask('POST', path, { title: ' wrong ', note: 'bad' })
  assert.match(two.text, /"message":"The body has 2 faults. Wrong."/)
  assert.match(two.text, /\{"field":"","code":"invalid","message":"A bad task."\}/)
  const bulk = await client.ask('POST', path, [{ title: 'fine' }, { title: 'wrong' }, { title: 'x' }])
  assert.match(bulk.text, /"field":"\[1\].title"/)
  const whole = await client.ask('POST', path, [{ title: 'fine', note: 'bad' }])
  assert.match(whole.text, /"field":"\[0\]"/)
  const graphql = await client.graphql('mutation { createTask(title: "wrong") { id } }')
  assert.match(JSON.stringify(graphql.errors), /VALIDATION_FAILED.*"field":"title"/)
  const { id } = await client.create({ title: 'fixed', fixed: true })
  const fixed = await client.ask('PATCH', `${path}/${id}`, { note: 'x' })
  assert.match(fixed.text, /A fixed task does not change/)
  // An update without changes is not checked.
  assert.equal((await client.ask('PATCH', `${path}/${id}`, { fixed: true })).status, 200)
  const { json } = await client.ask('GET', path)
  assert.deepEqual((json.meta as Json).total, 1)
})

const faultyTitles = [
  ...['null!', 'secret!', 'promise!', 'list!', 'unknown!', 'id!', 'created!', 'type!', 'nan!', 'function!'],
  ...['date!', 'cycle!', 'large!', 'null-title!', 'getter!', 'bad check', 'bad field'],
]

onEach('failing code refuses its write without details and does not affect other writes', async client => {
  const { id } = await client.create({ title: 'Good' })
  for (const title of faultyTitles) {
    const answers = await Promise.all([
      client.ask('POST', path, { title }),
      client.create({ title: `Second ${title}` }),
      client.ask('PATCH', `${path}/${id}`, { title }),
    ])
    const [create, , patch] = answers
    for (const { status, json, text } of [create, patch]) {
      assert.equal(status, 500, `${title}: ${text}`)
      const error = { code: 'INTERNAL_ERROR', message: 'Something went wrong on our side.' }
      assert.deepEqual(json, { error }, title)
    }
  }
  const { json } = await client.ask('GET', `${path}?per_page=100`)
  assert.equal((json.meta as Json).total, 1 + faultyTitles.length)
})

onEach('a reference set by `prepare` must point to an existing item', async client => {
  const answer = await client.ask('POST', path, { title: 'nowhere!' })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /"field":"assignee_id","code":"not_found"/)
})

onEach('clearing a reference by a deletion applies `prepare` and `check`', async client => {
  const project = await client.ask('POST', '/api/v1/projects', { name: 'P' })
  const ids = [project.json.id]
  const { id } = await client.create({ title: 'Free', project_id: ids[0], note: 'who?' })
  const deleted = await client.ask('DELETE', `/api/v1/projects/${ids[0]}`)
  assert.equal(deleted.status, 204, deleted.text)
  const cleared = (await client.ask('GET', `${path}/${id}`)).json
  const seen = cleared.seen_by as { readonly previous: Json }
  assert.deepEqual([cleared.project_id, seen.previous.project_id], [null, ids[0]])
  const other = await client.ask('POST', '/api/v1/projects', { name: 'Q' })
  await client.create({ title: 'Fixed', project_id: other.json.id, fixed: true })
  const kept = await client.ask('DELETE', `/api/v1/projects/${other.json.id}`)
  assert.equal(kept.status, 409)
  assert.match(kept.text, /Items of tasks may not lose what they refer to by project_id/)
  assert.doesNotMatch(kept.text, /fixed task/)
})

onEach('a limit holds for creates, updates and moves over every transport', async client => {
  const project = (await client.ask('POST', '/api/v1/projects', { name: 'P' })).json.id
  const other = (await client.ask('POST', '/api/v1/projects', { name: 'Q' })).json.id
  const open = { project_id: project }
  const bulk = await client.ask(
    'POST',
    path,
    [1, 2, 3].map(n => ({ title: `t${n}`, ...open })),
  )
  assert.equal(bulk.status, 201, bulk.text)
  const full = await client.ask('POST', path, { title: 'd', ...open })
  assert.deepEqual(
    [full.status, full.json],
    [409, { error: { code: 'CONFLICT', message: 'Too many open tasks.' } }],
  )
  const done = await client.create({ title: 'e', status: 'done', ...open })
  assert.equal((await client.ask('PATCH', `${path}/${done.id}`, { status: 'open' })).status, 409)
  const moved = await client.create({ title: 'f', project_id: other })
  assert.equal((await client.ask('PATCH', `${path}/${moved.id}`, open)).status, 409)
  const graphql = await client.graphql(
    `mutation { updateTask(id: ${moved.id}, projectId: ${project}) { id } }`,
  )
  assert.match(JSON.stringify(graphql.errors), /CONFLICT/)
  // An item that counts can be updated, and can stop counting.
  const [first] = bulk.json.data as readonly Json[]
  assert.equal((await client.ask('PATCH', `${path}/${first?.id}`, { note: 'x' })).status, 200)
  assert.equal((await client.ask('PATCH', `${path}/${first?.id}`, { status: 'done' })).status, 200)
  assert.equal((await client.ask('PATCH', `${path}/${moved.id}`, open)).status, 200)
  assert.equal((await client.ask('PATCH', `${path}/${first?.id}`, { status: 'open' })).status, 409)
  // `prepare` can move an item into a group that the request does not name.
  const note = `into project ${project}`
  assert.equal((await client.ask('POST', path, { title: 'g', note })).status, 409)
  const free = await client.create({ title: 'h' })
  assert.equal((await client.ask('PATCH', `${path}/${free.id}`, { note })).status, 409)
  assert.equal((await client.ask('GET', `${path}/${free.id}`)).json.project_id, null)
  // Items without a project are not limited.
  for (const n of [1, 2, 3, 4]) await client.create({ title: `free ${n}` })
})

onEach('a limit without `per` counts all items', async client => {
  const at = '/api/v1/slots'
  const answers = await Promise.all([1, 2, 3, 4, 5].map(n => client.ask('POST', at, { name: `s${n}` })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 409, 409, 409])
  const message = 'There can be at most 2 slots, and this limit is reached.'
  const errors = answers.flatMap(({ status, json }) => (status === 409 ? [json.error] : []))
  assert.deepEqual(errors[0], { code: 'CONFLICT', message })
  const off = await client.ask('POST', at, { name: 'off', on: false })
  assert.equal((await client.ask('PATCH', `${at}/${off.json.id}`, { on: true })).status, 409)
  assert.equal((await client.ask('PATCH', `${at}/${off.json.id}`, { name: 'still off' })).status, 200)
})
