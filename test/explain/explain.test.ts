/** Explanations: the verdict is the real answer, nothing is written, and nobody else is told. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readSettings } from '../../src/config.ts'
import { checkModel } from '../../src/model/check.ts'
import { createLog } from '../../src/observability/log.ts'
import { open } from '../../src/serve.ts'
import { fetchInMemory } from '../../src/testing/requests.ts'
import { testService } from '../../src/testing.ts'
import { newDatabase } from '../databases/postgres.ts'
import { type Organization, organizationOf, type Service } from '../matrix/tracker.ts'
import blog from '../models/blog.ts'
import tracker from '../models/tracker.ts'

interface World {
  readonly service: Service
  readonly ours: Organization
  readonly root: number
  readonly outsider: number
}

async function withWorld(use: (world: World) => Promise<void>, database?: string): Promise<void> {
  const service = await testService(tracker, database === undefined ? {} : { settings: { database } })
  try {
    const ours = await organizationOf(service, 'OURS')
    const root = (await service.users.create({ name: 'Root', role: 'admin' })).id
    const outsider = (await service.users.create({ name: 'Outsider' })).id
    await use({ service, ours, root, outsider })
  } finally {
    await service.close()
  }
}

async function explained({ service, root }: World, body: object) {
  const answer = await service.request('POST /api/v1/explain', { as: root, body })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

async function stored({ service }: World): Promise<string> {
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

/** Requests of every kind; refused ones come first, so that they meet the same items. */
function linesOf({ items, people }: Organization): readonly (readonly [string, string, object?])[] {
  const { tasks, projects, labels, comments, memberships } = items
  return [
    ['GET', `/tasks/${tasks}`],
    ['GET', '/tasks/99999'],
    ['GET', '/nothing'],
    ['GET', '/tasks?sort=title&include=project'],
    ['GET', '/tasks?wrong=1'],
    ['GET', `/projects/${projects}/tasks`],
    ['GET', `/queries/report?id=${items.organizations}`],
    ['GET', `/users/${people.admin}`],
    ['POST', '/tasks', { project_id: projects, title: 'x' }],
    ['POST', '/tasks', { project_id: projects, title: 'x', assignee_id: 99_999 }],
    ['POST', '/tasks', { project_id: projects, title: 'x', urgent: true }],
    ['POST', '/tasks', { project_id: projects, unknown: 1 }],
    ['POST', '/comments', { task_id: tasks, body: ' ' }],
    ['POST', '/labels', { organization_id: items.organizations, name: 'new' }],
    ['PATCH', `/tasks/${tasks}`, { status: 'done' }],
    ['PATCH', `/tasks/${tasks}`, { deleted_at: null }],
    ['PATCH', `/tasks/${tasks}`, { assignee_id: memberships }],
    ['PATCH', `/comments/${comments}`, { body: 'changed' }],
    ['DELETE', `/tasks/${tasks}`],
    ['DELETE', `/labels/${labels}`],
    ['POST', `/projects/${projects}/archive`],
    ['POST', '/batch', { operations: [{ method: 'PATCH', path: `/tasks/${tasks}`, body: { points: 3 } }] }],
  ]
}

for (const kind of ['SQLite', 'PostgreSQL'] as const) {
  test(`the verdict is what the real request answers, and nothing is written (${kind})`, async t => {
    const made = kind === 'SQLite' ? undefined : await newDatabase()
    await withWorld(async world => {
      const { service, ours, outsider, root } = world
      const { admin, editor, reader } = ours.people
      for (const as of [null, outsider, reader, editor, admin, root]) {
        for (const [method, path, body] of linesOf(ours)) {
          const told = `${as} ${method} ${path} ${JSON.stringify(body)}`
          const before = await stored(world)
          const verdict = await explained(world, { as, method, path, ...(body && { body }) })
          assert.equal(await stored(world), before, told)
          // A request that is allowed would change what the next one meets.
          if (verdict.allowed && method !== 'GET') continue
          const real = await service.request(`${method} /api/v1${path}`, {
            ...(as !== null && { as }),
            ...(body && { body }),
          })
          assert.equal(
            verdict.status,
            real.status,
            `${told}: ${real.text} ${JSON.stringify(verdict.reasons)}`,
          )
          assert.equal(verdict.code, real.status < 400 ? null : real.body.error.code, told)
          if (!verdict.allowed) assert.ok(verdict.reasons.length > 0, told)
        }
      }
      const body = { as: 'nobody\0@example.com', path: '/tasks' }
      const nobody = await service.request('POST /api/v1/explain', { as: root, body })
      assert.equal(nobody.body.error.code, 'VALIDATION_FAILED', nobody.text)
    }, made?.url).finally(() => made?.drop())
    t.diagnostic(kind)
  })
}

