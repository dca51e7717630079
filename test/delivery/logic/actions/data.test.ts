/** Reads by `data` in actions: computed fields, included relations, conditions and counts. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import {
  action,
  choice,
  collection,
  count,
  field,
  integer,
  model,
  owner,
  relation,
  signedIn,
  text,
  users,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { databaseKinds, openStore, rowSecurityPostgres } from '../../../api/contract/rest/databases.ts'
import { type Harness, openHarness } from '../../../api/contract/rest/harness.ts'
import { chosen } from '../../../chosen.ts'

// biome-ignore lint/suspicious/noExplicitAny: the tests call it in many forms.
type Data = Record<string, any>

/** The body of the next action, and its result. */
let body: (data: Data) => Promise<unknown> = async () => undefined
let result: unknown

const anyone = { create: signedIn, update: signedIn, delete: signedIn }
const declared = checkModel(
  model(
    {
      users: users({}),
      projects: collection({
        fields: { name: text(), owner_id: relation('users', { inverse: 'projects' }) },
        computed: {
          open_tasks: count('tasks', field('status').eq('open')),
          all_tasks: count('tasks'),
        },
        access: { read: signedIn, ...anyone },
      }),
      tasks: collection({
        fields: {
          title: text(),
          points: integer({ optional: true }),
          status: choice(['open', 'done']),
          project_id: relation('projects', { inverse: 'tasks' }),
          owner_id: relation('users', { inverse: 'tasks' }),
        },
        access: { read: owner('owner_id'), ...anyone },
      }),
    },
    {
      actions: {
        execute: action({
          access: signedIn,
          run: async ({ data }: Data) => {
            result = await body(data)
          },
        }),
      },
    },
  ),
)

const ann = user(1, 'user', 'all')

/** The title, points, status, project and owner of each task. */
const tasks = [
  ['alpha', 1, 'open', 1, 1],
  ['Beta', 2, 'done', 1, 1],
  ['gamma', null, 'open', 2, 1],
  ['delta 100%', 4, 'done', 2, 1],
  ['hidden', 5, 'open', 1, 2],
] as const

const titles = (...all: string[]) => all.map(title => ({ title }))

/** Conditions, and the titles of the tasks that Ann finds by them, ordered by id. */
const conditions: Readonly<Record<string, readonly [object, readonly string[]]>> = {
  'a value': [{ status: 'open' }, ['alpha', 'gamma']],
  'a list of values': [{ title: ['alpha', 'Beta', 'hidden'] }, ['alpha', 'Beta']],
  null: [{ points: null }, ['gamma']],
  eq: [{ points: { eq: 2 } }, ['Beta']],
  'eq null': [{ points: { eq: null } }, ['gamma']],
  'ne, which null does not match': [{ points: { ne: 2 } }, ['alpha', 'delta 100%']],
  'ne null': [{ points: { ne: null } }, ['alpha', 'Beta', 'delta 100%']],
  'gt and lte': [{ points: { gt: 1, lte: 4 } }, ['Beta', 'delta 100%']],
  'gte and lt': [{ points: { gte: 1, lt: 4 } }, ['alpha', 'Beta']],
  in: [{ points: { in: [1, 4, 5] } }, ['alpha', 'delta 100%']],
  'null: true': [{ points: { null: true } }, ['gamma']],
  'null: false': [{ points: { null: false } }, ['alpha', 'Beta', 'delta 100%']],
  contains: [{ title: { contains: '100%' } }, ['delta 100%']],
  icontains: [{ title: { icontains: 'BET' } }, ['Beta']],
  starts_with: [{ title: { starts_with: 'al' } }, ['alpha']],
  or: [{ or: [{ points: 1 }, { status: 'done' }] }, ['alpha', 'Beta', 'delta 100%']],
  'or with another condition': [{ status: 'done', or: [{ points: 1 }, { points: 2 }] }, ['Beta']],
  and: [{ and: [{ status: 'done' }, { points: { gt: 2 } }] }, ['delta 100%']],
  not: [{ not: { status: 'open' } }, ['Beta', 'delta 100%']],
  'not of or': [{ not: { or: [{ points: 1 }, { status: 'done' }] } }, ['gamma']],
  'a relation': [{ project: { name: 'two' } }, ['gamma', 'delta 100%']],
  'two relations': [{ project: { owner: { name: 'ben' } } }, ['gamma', 'delta 100%']],
  'not of a relation': [{ not: { project: { name: 'two' } } }, ['alpha', 'Beta']],
  'a computed field of a relation': [{ project: { open_tasks: 1 }, status: 'done' }, ['Beta', 'delta 100%']],
  'no condition': [{}, ['alpha', 'Beta', 'gamma', 'delta 100%']],
}

