/** Computed fields in the OpenAPI document and in guarded shapes, and their absence from events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isObjectType } from 'graphql'
import { createSchema } from '../../../src/api/graphql/schema/schema.ts'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { ItemShape } from '../../../src/engine/plan/plan.ts'
import {
  anyone,
  collection,
  computed,
  count,
  datetime,
  field,
  minus,
  model,
  now,
  owner,
  relation,
  signedIn,
  string,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { filtersOf } from '../../api/conformance/generate.ts'
import { openStore, sqlite } from '../../api/contract/rest/databases.ts'
import { openHarness } from '../../api/contract/rest/harness.ts'
import workshop from '../../models/workshop.ts'

const ann = user(1, 'user', 'all')

test('the OpenAPI document describes computed fields as optional properties, filters and sort keys', () => {
  const document = JSON.parse(JSON.stringify(openapi(checkModel(workshop), undefined)))
  const { schemas } = document.components
  const { properties, required } = schemas.Project
  assert.equal(properties.open_tasks.type, 'integer')
  assert.match(
    properties.open_tasks.description,
    /^Computed: returned with `fields=\*,open_tasks`\. Read-only\.$/,
  )
  assert.match(properties.all_tasks.description, /^Tasks that the caller sees\. Computed/)
  assert.deepEqual(properties.mean_hours.type, ['number', 'null'])
  const choiceOf = { $ref: '#/components/schemas/ProjectLastStatus' }
  assert.deepEqual(properties.last_status.anyOf, [choiceOf, { type: 'null' }])
  assert.deepEqual(schemas.ProjectLastStatus.enum, ['open', 'done'])
  assert.ok(!required.includes('open_tasks') && required.includes('name'))
  for (const [name, { properties: body }] of Object.entries<{ properties?: object }>(schemas)) {
    if (/^Project(?:Create|Replace|Update)$/.test(name)) {
      assert.ok(!Object.hasOwn(body ?? {}, 'open_tasks'), name)
    }
  }
  const { parameters } = document.paths['/api/v1/projects'].get
  const filters = filtersOf(document, parameters)
  assert.ok(filters.has('open_tasks') && filters.has('open_tasks[gte]'))
  assert.match(document.components.parameters.ProjectSortParam.description, /`open_tasks`/)
})

test('OpenAPI and GraphQL say which values are published although their items are hidden', () => {
  const published = checkModel(
    model({
      projects: collection({
        fields: { name: string() },
        computed: {
          all_tasks: count('tasks', { asSystem: true }),
          free: computed(minus(9, count('tasks', { asSystem: true })), { description: 'Free places.' }),
        },
        access: { read: anyone },
      }),
      tasks: collection({ fields: { project_id: relation('projects', { inverse: 'tasks' }) } }),
    }),
  )
  const note = 'Computed from all related `tasks`, whether or not the caller can read them.'
  const { properties } = JSON.parse(JSON.stringify(openapi(published, undefined))).components.schemas.Project
  assert.ok(properties.all_tasks.description.startsWith(`${note} Computed: returned with`))
  assert.ok(properties.free.description.startsWith(`Free places. ${note} Computed`))
  const type = createSchema(published, 100).schema.getType('Project')
  assert.ok(isObjectType(type))
  assert.equal(type.getFields().free?.description, `Free places. ${note}`)
})

const timed = checkModel(
  model({
    projects: collection({
      fields: { name: string() },
      computed: {
        recent: count('tasks', field('created_at').gte(now.minus({ minutes: 15 }))),
        own: count('tasks', owner('user_id')),
        all: count('tasks'),
      },
      access: { read: signedIn },
    }),
    tasks: collection({
      fields: {
        due: datetime({ optional: true }),
        project_id: relation('projects', { inverse: 'tasks' }),
        user_id: relation('users'),
      },
      access: { read: signedIn },
    }),
  }),
)

test('an answer with a computed field depends on the collections, the user and the time that it uses', () => {
  const dependsOn = (...names: string[]) => {
    const select = names.map(name => ({ kind: 'field', key: name, field: name }) as const)
    const shape: ItemShape = { kind: 'item', collection: 'projects', id: 0, select }
    const { reads, personal, volatile } = createGuard(timed)({ shape, args: [1] }, ann).shape
    return { reads, personal, volatile }
  }
  const both = ['projects', 'tasks']
  assert.deepEqual(dependsOn('name'), { reads: ['projects'], personal: false, volatile: false })
  assert.deepEqual(dependsOn('all'), { reads: both, personal: false, volatile: false })
  assert.deepEqual(dependsOn('own'), { reads: both, personal: true, volatile: false })
  assert.deepEqual(dependsOn('recent'), { reads: both, personal: false, volatile: true })
})

test('events cannot be filtered by a computed field', async () => {
  const harness = await openHarness(checkModel(workshop), model => openStore(sqlite, model))
  try {
    await harness.seed('users', { name: 'Ann', email: 'ann@example.com' })
    const url = '/api/v1/events?collections=projects&open_tasks[eq]=1'
    const reply = await harness.send({ url }, ann)
    assert.equal(reply.status, 400)
    assert.match(String(reply.body), /names a computed field, which events do not have/)
  } finally {
    await harness.close()
  }
})
