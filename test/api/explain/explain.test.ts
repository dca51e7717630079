/** The contents of explanations and who may request them. `random.test.ts` compares them with real responses. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { requireExplainer } from '../../../src/api/rest/explain.ts'
import { user } from '../../../src/base/principal.ts'
import { createBySystem } from '../../../src/identity/bootstrap.ts'
import { generateKey, keyHash } from '../../../src/identity/keys/key.ts'
import {
  action,
  anyone,
  collection,
  field,
  model,
  owner,
  related,
  relation,
  role,
  scope,
  signedIn,
  string,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { createLog } from '../../../src/server/observability/log.ts'
import { open } from '../../../src/server/serve/serve.ts'
import type { OpenService } from '../../../src/server/serve/service.ts'
import { testService } from '../../../src/testing.ts'
import { isFromDeveloper } from '../../../src/tools/dev/mail/local-request.ts'
import { fetchInMemory } from '../../../src/tools/testing/requests.ts'
import blog from '../../models/blog.ts'
import tracker from '../../models/tracker.ts'
import { type Organization, organizationOf, type Service } from '../../system/matrix/tracker.ts'

interface Context {
  readonly service: Service
  readonly ours: Organization
  readonly root: number
  readonly outsider: number
}

async function withContext(use: (context: Context) => Promise<void>): Promise<void> {
  const service = await testService(tracker)
  try {
    const ours = await organizationOf(service, 'OURS')
    const root = (await service.users.create({ name: 'Root', role: 'admin' })).id
    const outsider = (await service.users.create({ name: 'Outsider' })).id
    await use({ service, ours, root, outsider })
  } finally {
    await service.close()
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the tests check the structure.
type Document = any

async function explained({ service, root }: Context, body: object): Promise<Document> {
  const answer = await service.request('POST /api/v1/explain', { as: root, body })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

async function stored({ service }: Context): Promise<string> {
  const all = service.asSystem as unknown as Record<string, { list(): Promise<readonly unknown[]> }>
  const names = [
    'organizations',
    'memberships',
    'projects',
    'tasks',
    'comments',
    'labels',
    'users',
    'invitations',
  ]
  return JSON.stringify(await Promise.all(names.map(name => all[name]?.list())))
}

let context: Context
let end = () => {}
let ended: Promise<void>
before(async () => {
  const started = Promise.withResolvers<void>()
  ended = withContext(created => {
    context = created
    started.resolve()
    return new Promise<void>(resolve => {
      end = resolve
    })
  })
  await Promise.race([started.promise, ended])
})
after(() => {
  end()
  return ended
})

test('a hidden item is distinguished from a missing one, and every part of the rule is evaluated', async () => {
  const { ours, outsider } = context
  const path = `/tasks/${ours.items.tasks}`
  const { reasons } = await explained(context, { as: outsider, path })
  assert.equal(reasons[0].kind, 'hidden')
  assert.equal(reasons[0].parts[0].holds, false)
  assert.match(reasons[0].message, /exists, but is hidden.*memberships/)
  const missing = await explained(context, { as: outsider, path: '/tasks/99999' })
  assert.deepEqual([missing.status, missing.reasons[0].kind], [404, 'missing'])
})

test('a missing scope is named', async () => {
  const { reasons, code } = await explained(context, {
    as: context.outsider,
    scopes: ['read:label'],
    path: '/tasks',
  })
  assert.equal(code, 'INSUFFICIENT_SCOPE')
  assert.deepEqual([reasons[0].scope, reasons[0].scopes], ['read:task', ['read:label']])
})

test('a rule without an item is evaluated for the caller, part by part', async () => {
  const access = role('admin').or(scope('write:note').and(signedIn))
  const service = await testService(
    model(
      { users: users({}), notes: collection({ fields: { body: string() }, access: { read: signedIn } }) },
      { actions: { tidy: action({ access, scope: 'read:note', run: () => undefined }) } },
    ),
  )
  const admin = await service.users.create({ role: 'admin' })
  const ann = await service.users.create()
  const judged = async (scopes: readonly string[]) => {
    const body = { as: ann.id, scopes, method: 'POST', path: '/actions/tidy', body: {} }
    const { allowed, reasons } = (await service.request('POST /api/v1/explain', { as: admin, body })).body
    const [tree] = reasons[0].parts
    const holds = [tree, ...tree.parts, ...tree.parts[1].parts].map(part => part.holds)
    return { allowed, holds, message: reasons[0].message }
  }
  const granted = await judged(['write:note'])
  assert.deepEqual([granted.allowed, granted.holds], [true, [true, false, true, true, true]])
  const refused = await judged(['read:note'])
  assert.deepEqual([refused.allowed, refused.holds], [false, [false, false, false, false, true]])
  assert.match(refused.message, /role\('admin'\): the caller's role is user\./)
  await service.close()
})

test('GraphQL mutations are explained and not executed', async () => {
  const id = context.ours.items.tasks
  const query = `mutation { updateTask(id: ${id}, points: 9) { id } }`
  const before = await stored(context)
  const refused = await explained(context, {
    as: context.ours.people.reader,
    method: 'POST',
    path: '/graphql',
    body: { query },
  })
  assert.deepEqual([refused.code, refused.reasons[0]?.collection], ['FORBIDDEN', 'tasks'])
  const allowed = await explained(context, {
    as: context.ours.people.editor,
    method: 'POST',
    path: '/graphql',
    body: { query },
  })
  assert.equal(allowed.allowed, true)
  assert.equal(await stored(context), before)
})

test('only an administrator with all scopes finds the endpoint, and an invalid body is refused with all its faults', async () => {
  const { service, ours, root } = context
  for (const [as, status] of [
    [ours.people.admin, 403],
    [undefined, 401],
  ] as const) {
    const answer = await service.request('POST /api/v1/explain', {
      ...(as && { as }),
      body: { path: '/tasks' },
    })
    assert.equal(answer.status, status)
  }
  const wrong = await service.request('POST /api/v1/explain', {
    as: root,
    body: { as: {}, path: 'x', more: 1 },
  })
  assert.equal(wrong.status, 400)
  assert.equal(wrong.body.error.details.length, 3)
})

test('an error reveals nothing about the rule outside of the development mode', async () => {
  const { service, ours, outsider } = context
  const answer = await service.request(`GET /api/v1/tasks/${ours.items.tasks}`, { as: outsider })
  assert.deepEqual(Object.keys(answer.body.error), ['code', 'message'])
})

test('the effects of an action’s code are part of the explanation, and rolled back', async () => {
  const { service, ours } = context
  const { projects, organizations } = ours.items
  await service.settled()
  const mails = service.mails.length
  const before = await stored(context)
  const path = `/projects/${projects}/archive`
  const { allowed, status, reasons, notes } = await explained(context, {
    as: ours.people.editor,
    method: 'POST',
    path,
  })
  assert.deepEqual([allowed, status], [true, 200])
  assert.match(reasons[0].message, /^The operation archive of projects\/\d+ is allowed by the rule related/)
  assert.deepEqual(notes, [
    'The code of actions.archive ran.',
    'This is how the request is answered now. Its changes were rolled back.',
    'Not emitted: project.archived.',
  ])
  const refused = await explained(context, { as: ours.people.reader, method: 'POST', path })
  assert.deepEqual([refused.code, refused.reasons[0].operation], ['FORBIDDEN', 'archive'])
  const report = await explained(context, {
    as: ours.people.reader,
    path: `/queries/report?id=${organizations}`,
  })
  assert.deepEqual(report.notes, ['The code of queries.report ran.'])
  assert.equal(await stored(context), before)
  const change = { email: 'new-address@example.com' }
  await explained(context, {
    as: ours.people.reader,
    method: 'PATCH',
    path: `/users/${ours.people.reader}`,
    body: change,
  })
  await service.settled()
  assert.equal(service.mails.length, mails)
})

test('every error of a GraphQL response is explained at its path, and so is a hidden item without an error', async () => {
  const { ours, outsider } = context
  const of = (as: number | null, query: string) =>
    explained(context, { as, method: 'POST', path: '/graphql', body: { query } })
  const { tasks, projects } = ours.items
  const two = await of(null, `{ a: task(id: ${tasks}) { title } b: projects { id } }`)
  assert.deepEqual([two.allowed, two.status, two.code], [false, 200, 'UNAUTHORIZED'])
  assert.deepEqual(
    two.reasons.map(({ path, collection }: Document) => [path, collection]),
    [
      [['a'], 'tasks'],
      [['b'], 'projects'],
    ],
  )
  const hidden = await of(
    outsider,
    `{ a: task(id: ${tasks}) { title } b: project(id: ${projects}) { id } c: task(id: 99999) { id } }`,
  )
  assert.equal(hidden.allowed, true)
  assert.deepEqual(
    hidden.reasons.map(({ path, kind }: Document) => [path, kind]),
    [
      [['a'], 'hidden'],
      [['b'], 'hidden'],
      [['c'], 'missing'],
    ],
  )
  const writes = await of(
    ours.people.reader,
    `mutation { a: updateTask(id: ${tasks}, points: 2) { id } b: archive(id: ${projects}) { id } }`,
  )
  assert.deepEqual(
    writes.reasons.map(({ operation }: Document) => operation),
    ['update', 'archive'],
  )
  const none = await explained(context, { method: 'GET', path: '/graphql' })
  assert.deepEqual([none.code, none.reasons[0].kind], ['BAD_REQUEST', 'request'])
})

test('the explanation of a subscription lists the events that the caller receives, and the reason for others', async () => {
  const { ours, outsider } = context
  const { tasks } = ours.items
  const path = `/events?collections=tasks&item_id=${tasks}&wait=30`
  const heard = await explained(context, { as: ours.people.reader, path })
  assert.match(
    heard.reasons[0].message,
    /^Delivered: task\.created, task\.updated, task\.deleted of tasks\/\d+\./,
  )
  const hidden = await explained(context, { as: outsider, path })
  assert.equal(hidden.allowed, true)
  assert.match(hidden.reasons[0].message, /^Not delivered: task\.created.* does not hold\. .*memberships/)
  const some = await explained(context, { as: ours.people.reader, scopes: ['read:label'], path: '/events' })
  const messages = new Map(some.reasons.map(({ collection, message }: Document) => [collection, message]))
  assert.match(String(messages.get('labels')), /^Delivered: label\.created/)
  assert.match(
    String(messages.get('tasks')),
    /^Not delivered: .* needs the scope read:task; it has read:label\./,
  )
  const query = 'subscription { taskUpdated { id } }'
  const explainedRequest = { method: 'POST', path: '/graphql', body: { query } }
  const live = await explained(context, { as: ours.people.reader, ...explainedRequest })
  assert.deepEqual([live.allowed, live.reasons[0].types], [true, ['task.updated']])
  const refused = await explained(context, explainedRequest)
  assert.deepEqual([refused.code, refused.reasons[0].collection], ['UNAUTHORIZED', 'tasks'])
})

test('a key is explained as it would be accepted: with its scopes, its expiry, and the account of its user', async () => {
  const { service, root } = context
  const { id: owner } = await service.users.create({})
  const body = {
    name: 'Key',
    scopes: ['read:label'],
    expires_at: new Date(Date.parse(service.clock.now()) + 60_000),
  }
  const { body: key } = await service.request('POST /api/v1/api_keys', { as: owner, body })
  const explainedRequest = { api_key: key.id, path: '/labels' }
  const verdict = async () => {
    const { status, as, reasons } = await explained(context, explainedRequest)
    const real = await service.request('GET /api/v1/labels', {
      headers: { authorization: `Bearer ${key.key}` },
    })
    assert.equal(status, real.status)
    return [as.scopes, reasons[0].message]
  }
  assert.deepEqual((await verdict())[0], ['read:label'])
  const disable = (disabled: boolean) =>
    service.request(`PATCH /api/v1/users/${owner}`, { as: root, body: { disabled } })
  await disable(true)
  assert.match((await verdict())[1], /is disabled/)
})

interface Opened {
  readonly send: typeof fetch
  readonly opened: OpenService
  readonly lines: () => readonly Record<string, unknown>[]
}

/** A service with log level `debug`. `tells`: in development mode, for callers on this machine. */
async function withLog(tells: boolean, use: (opened: Opened) => Promise<void>): Promise<void> {
  const said: string[] = []
  const given = { logLevel: 'debug', secretKeys: ['a'.repeat(40)], rateLimit: 'off' } as const
  const settings = { ...readSettings({ given }), database: ':memory:' }
  const log = createLog(settings, { write: line => void said.push(line) })
  const opened = await open(checkModel(blog), settings, log, {
    ...{ listen: false, background: false },
    ...(tells && { explainsRefusals: () => true }),
  })
  const refusedLine = (line: string) => line.includes('"msg":"refused"')
  const lines = () => said.flatMap(text => text.split('\n')).filter(refusedLine)
  try {
    await createBySystem(opened.run, 'users', { name: 'Ann', email: 'ann@example.com' }, {})
    await use({
      ...{ opened, send: fetchInMemory(opened.http.server) },
      lines: () => lines().map(line => JSON.parse(line)),
    })
  } finally {
    await opened.service.close()
  }
}

