/** Aggregates over HTTP: results, permissions and error messages. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { app, type Principal, user } from '../../../src/base/principal.ts'
import {
  anyone,
  boolean,
  choice,
  collection,
  count,
  datetime,
  field,
  integer,
  model,
  now,
  number,
  owner,
  relation,
  role,
  text,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { openStore, sqlite } from '../contract/rest/databases.ts'
import { type Harness, openHarness } from '../contract/rest/harness.ts'

const declared = model({
  users: users(),
  projects: collection({
    fields: { name: text(), owner_id: relation('users', { inverse: 'projects' }) },
    computed: { open_tasks: count('tasks', field('status').eq('open')) },
    access: { read: owner('owner_id').or(role('admin')), create: anyone, update: anyone, delete: anyone },
  }),
  tasks: collection({
    fields: {
      title: text({ searchable: true }),
      status: choice(['open', 'done']),
      points: integer({ optional: true }),
      weight: number({ optional: true }),
      done: boolean({ default: false }),
      due: datetime({ optional: true }),
      project_id: relation('projects', { inverse: 'tasks' }),
      /** Readable in some rows, or by administrators. */
      rating: integer({ optional: true, access: { read: field('status').eq('done').or(role('admin')) } }),
      /** Readable by administrators only. */
      salary: integer({ optional: true, access: { read: role('admin') } }),
      /** Fields with the names of parameters. */
      count: integer({ optional: true }),
      sum: integer({ optional: true }),
      limit: integer({ optional: true }),
      shown_from: datetime({ default: '2020-01-01T00:00:00Z' }),
    },
    access: { read: field('shown_from').lte(now), create: anyone, update: anyone, delete: anyone },
  }),
  payslips: collection({
    fields: {
      employee_id: relation('users', { inverse: 'payslips' }),
      salary: integer({ access: { read: owner('employee_id') } }),
    },
    access: { read: anyone, create: anyone, update: anyone, delete: anyone },
  }),
})

let harness: Harness

before(async () => {
  harness = await openHarness(checkModel(declared), model => openStore(sqlite, model))
  for (const name of ['Ann', 'Ben']) await harness.seed('users', { name, email: `${name}@example.com` })
  for (const [index, name] of ['Wall', 'Roof'].entries())
    await harness.seed('projects', { name, owner_id: index + 1 })
  for (let index = 0; index < 12; index++) {
    await harness.seed('tasks', {
      title: index % 2 === 0 ? 'red kite' : 'blue',
      status: index % 3 === 0 ? 'done' : 'open',
      points: index === 5 ? null : index,
      weight: index / 4,
      done: index % 2 === 1,
      due: index < 6 ? `2026-0${1 + (index % 2)}-03T1${index}:00:00.000Z` : null,
      project_id: 1 + (index % 2),
      rating: index,
      salary: 1,
      count: index % 4,
      sum: 7,
      limit: 3,
    })
  }
  for (const employee_id of [1, 2])
    await harness.seed('payslips', { employee_id, salary: employee_id * 1000 })
})
after(() => harness.close())

const admin = user(1, 'admin', 'all')
const ann = user(1, 'user', 'all')
const ben = user(2, 'user', 'all')

async function send(query: string, principal = ann, path = 'tasks/aggregate', method = 'GET') {
  const reply = await harness.send({ method, url: `/api/v1/${path}${query && `?${query}`}` }, principal)
  const header = (name: string) => reply.headers[reply.headers.indexOf(name) + 1]
  return {
    status: reply.status,
    header,
    text: String(reply.body),
    json: () => JSON.parse(String(reply.body)),
  }
}

async function groups(query: string, principal = ann, path?: string) {
  const { status, text, json } = await send(query, principal, path)
  assert.equal(status, 200, `${query}: ${text}`)
  return json().data
}