let world: World
let end = () => {}
let ended: Promise<void>
before(async () => {
  const started = Promise.withResolvers<void>()
  ended = withWorld(made => {
    world = made
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

test('a hidden item is told apart from one that is not there, and every part of the rule is judged', async () => {
  const { ours, outsider } = world
  const path = `/tasks/${ours.items.tasks}`
  const { reasons } = await explained(world, { as: outsider, path })
  assert.equal(reasons[0].kind, 'hidden')
  assert.equal(reasons[0].parts[0].holds, false)
  assert.match(reasons[0].message, /is there, and hidden.*memberships/)
  const missing = await explained(world, { as: outsider, path: '/tasks/99999' })
  assert.deepEqual([missing.status, missing.reasons[0].kind], [404, 'missing'])
})

test('a scope that is missing is named', async () => {
  const { reasons, code } = await explained(world, {
    as: world.outsider,
    scopes: ['read:label'],
    path: '/tasks',
  })
  assert.equal(code, 'INSUFFICIENT_SCOPE')
  assert.deepEqual([reasons[0].scope, reasons[0].scopes], ['read:task', ['read:label']])
})

test('GraphQL mutations are explained, and not carried out', async () => {
  const id = world.ours.items.tasks
  const query = `mutation { updateTask(id: ${id}, points: 9) { id } }`
  const before = await stored(world)
  const refused = await explained(world, {
    as: world.ours.people.reader,
    method: 'POST',
    path: '/graphql',
    body: { query },
  })
  assert.deepEqual([refused.code, refused.reasons[0]?.collection], ['FORBIDDEN', 'tasks'])
  const allowed = await explained(world, {
    as: world.ours.people.editor,
    method: 'POST',
    path: '/graphql',
    body: { query },
  })
  assert.equal(allowed.allowed, true)
  assert.equal(await stored(world), before)
})

test('only an administrator without a limit of scopes finds it, and a wrong body is refused with all its faults', async () => {
  const { service, ours, root } = world
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

test('without the development mode an error says nothing of the rule', async () => {
  const { service, ours, outsider } = world
  const answer = await service.request(`GET /api/v1/tasks/${ours.items.tasks}`, { as: outsider })
  assert.deepEqual(Object.keys(answer.body.error), ['code', 'message'])
})

test('in development the refusal itself says why, by REST and GraphQL; the log at debug has no values', async () => {
  const lines: string[] = []
  const given = {
    logLevel: 'debug',
    secretKeys: ['a'.repeat(40)],
    rateLimit: 'off',
  } as const
  const settings = { ...readSettings({ given }), database: ':memory:' }
  const log = createLog(settings, { write: line => void lines.push(line) })
  const opened = await open(checkModel(blog), settings, log, {
    ...{ listen: false, background: false, explainsRefusals: true },
  })
  const fetch = fetchInMemory(opened.http.server)
  try {
    const refused = await fetch('http://localhost/api/v1/users/1')
    const { error } = (await refused.json()) as { readonly error: Record<string, string> }
    assert.equal(refused.status, 401)
    assert.match(String(error.explain), /signedIn/)
    const body = JSON.stringify({ query: '{ user(id: 1) { id } }' })
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch('http://localhost/graphql', { method: 'POST', headers, body })
    const { errors } = (await answer.json()) as {
      readonly errors: readonly { extensions: Record<string, string> }[]
    }
    assert.match(String(errors[0]?.extensions.explain), /signedIn/)
    const noted = lines.flatMap(line => line.split('\n')).filter(line => line.includes('"msg":"refused"'))
    assert.equal(noted.length, 2)
    const { code, collection, operation, request_id } = JSON.parse(noted[0] ?? '')
    assert.deepEqual([code, collection, operation], ['UNAUTHORIZED', 'users', 'read'])
    assert.equal(request_id, refused.headers.get('x-request-id'))
  } finally {
    await opened.service.close()
  }
})