const headers = { 'Content-Type': 'application/json' }
const graphqlBody = JSON.stringify({ query: '{ user(id: 1) { id } users { id } }' })

test('in development the refusal itself explains the reason, in REST and in every GraphQL error', () =>
  withLog(true, async ({ send }) => {
    const refused = await send('http://localhost/api/v1/users/1')
    const { error } = (await refused.json()) as Document
    assert.equal(refused.status, 401)
    assert.match(error.explain, /signedIn/)
    const answer = await send('http://localhost/graphql', { method: 'POST', headers, body: graphqlBody })
    const { errors } = (await answer.json()) as Document
    assert.deepEqual(
      errors.map(({ path }: Document) => path),
      [['user'], ['users']],
    )
    for (const { extensions } of errors) assert.match(extensions.explain, /signedIn/)
  }))

test('the log at debug has one line for each refusal, with the deciding rule and without client input', () =>
  withLog(false, async ({ send, lines }) => {
    const refused = await send('http://localhost/api/v1/users/1')
    assert.equal(((await refused.json()) as Document).error.explain, undefined)
    const { code, collection, operation, rule, request_id, reason } = lines()[0] ?? {}
    assert.deepEqual([code, collection, operation, rule], ['UNAUTHORIZED', 'users', 'read', 'signedIn'])
    assert.equal(request_id, refused.headers.get('x-request-id'))
    assert.equal(reason, 'No caller can read users without a credential.')
    await send('http://localhost/graphql', { method: 'POST', headers, body: graphqlBody })
    assert.deepEqual(
      lines()
        .slice(1)
        .map(line => [line.path, line.rule]),
      [
        ['user', 'signedIn'],
        ['users', 'signedIn'],
      ],
    )
    await send('http://localhost/api/v1/posts', { headers: { authorization: `Bearer ${generateKey()}` } })
    assert.equal(lines()[3]?.reason, 'There is no such API key: it was revoked, or never existed.')
    const body = JSON.stringify({
      title: 's3cret',
      's3cret\n{"level":50}': 's3cret',
      ['s3cret'.repeat(99)]: 1,
    })
    await send('http://localhost/api/v1/posts?s3cret=s3cret', { method: 'POST', headers, body })
    await send('http://localhost/api/v1/posts?s3cret=s3cret', { headers })
    await send('http://localhost/api/v1/posts/99999')
    assert.deepEqual(
      lines()
        .slice(4)
        .map(line => line.code),
      ['UNAUTHORIZED', 'BAD_REQUEST', 'NOT_FOUND'],
    )
    assert.equal(lines()[6]?.reason, 'There is no such item.')
    const document = JSON.stringify({ query: '{ s3cret(id: "s3cret") }' })
    await send('http://localhost/graphql', { method: 'POST', headers, body: document })
    assert.deepEqual([lines().length, lines()[7]?.code], [8, 'BAD_REQUEST'])
    assert.doesNotMatch(JSON.stringify(lines()), /s3cret/)
  }))