test('counts and statistics are grouped and ordered by group; without group_by they cover all items', async () => {
  const { json } = await send('group_by=status&count&sum=points')
  assert.deepEqual(json(), {
    data: [
      { status: 'done', count: 4, sum: { points: 18 } },
      { status: 'open', count: 8, sum: { points: 43 } },
    ],
    meta: { page: 1, per_page: 100, has_more: false },
  })
  assert.deepEqual(await groups(''), [{ count: 12 }])
  assert.deepEqual(await groups('group_by=status'), [
    { status: 'done', count: 4 },
    { status: 'open', count: 8 },
  ])
  assert.deepEqual(await groups('min=points,due&max=points,title&avg=points,weight'), [
    {
      avg: { points: 61 / 11, weight: 1.375 },
      min: { points: 0, due: '2026-01-03T10:00:00.000Z' },
      max: { points: 11, title: 'red kite' },
    },
  ])
  assert.deepEqual(await groups('points[gt]=100&count&sum=points'), [{ count: 0, sum: { points: null } }])
  assert.deepEqual(await groups('points[gt]=100&group_by=status'), [])
})

test('groups by parts of dates and times are in UTC; null is a group', async () => {
  assert.deepEqual(await groups('group_by=due:month&count'), [
    { 'due:month': null, count: 6 },
    { 'due:month': '2026-01', count: 3 },
    { 'due:month': '2026-02', count: 3 },
  ])
  assert.equal((await groups('group_by=due:hour,done')).length, 8)
  assert.deepEqual(await groups('group_by=due:year&due[null]=false'), [{ 'due:year': '2026', count: 6 }])
})

test('groups are sorted and paged', async () => {
  assert.deepEqual(await groups('group_by=status&sort=-status'), (await groups('group_by=status')).reverse())
  assert.deepEqual(await groups('group_by=count&sum=points&sort=-sum.points'), [
    { count: 3, sum: { points: 21 } },
    { count: 2, sum: { points: 18 } },
    { count: 0, sum: { points: 12 } },
    { count: 1, sum: { points: 10 } },
  ])
  const first = await send('group_by=points&sort=-count,-points&per_page=5&page=1')
  assert.deepEqual(first.json().meta, { page: 1, per_page: 5, has_more: true })
  const link = first.header('Link')
  assert.match(
    String(link),
    /<\/api\/v1\/tasks\/aggregate\?group_by=points&sort=-count%2C-points&page=2&per_page=5>; rel="next"/,
  )
  const last = await send('group_by=points&sort=-count,-points&per_page=5&page=3')
  assert.deepEqual(last.json(), {
    data: [
      { points: 0, count: 1 },
      { points: null, count: 1 },
    ],
    meta: { page: 3, per_page: 5, has_more: false },
  })
})

test('aggregates take the filters of a list with an operator or in brackets; other names are parameters even if fields have them', async () => {
  assert.deepEqual(await groups('status[eq]=done&count&sum=sum'), [{ count: 4, sum: { sum: 28 } }])
  assert.deepEqual(await groups('or[1][status]=done&or[2][points]=1'), [{ count: 5 }])
  assert.deepEqual(await groups('not[status]=done'), [{ count: 8 }])
  assert.deepEqual(await groups('limit[eq]=3&count[eq]=1'), [{ count: 3 }])
  assert.deepEqual(await groups('project.name[starts_with]=W'), [{ count: 6 }])
  assert.deepEqual(await groups('q=kite'), [{ count: 6 }])
  // A list takes these as filters.
  assert.deepEqual((await harness.send({ url: '/api/v1/tasks?limit=3&count=1&fields=id' }, ann)).status, 200)
})

