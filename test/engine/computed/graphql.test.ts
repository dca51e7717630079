/** Computed fields in GraphQL: schema, selections, filters, sort orders, connections and refusals. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isEnumType, isInputObjectType, isObjectType } from 'graphql'
import { createSchema } from '../../../src/api/graphql/schema/schema.ts'
import { anonymous, type Principal, user } from '../../../src/base/principal.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { reply, withEngine } from '../../api/graphql/seeded-engine.ts'
import workshop from '../../models/workshop.ts'
import { seededStores } from '../../setups/databases/seeded-store.ts'
import { requestTime } from '../plan/reference.ts'

const model = checkModel(workshop)
const ann = user(1, 'user', 'all')
const created_at = requestTime

const task = {
  created_at,
  status: 'open',
  points: 1,
  hours: null,
  due: null,
  hidden: false,
  assignee_id: null,
}
const data = {
  users: [
    { id: 1, created_at, name: 'Ann', email: 'ann@example.com', role: 'user' },
    { id: 2, created_at, name: 'Root', email: 'root@example.com', role: 'admin' },
  ],
  projects: [
    {
      id: 1,
      created_at,
      name: 'One',
      budget: 1,
      seats: 2,
      note: 'x',
      starts: null,
      owner_id: 1,
      parent_id: null,
    },
    {
      id: 2,
      created_at,
      name: 'Two',
      budget: 1,
      seats: 7,
      note: 'x',
      starts: null,
      owner_id: 2,
      parent_id: 1,
    },
  ],
  tasks: [
    { ...task, id: 1, title: 'a', project_id: 1, assignee_id: 1 },
    { ...task, id: 2, title: 'b', project_id: 1 },
    { ...task, id: 3, title: 'c', project_id: 1, hidden: true },
    { ...task, id: 4, title: 'd', project_id: 2, status: 'done' },
  ],
}

async function execute(source: string, who: Principal, onStore = seededStores[0]) {
  assert.ok(onStore)
  let result: Awaited<ReturnType<typeof reply>> | undefined
  await withEngine(onStore, { model, data }, async ({ engine }) => {
    result = await reply(engine, { source, variables: {} } as never, who)
  })
  assert.ok(result)
  return result
}

test('a computed field is part of the type, its filter and its orderBy, but of no input', () => {
  const { schema } = createSchema(model, 100)
  const types = ['Project', 'ProjectFilter', 'ProjectOrderBy'].map(name => schema.getType(name))
  const [project, filter, order] = types
  assert.ok(isObjectType(project) && isInputObjectType(filter) && isEnumType(order))
  const fields = project.getFields()
  assert.equal(String(fields.openTasks?.type), 'Int!')
  assert.equal(String(fields.points?.type), 'Float')
  assert.equal(String(fields.meanHours?.type), 'Float')
  assert.equal(String(fields.leastDue?.type), 'Date')
  assert.equal(String(fields.lastStatus?.type), 'ProjectLastStatus')
  assert.equal(String(fields.isBusy?.type), 'Boolean!')
  assert.equal(String(fields.audited?.type), 'Int')
  assert.equal(fields.allTasks?.description, 'Tasks that the caller sees.')
  assert.equal(String(filter.getFields().openTasks?.type), 'IntFilter')
  assert.ok(order.getValue('OPEN_TASKS_DESC'))
  const create = schema.getMutationType()?.getFields().createProject
  assert.ok(create?.args.every(({ name }) => name !== 'openTasks'))
})

for (const store of seededStores) {
  test(`on ${store.name} computed fields can be selected, filtered by, sorted by and nested`, async () => {
    const source = `{
      projects(filter: {openTasks: {gte: 1}}) { id openTasks lastStatus }
      sorted: projects(orderBy: [ALL_TASKS_ASC]) { id children { allTasks } }
      projectsConnection(first: 1, orderBy: [SIZE_DESC]) {
        totalCount
        edges { cursor node { size } }
        pageInfo { hasNextPage endCursor }
      }
      task(id: 1) { project { openTasks ownTasks } }
      mine: tasks(filter: {project: {allTasks: {eq: 2}}}) { id }
    }`
    const { errors, data } = await execute(source, ann, store)
    assert.deepEqual(errors, [])
    const { projectsConnection: connection, ...others } = data as Record<string, unknown>
    assert.deepEqual(others, {
      projects: [{ id: '1', openTasks: 2, lastStatus: 'OPEN' }],
      sorted: [
        { id: '2', children: [] },
        { id: '1', children: [{ allTasks: 1 }] },
      ],
      task: { project: { openTasks: 2, ownTasks: 1 } },
      mine: [{ id: '1' }, { id: '2' }],
    })
    const { edges, pageInfo, totalCount } = connection as {
      edges: { node: unknown }[]
      pageInfo: { hasNextPage: boolean; endCursor: string }
      totalCount: number
    }
    assert.deepEqual([edges[0]?.node, pageInfo.hasNextPage, totalCount], [{ size: 'small' }, true, 2])
    const next = `{ projectsConnection(first: 1, orderBy: [SIZE_DESC], after: "${pageInfo.endCursor}") { nodes { size } } }`
    assert.deepEqual((await execute(next, ann, store)).data, {
      projectsConnection: { nodes: [{ size: 'large' }] },
    })
  })
}

test('a computed field that the caller may not read is null with an error, and refused in filters', async () => {
  const selected = await execute('{ project(id: 1) { id audited } }', ann)
  assert.deepEqual(selected.data, { project: { id: '1', audited: null } })
  assert.deepEqual(selected.errors[0]?.extensions?.code, 'FORBIDDEN')
  const filtered = await execute('{ projects(filter: {audited: {eq: 3}}) { id } }', ann)
  assert.equal(filtered.errors[0]?.extensions?.code, 'BAD_REQUEST')
  const root = await execute(
    '{ projects(filter: {audited: {eq: 3}}) { id audited } }',
    user(2, 'admin', 'all'),
  )
  assert.deepEqual(root.data, { projects: [{ id: '1', audited: 3 }] })
})

test('a computed field needs the scopes of the collections that it uses, and counts only readable rows', async () => {
  const limited = user(1, 'user', new Set(['read:project']))
  const { errors } = await execute('{ project(id: 1) { id allTasks } }', limited)
  assert.equal(errors[0]?.extensions?.code, 'INSUFFICIENT_SCOPE')
  const plain = await execute('{ project(id: 1) { id size } }', limited)
  assert.deepEqual(plain.data, { project: { id: '1', size: 'small' } })
  const visitor = await execute('{ project(id: 1) { allTasks points } }', anonymous('192.0.2.1'))
  assert.deepEqual(visitor.data, { project: { allTasks: 2, points: 0 } })
})