test('no reason is sent if NODE_ENV is production', async () => {
  const { NODE_ENV: before } = process.env
  process.env.NODE_ENV = 'production'
  try {
    await withLog(true, async ({ send }) => {
      const refused = await send('http://localhost/api/v1/users/1')
      assert.equal(((await refused.json()) as Document).error.explain, undefined)
    })
  } finally {
    if (before === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = before
  }
})

test('a first-party app that may write accounts can request explanations, other apps cannot', () => {
  const ask = (thirdParty: boolean, scope: string) => () =>
    requireExplainer(
      user(1, 'admin', new Set([scope]), undefined, undefined, {
        app: { id: 1, name: 'One' },
        grant: null,
        thirdParty,
      }),
    )
  assert.doesNotThrow(ask(false, 'write:user'))
  assert.throws(ask(false, 'write:post'), { code: 'INSUFFICIENT_SCOPE' })
  assert.throws(ask(true, 'write:user'), { code: 'FORBIDDEN' })
})

test('a key whose app may no longer act for its user is explained as it is refused', () =>
  withLog(false, async ({ send, opened: { run, explain } }) => {
    const key = generateKey()
    const stored = { user_id: 1, name: 'Of an app', prefix: key.slice(0, 8) }
    await createBySystem(run, 'api_keys', stored, { hash: keyHash(key), grant: 'grant:ended' })
    const { status, limits, reasons } = await explain.request({ api_key: 1, path: '/posts' }, undefined)
    const real = await send('http://localhost/api/v1/posts', { headers: { authorization: `Bearer ${key}` } })
    assert.deepEqual([status, real.status, limits], [401, 401, []])
    assert.match(String(reasons[0]?.message), /^The app that created the API key 1 may no longer act for the/)
  }))

const localHeaders = { host: 'localhost:3000' }
for (const [what, headers, peer, isShown] of [
  ['a program on this machine', localHeaders, '127.0.0.1', true],
  [
    'a page on this machine, on another port',
    { ...localHeaders, origin: 'http://localhost:5173' },
    '::1',
    true,
  ],
  ['another machine', localHeaders, '192.168.1.7', false],
  ['a proxy', { ...localHeaders, 'x-forwarded-for': '192.0.2.1' }, '127.0.0.1', false],
  ['a page of another site', { ...localHeaders, origin: 'https://evil.example' }, '127.0.0.1', false],
  ['a page with an opaque origin', { ...localHeaders, origin: 'null' }, '127.0.0.1', false],
  [
    'a page of another site that sends no origin',
    { ...localHeaders, 'sec-fetch-site': 'cross-site' },
    '127.0.0.1',
    false,
  ],
  ['a rebound DNS name', { host: 'evil.example:3000' }, '127.0.0.1', false],
] as const) {
  test(`portico dev ${isShown ? 'explains' : 'does not explain'} refusals to ${what}`, () => {
    assert.equal(isFromDeveloper({ headers, peer, local: '192.168.1.5' }, undefined), isShown)
  })
}

test('a write is refused whose rule only the written item itself would fulfil', async () => {
  const isAdmin = related('memberships', owner('user_id').and(field('role').eq('admin')))
  const service = await testService(
    model({
      clubs: collection({ fields: { name: string() }, access: { read: anyone, create: signedIn } }),
      memberships: collection({
        fields: {
          club_id: relation('clubs', { inverse: 'memberships' }),
          user_id: relation('users', { inverse: 'memberships' }),
          role: string({ default: 'member' }),
        },
        access: {
          read: owner('user_id'),
          create: related('club', isAdmin),
          update: related('club', isAdmin).or(owner('user_id').and(field('role').eq('member'))),
        },
      }),
    }),
  )
  try {
    const { id: user_id } = await service.users.create({ name: 'Ada' })
    const { id: club_id } = await service.asSystem.clubs.create({ name: 'Choir' })
    const ada = service.as(user_id)
    await assert.rejects(ada.memberships.create({ club_id, user_id, role: 'admin' }), {
      code: 'FORBIDDEN',
      explain:
        /^Creating memberships is refused: .* does not hold for the new item: an item does not count among the related items of its own rule\.$/,
    })
    const { id } = await service.asSystem.memberships.create({ club_id, user_id })
    await assert.rejects(ada.memberships.update(id, { role: 'admin' }), {
      code: 'FORBIDDEN',
      explain: /does not hold for the item after the change: an item does not count among/,
    })
  } finally {
    await service.close()
  }
})