test('items and fields that the caller cannot read do not count', async () => {
  assert.deepEqual(await groups('', ann, 'projects/aggregate'), [{ count: 1 }])
  assert.deepEqual(await groups('', admin, 'projects/aggregate'), [{ count: 2 }])
  assert.deepEqual(await groups('group_by=status&sum=rating&max=rating'), [
    { status: 'done', sum: { rating: 18 }, max: { rating: 9 } },
    { status: 'open', sum: { rating: null }, max: { rating: null } },
  ])
  assert.deepEqual(await groups('group_by=rating&sort=-count&per_page=1'), [{ rating: null, count: 8 }])
  assert.deepEqual(await groups('sum=salary', admin), [{ sum: { salary: 12 } }])
  for (const query of [
    'sum=salary',
    'group_by=salary',
    'max=salary',
    'salary[eq]=1',
    'not[salary]=1',
    'group_by=salary:month',
  ]) {
    const [hidden, unknown] = [await send(query), await send(query.replace('salary', 'qqqqqq'))]
    assert.equal(hidden.status, 400, query)
    assert.equal(hidden.text, unknown.text.replaceAll('qqqqqq', 'salary'), query)
  }
  const onlyUsers = app('an-app', new Set(['read:user']))
  assert.equal((await send('', onlyUsers)).status, 403)
})

test('answers that contain the fields of one user are not given to another', async () => {
  const asked = async (who: Principal) => ({
    grouped: await groups('group_by=salary&sort=-salary', who, 'payslips/aggregate'),
    measured: await groups('sum=salary&max=salary', who, 'payslips/aggregate'),
    related: await groups('group_by=salary', who, 'users/2/payslips/aggregate'),
    sorted: (await send('sort=-salary&fields=id', who, 'payslips')).json().data,
    nested: (await send('fields=id&include=payslips&sort=id', who, 'users')).json().data[1].payslips,
  })
  for (const [who, id] of [
    [ann, 1],
    [ben, 2],
  ] as const) {
    const salary = id * 1000
    const grouped = [
      { salary, count: 1 },
      { salary: null, count: 1 },
    ]
    const own = id === 2 ? salary : null
    const { nested, ...others } = await asked(who)
    assert.deepEqual(others, {
      grouped,
      measured: [{ sum: { salary }, max: { salary } }],
      related: [{ salary: own, count: 1 }],
      sorted: [{ id }, { id: 3 - id }],
    })
    assert.equal(nested[0].salary, own)
  }
})

test('aggregates follow relations to one item; what the caller cannot read on the way is null', async () => {
  assert.deepEqual(await groups('group_by=project.name&count', admin), [
    { 'project.name': 'Roof', count: 6 },
    { 'project.name': 'Wall', count: 6 },
  ])
  // Ann cannot read the project of Ben.
  assert.deepEqual(await groups('group_by=project.name&count&min=project.id,project.name'), [
    { 'project.name': null, count: 6, min: { 'project.id': null, 'project.name': null } },
    { 'project.name': 'Wall', count: 6, min: { 'project.id': 1, 'project.name': 'Wall' } },
  ])
  assert.deepEqual(await groups('group_by=project.owner.name,status&sum=points&sort=-sum.points', ben), [
    { 'project.owner.name': null, status: 'open', sum: { points: 24 } },
    { 'project.owner.name': 'Ben', status: 'open', sum: { points: 19 } },
    { 'project.owner.name': 'Ben', status: 'done', sum: { points: 12 } },
    { 'project.owner.name': null, status: 'done', sum: { points: 6 } },
  ])
  assert.deepEqual(
    await groups('group_by=project.created_at:year&sum=project.open_tasks&sort=-sum.project.open_tasks', ann),
    [
      { 'project.created_at:year': String(new Date().getUTCFullYear()), sum: { 'project.open_tasks': 24 } },
      { 'project.created_at:year': null, sum: { 'project.open_tasks': null } },
    ],
  )
  assert.deepEqual(await groups('group_by=employee.name&max=salary', ann, 'payslips/aggregate'), [
    { 'employee.name': 'Ann', max: { salary: 1000 } },
    { 'employee.name': 'Ben', max: { salary: null } },
  ])
  // The scopes of all collections on the way are needed.
  const onlyTasks = user(1, 'user', new Set(['read:task']))
  assert.deepEqual(await groups('group_by=status', onlyTasks), await groups('group_by=status'))
  for (const query of ['group_by=project.name', 'max=project.name', 'group_by=project.owner.name'])
    assert.equal((await send(query, onlyTasks)).status, 403, query)
  const [hidden, unknown] = [await send('sum=task.salary'), await send('sum=task.qqqqqq')]
  assert.equal(hidden.text, unknown.text.replaceAll('qqqqqq', 'salary'))
})