for (const kind of chosen([...databaseKinds, rowSecurityPostgres])) {
  describe(kind.name, () => {
    let harness: Harness
    before(async () => {
      harness = await openHarness(declared, model => openStore(kind, model))
      for (const name of ['ann', 'ben']) await harness.seed('users', { name, email: `${name}@example.com` })
      await harness.seed('projects', { name: 'one', owner_id: 1 })
      await harness.seed('projects', { name: 'two', owner_id: 2 })
      for (const [title, points, status, project_id, owner_id] of tasks) {
        await harness.seed('tasks', { title, points, status, project_id, owner_id })
      }
    })
    after(() => harness.close())

    async function inAction(run: typeof body): Promise<unknown> {
      body = run
      const reply = await harness.send({ method: 'POST', url: '/api/v1/actions/execute' }, ann)
      assert.equal(reply.status, 204, String(reply.body))
      return result
    }

    for (const [name, [where, expected]] of Object.entries(conditions)) {
      test(`list, count, first and all accept the condition: ${name}`, async () => {
        const listed = await inAction(async data => [
          await data['tasks'].list({ where, fields: ['title'], sort: ['id'] }),
          await data['tasks'].count(where),
          await data['tasks'].first({ where, fields: ['title'], sort: ['-id'] }),
        ])
        assert.deepEqual(listed, [titles(...expected), expected.length, { title: expected.at(-1) }])
        const walked = await inAction(async data => {
          const all: unknown[] = []
          for await (const task of data['tasks'].all({ where, fields: ['title'] })) all.push(task)
          return all
        })
        assert.deepEqual(walked, titles(...expected))
      })
    }

    test('computed fields count what the caller, or the service, may read', async () => {
      const fields = ['name', 'open_tasks', 'all_tasks']
      const lists = await inAction(async data => [
        await data['projects'].list({ fields, sort: ['-open_tasks', 'id'] }),
        await data['asSystem'].projects.list({ fields, sort: ['-open_tasks', 'id'] }),
        await data['projects'].get(1, { fields: ['open_tasks'] }),
        await data['projects'].count({ open_tasks: { gte: 1 } }),
        await data['asSystem'].projects.count({ open_tasks: { gte: 2 } }),
      ])
      assert.deepEqual(lists, [
        [
          { name: 'one', open_tasks: 1, all_tasks: 2 },
          { name: 'two', open_tasks: 1, all_tasks: 2 },
        ],
        [
          { name: 'one', open_tasks: 2, all_tasks: 3 },
          { name: 'two', open_tasks: 1, all_tasks: 2 },
        ],
        { open_tasks: 1 },
        2,
        1,
      ])
    })

    test('computed fields include the earlier changes of the action', async () => {
      const counts = await inAction(async data => {
        const values = { title: 'new', status: 'open', project_id: 2, owner_id: 1 }
        const { id } = await data['tasks'].create(values)
        const before = await data['projects'].get(2, { fields: ['open_tasks'] })
        await data['tasks'].update(id, { status: 'done' })
        const between = await data['projects'].first({ where: { id: 2 }, fields: ['open_tasks'] })
        await data['tasks'].delete(id)
        return [before, between, await data['projects'].get(2, { fields: ['all_tasks'] })]
      })
      assert.deepEqual(counts, [{ open_tasks: 2 }, { open_tasks: 1 }, { all_tasks: 2 }])
    })

    test('included relations contain the items that the caller may read', async () => {
      const items = (await inAction(async data => [
        await data['tasks'].get(1, { fields: ['title'], include: ['project', 'project.owner'] }),
        await data['projects'].get(1, { fields: ['name'], include: ['tasks'] }),
        await data['asSystem'].projects.get(1, { fields: ['name'], include: ['tasks'] }),
        await data['tasks'].get(5),
      ])) as Data[]
      const [task, project, complete, hidden] = items
      assert.equal(task?.['project'].name, 'one')
      assert.equal(task?.['project'].owner.name, 'ann')
      const titlesOf = (item: Data | undefined) => item?.['tasks'].map(({ title }: Data) => title).sort()
      assert.deepEqual(titlesOf(project), ['Beta', 'alpha'])
      assert.deepEqual(titlesOf(complete), ['Beta', 'alpha', 'hidden'])
      assert.equal(hidden, null)
    })

    test('all iterates over several pages', async () => {
      // Created beforehand, since an action may take only one second.
      for (let n = 0; n < 120; n++) await harness.seed('projects', { name: `p${n % 7}`, owner_id: 1 })
      const allNames = await inAction(async data => {
        const names: string[] = []
        for await (const { name } of data['projects'].all({ where: { id: { gt: 2 } }, sort: ['name'] }))
          names.push(name)
        const more = await data['projects'].list({
          where: { id: { gt: 2 } },
          limit: 30,
          page: 3,
          sort: ['id'],
        })
        return [names, more.length, await data['projects'].count({ id: { gt: 2 } })]
      })
      const expected = Array.from({ length: 120 }, (_, n) => `p${n % 7}`).sort()
      assert.deepEqual(allNames, [expected, 30, 120])
    })
  })
}