test('a related list is aggregated', async () => {
  assert.deepEqual(await groups('group_by=status', ann, 'projects/1/tasks/aggregate'), [
    { status: 'done', count: 2 },
    { status: 'open', count: 4 },
  ])
  // Ben's account.
  assert.equal((await send('', ann, 'projects/2/tasks/aggregate')).status, 404)
  for (const path of [
    'projects/1/owner/aggregate',
    'projects/1/aggregate',
    'tasks/aggregate/1',
    'nothing/aggregate',
  ]) {
    assert.equal((await send('', admin, path)).status, 404, path)
  }
})

test('computed fields are grouped by and summed', async () => {
  assert.deepEqual(await groups('group_by=open_tasks&sum=open_tasks', admin, 'projects/aggregate'), [
    { open_tasks: 4, sum: { open_tasks: 8 } },
  ])
})

test('a time-dependent aggregate is correct in the first request after the moment', async () => {
  const shownFrom = new Date(Date.now() + 150)
  await harness.seed('tasks', {
    ...{ title: 'later', status: 'open', project_id: 1, shown_from: shownFrom.toISOString() },
    ...{ done: false, points: 1000 },
  })
  const query = 'points[eq]=1000&count&max=points'
  const early = await groups(query)
  // Skipped when the machine was so slow that the moment has passed.
  if (Date.now() < shownFrom.getTime()) assert.deepEqual(early, [{ count: 0, max: { points: null } }])
  while (Date.now() <= shownFrom.getTime()) await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(await groups(query), [{ count: 1, max: { points: 1000 } }])
})

test('a misspelled parameter gets the correct names', async () => {
  const rows: readonly (readonly [query: string, message: RegExp])[] = [
    ['group_by=stats', /"group_by" names "stats", which is not a field of tasks\. Did you mean `status`\?/],
    ['group_by=status,done,points,due', /may list at most 3 names/],
    ['group_by=status:month', /which is not a part of it: status has no parts/],
    ['group_by=due:decade', /write due:year, due:quarter, due:month, due:week, due:day, due:hour/],
    ['group_by=due:day&tz=Europe/Berlyn', /"tz" names no time zone: .*Did you mean `Europe\/Berlin`\?/],
    ['group_by=due:day&tz=+01:00', /"tz" names no time zone/],
    ['group_by=due:day&tz=', /"tz" names no time zone/],
    ['group_by=due&tz=Europe/Berlin', /"tz" needs a part of a time in "group_by"/],
    [
      'group_by=project.nam',
      /"group_by" names "nam", which is not a field of projects\. Did you mean `name`/,
    ],
    ['group_by=projec.name', /names "projec", which is not a relation of tasks\. Did you mean `project`/],
    ['sum=project.tasks.points', /follows "project\.tasks", which leads to several items/],
    ['group_by=project.', /names "", which is not a field/],
    ['group_by=project.owner.projects.owner.name', /follows at most 3 relations, not 4/],
    [
      'min=project.owner.name,project.owner.id,project.owner.email,project.owner.role,project.owner.created_at,project.name',
      /follow at most 10 relations together, not 11/,
    ],
    ['tz=Europe/Berlin', /"tz" needs a part of a time in "group_by"/],
    ['group_by=due:day&timezone=UTC', /is not known here/],
    ['group_by=due:', /which is not a part of it/],
    ['sum=title', /"sum" names "title", which is not a quantity/],
    ['avg=project_id', /not a quantity/],
    ['sum=', /"sum" is empty/],
    ['count=points', /"count" must be true or false, or have no value/],
    ['group_by=count&count', /"group_by" names "count", which is also the name of a measure/],
    [
      'group_by=status&sort=-points',
      /"sort" names "points", which is not a sort key of the groups: use status, count\./,
    ],
    ['group_by=status&sort=status,-status', /lists "status" twice/],
    ['status=done', /write `status\[eq\]=…`/],
    ['limit=3', /write `limit\[eq\]=…`/],
    ['offset=3', /write `page=…`/],
    ['groupBy=status', /Did you mean `group_by`/],
    ['cursor=', /is not known here/],
    ['fields=id', /is not known here/],
    ['per_page=101', /from 1 to 100/],
    ['group_by=a%0Ab', /must be names separated by commas/],
  ]
  for (const [query, message] of rows) {
    const { status, text, json } = await send(query)
    assert.equal(status, 400, query)
    assert.match(json().error.message, message, `${query}: ${text}`)
  }
})

test('methods, entity tags and caching are those of lists', async () => {
  const { header, text } = await send('group_by=status')
  const etag = String(header('ETag'))
  assert.equal(header('Cache-Control'), 'private, no-cache')
  const second = await harness.send(
    { url: '/api/v1/tasks/aggregate?group_by=status', headers: { 'if-none-match': etag } },
    ann,
  )
  assert.equal(second.status, 304)
  const head = await send('group_by=status', ann, undefined, 'HEAD')
  assert.equal(head.status, 200)
  const options = await send('', ann, undefined, 'OPTIONS')
  assert.deepEqual([options.status, options.header('Allow')], [204, 'GET, HEAD, OPTIONS'])
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const { status, header } = await send('', ann, undefined, method)
    assert.deepEqual([status, header('Allow')], [405, 'GET, HEAD, OPTIONS'], method)
  }
  await harness.seed('tasks', { title: 'new', status: 'open', project_id: 1 })
  assert.notEqual((await send('group_by=status')).text, text)
})

test('with `tz`, parts of times are those that the clocks of the zone show', async () => {
  const times = [
    '2026-10-24T23:30:00Z',
    '2026-10-25T00:30:00Z',
    '2026-10-25T01:30:00Z',
    '2026-12-31T23:30:00Z',
  ]
  for (const due of times)
    await harness.seed('tasks', {
      title: 'zoned',
      status: 'open',
      done: false,
      project_id: 1,
      due,
      points: 500,
    })
  const zoned = 'points[eq]=500&tz=Europe/Berlin&group_by='
  const count = (key: string, values: readonly string[]) => values.map(value => ({ [key]: value, count: 1 }))
  // The clocks show the hour from 2 to 3 twice.
  assert.deepEqual(
    await groups(`${zoned}due:hour`),
    count('due:hour', [
      ...['2026-10-25T01:00+02:00', '2026-10-25T02:00+02:00', '2026-10-25T02:00+01:00'],
      '2027-01-01T00:00+01:00',
    ]),
  )
  assert.deepEqual(await groups(`${zoned}due:day`), [
    { 'due:day': '2026-10-25', count: 3 },
    { 'due:day': '2027-01-01', count: 1 },
  ])
  assert.deepEqual(await groups(`${zoned}due:week&sort=-due:week`), [
    { 'due:week': '2026-W53', count: 1 },
    { 'due:week': '2026-W43', count: 3 },
  ])
  assert.deepEqual(await groups(`${zoned}due:quarter,due:year`), [
    { 'due:quarter': '2026-Q4', 'due:year': '2026', count: 3 },
    { 'due:quarter': '2027-Q1', 'due:year': '2027', count: 1 },
  ])
  assert.deepEqual(await groups('points[eq]=500&group_by=due:week'), [
    { 'due:week': '2026-W43', count: 3 },
    { 'due:week': '2026-W53', count: 1 },
  ])
  assert.deepEqual(await groups('points[eq]=500&group_by=due:quarter&tz=asia/kathmandu'), [
    { 'due:quarter': '2026-Q4', count: 3 },
    { 'due:quarter': '2027-Q1', count: 1 },
  ])
  const first = await send(`${zoned}due:hour&per_page=1`)
  assert.match(String(first.header('Link')), /tz=Europe%2FBerlin&group_by=due%3Ahour&page=2/)
})
