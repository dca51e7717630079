/** Computed fields over REST: their values, their visibility, and the freshness of answers. */

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Reply } from '../../../src/base/call.ts'
import { anonymous, type Principal, user } from '../../../src/base/principal.ts'
import {
  anyone,
  boolean,
  caller,
  collection,
  count,
  model as declareModel,
  field,
  integer,
  relation,
  role,
  string,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { databaseKinds, openStore, rowSecurityPostgres } from '../../api/contract/rest/databases.ts'
import { type Harness, openHarness } from '../../api/contract/rest/harness.ts'
import { chosen } from '../../chosen.ts'
import workshop from '../../models/workshop.ts'

const model = checkModel(workshop)
const root = user(1, 'admin', 'all')
const ann = user(2, 'user', 'all')
const ben = user(3, 'user', 'all')
const visitor = anonymous('192.0.2.1')
const projects = '/api/v1/projects'

/** Project 1 is Ann's, with tasks of both; its child 2 is Ben's, with extreme numbers; project 3 has no tasks. */
async function seed(harness: Harness): Promise<void> {
  for (const name of ['Root', 'Ann', 'Ben']) {
    await harness.seed('users', {
      name,
      email: `${name}@example.com`,
      role: name === 'Root' ? 'admin' : 'user',
    })
  }
  const firstProject = { name: 'One', budget: 10, seats: 3, note: 'x', starts: '2026-11-23', owner_id: 2 }
  await harness.seed('projects', firstProject)
  await harness.seed('projects', {
    name: 'Two',
    budget: 1e300,
    seats: 2 ** 53 - 1,
    owner_id: 3,
    parent_id: 1,
  })
  await harness.seed('projects', { name: 'Three', seats: 0, starts: '0000-01-01', owner_id: 3, parent_id: 2 })
  const task = { project_id: 1, status: 'open' }
  await harness.seed('tasks', { ...task, title: 'a', points: 3, hours: 0.1, assignee_id: 2 })
  await harness.seed('tasks', {
    ...task,
    title: 'b',
    points: 5,
    hours: 0.2,
    due: '2026-01-01',
    assignee_id: 3,
  })
  const secret = { hidden: true, status: 'done', project_id: 1, assignee_id: 3, title: 'zz' }
  await harness.seed('tasks', { ...secret, points: 7, hours: 0.4, due: '2025-01-01' })
  for (const points of [2 ** 53 - 1, 2 ** 53 - 1, 1]) {
    await harness.seed('tasks', { title: 'huge', points, hours: 1e308, status: 'done', project_id: 2 })
  }
  await harness.seed('labels', { name: 'red' })
  // A duplicate row still links a single label.
  await harness.seed('project_labels', { project_id: 1, label_id: 1 })
  await harness.seed('project_labels', { project_id: 1, label_id: 1 })
}

function bodyOf({ body }: Reply) {
  return JSON.parse(String(body))
}

function headerOf({ headers }: Reply, name: string): string | undefined {
  return headers[headers.findIndex(header => header.toLowerCase() === name.toLowerCase()) + 1]
}

async function withHarness(kind: (typeof databaseKinds)[number], use: (harness: Harness) => Promise<void>) {
  const harness = await openHarness(model, model => openStore(kind, model))
  try {
    await seed(harness)
    await use(harness)
  } finally {
    await harness.close()
  }
}

async function read(harness: Harness, who: Principal, query: string, path = projects) {
  const reply = await harness.send({ url: `${path}?${query}` }, who)
  assert.equal(reply.status, 200, String(reply.body))
  return bodyOf(reply)
}

/** Users have a badge that only administrators can read, and a grade that they can read themselves if it is shown. */
const badges = checkModel(
  declareModel({
    users: users({
      fields: {
        badge: integer({ optional: true, access: { read: role('admin') } }),
        grade: integer({ optional: true, access: { read: field('shown').eq(true).or(role('admin')) } }),
        shown: boolean({ default: false }),
      },
    }),
    rooms: collection({
      fields: { name: string() },
      computed: {
        by_badge: count('doors', field('level').eq(caller('badge'))),
        by_grade: count('doors', field('level').eq(caller('grade'))),
      },
      access: { read: anyone, create: anyone },
    }),
    doors: collection({
      fields: { level: integer(), room_id: relation('rooms', { inverse: 'doors' }) },
      access: { read: anyone, create: anyone },
    }),
  }),
)

const badge = (level: number) => ({ badge: level, grade: level })

const names = [...(model.collections.get('projects')?.computed.keys() ?? [])].filter(
  name => name !== 'audited',
)
const everything = `fields=${names.join(',')}&sort=id`

/** The computed fields of each project for Ann. */
const ofAnn = [
  {
    open_tasks: 2,
    all_tasks: 2,
    own_tasks: 1,
    label_count: 1,
    // Only the assignee of an open task can read its points.
    points: 3,
    hours: 0.3,
    mean_points: 3,
    mean_hours: 0.15,
    least_due: '2026-01-01',
    greatest_title: 'b',
    next_task: 'a',
    last_status: 'open',
    per_seat: 10 / 3,
    remaining: 1,
    scaled: 40,
    squared: 9,
    owner_name: 'Ann',
    label: 'One (Ann, 2026-11-23, 3)',
    note_or_name: 'x',
    size: 'small',
    is_busy: true,
    noted: 'yes',
    unnoted: 0,
    weekday: 1,
    month: 11,
    parent_tasks: '/',
    private_count: 2,
  },
  {
    open_tasks: 0,
    all_tasks: 3,
    own_tasks: 0,
    label_count: 0,
    // Beyond the safe integers, and beyond 1e150.
    points: null,
    hours: null,
    mean_points: (2 ** 54 - 1) / 3,
    mean_hours: null,
    least_due: null,
    greatest_title: 'huge',
    next_task: null,
    last_status: 'done',
    per_seat: null,
    remaining: 2 ** 53 - 1,
    scaled: null,
    squared: null,
    owner_name: 'Ben',
    label: `Two (Ben, , ${2 ** 53 - 1})`,
    note_or_name: 'Two',
    size: 'large',
    is_busy: false,
    noted: 'no',
    unnoted: 1,
    weekday: null,
    month: null,
    parent_tasks: 'One/',
    private_count: null,
  },
  { per_seat: null, weekday: 6, month: 1, parent_tasks: 'Two/One', points: 0, hours: 0, mean_points: null },
]

function assertHas(actual: Record<string, unknown>, expected: Record<string, unknown>) {
  for (const [key, value] of Object.entries(expected)) assert.deepEqual(actual[key], value, key)
}

for (const kind of chosen([...databaseKinds, rowSecurityPostgres])) {
  suite(`computed fields on ${kind.name}`, () => {
    test('have the same values on every database', async () => {
      await withHarness(kind, async harness => {
        const { data } = await read(harness, ann, everything)
        assert.deepEqual(Object.keys(data[0]), names)
        for (const [index, expected] of ofAnn.entries()) assertHas(data[index], expected)
        assert.equal(data[0].created_day, new Date().toISOString().slice(0, 10))
      })
    })

    test('ignore rows and values that the caller may not read', async () => {
      await withHarness(kind, async harness => {
        const own = 'fields=all_tasks,points,least_due,greatest_title,last_status,hours'
        const readOwn = async (who: Principal) => (await read(harness, who, own, `${projects}/1`)) as object
        const ofBen = {
          all_tasks: 3,
          points: 12,
          least_due: '2025-01-01',
          greatest_title: 'zz',
          last_status: 'done',
          hours: 0.7,
        }
        assert.deepEqual(await readOwn(ben), ofBen)
        assert.deepEqual(await readOwn(root), { ...ofBen, points: 15 })
        const ofVisitor = {
          all_tasks: 2,
          points: 0,
          least_due: '2026-01-01',
          greatest_title: 'b',
          last_status: 'open',
          hours: 0.3,
        }
        assert.deepEqual(await readOwn(visitor), ofVisitor)
      })
    })

    test('do not reveal hidden values through their conditions', async () => {
      await withHarness(kind, async harness => {
        const query = 'fields=noted,unnoted,note_or_name,own_tasks'
        const ofAnn = { noted: 'yes', unnoted: 0, note_or_name: 'x', own_tasks: 1 }
        assert.deepEqual(await read(harness, ann, query, `${projects}/1`), ofAnn)
        const ofBen = { noted: 'no', unnoted: 1, note_or_name: 'One', own_tasks: 2 }
        assert.deepEqual(await read(harness, ben, query, `${projects}/1`), ofBen)
        for (const filter of ['noted=yes', 'unnoted=0', 'note_or_name=x', 'greatest_title=zz', 'points=12']) {
          assert.equal((await read(harness, visitor, filter)).meta.total, 0, filter)
        }
      })
    })

    test('compare with a field of the caller only where the caller can read it', async () => {
      const harness = await openHarness(badges, model => openStore(kind, model))
      try {
        await harness.seed('users', { name: 'Root', email: 'root@example.com', role: 'admin', ...badge(1) })
        await harness.seed('users', { name: 'Ann', email: 'ann@example.com', ...badge(2) })
        await harness.seed('users', { name: 'Ben', email: 'ben@example.com', ...badge(3), shown: true })
        await harness.seed('rooms', { name: 'Vault' })
        for (const level of [1, 2, 3, 3]) await harness.seed('doors', { room_id: 1, level })
        const counts = async (who: Principal) =>
          read(harness, who, 'fields=by_badge,by_grade', '/api/v1/rooms/1')
        assert.deepEqual(await counts(root), { by_badge: 1, by_grade: 1 })
        // Ann can read neither field of her own item; Ben can read one of his.
        assert.deepEqual(await counts(ann), { by_badge: 0, by_grade: 0 })
        assert.deepEqual(await counts(ben), { by_badge: 0, by_grade: 2 })
      } finally {
        await harness.close()
      }
    })

    test('can filter and sort lists, by cursor too', async () => {
      await withHarness(kind, async harness => {
        const ids = async (query: string) =>
          (await read(harness, ann, `fields=id&${query}`)).data.map((item: { id: number }) => item.id)
        assert.deepEqual(await ids('all_tasks[gte]=2'), [1, 2])
        assert.deepEqual(await ids('all_tasks[in]=0,3'), [2, 3])
        assert.deepEqual(await ids('last_status=done'), [2])
        assert.deepEqual(await ids('weekday[null]=true'), [2])
        assert.deepEqual(await ids('label[contains]=Ann'), [1])
        assert.deepEqual(await ids('is_busy=true'), [1])
        assert.deepEqual(await ids('mean_hours[lt]=0.2'), [1])
        assert.deepEqual(await ids('sort=-all_tasks'), [2, 1, 3])
        assert.deepEqual(await ids('sort=per_seat,-id'), [3, 2, 1])
        for (const sort of ['-all_tasks', 'per_seat,-id', 'note_or_name', 'weekday', 'is_busy,-label']) {
          const walked: number[] = []
          let cursor: string | null = ''
          while (cursor !== null) {
            const page = await read(harness, ann, `fields=id&sort=${sort}&per_page=1&cursor=${cursor}`)
            walked.push(...page.data.map((item: { id: number }) => item.id))
            cursor = page.meta.next_cursor
          }
          assert.deepEqual(walked, await ids(`sort=${sort}`), sort)
        }
        const tasks = await read(harness, ann, 'fields=id&project.all_tasks=2&sort=id', '/api/v1/tasks')
        assert.equal(tasks.meta.total, 2)
      })
    })

    test('are current in every answer, and change its ETag', async () => {
      await withHarness(kind, async harness => {
        const url = `${projects}/1?fields=*,open_tasks`
        const before = await harness.send({ url }, ann)
        const plain = await harness.send({ url: `${projects}/1` }, ann)
        const list = await harness.send({ url: `${projects}?fields=id,open_tasks` }, ann)
        const sorted = await harness.send({ url: `${projects}?fields=id&open_tasks=2` }, ann)
        assert.equal(bodyOf(before).open_tasks, 2)
        assert.deepEqual({ ...bodyOf(plain), open_tasks: 2 }, bodyOf(before))
        await harness.seed('tasks', { title: 'new', project_id: 1 })
        const tagged = { 'if-none-match': headerOf(before, 'ETag') ?? '' }
        const after = await harness.send({ url, headers: tagged }, ann)
        assert.equal(after.status, 200)
        assert.equal(bodyOf(after).open_tasks, 3)
        const notModified = await harness.send(
          { url, headers: { 'if-none-match': headerOf(after, 'ETag') ?? '' } },
          ann,
        )
        assert.equal(notModified.status, 304)
        const second = await harness.send({ url: `${projects}?fields=id,open_tasks` }, ann)
        assert.notEqual(headerOf(second, 'ETag'), headerOf(list, 'ETag'))
        assert.equal(bodyOf(second).data[0].open_tasks, 3)
        assert.equal(bodyOf(sorted).meta.total, 1)
        assert.equal((await read(harness, ann, 'fields=id&open_tasks=2')).meta.total, 0)
        // The item itself has not changed.
        const headers = { 'if-match': headerOf(plain, 'ETag') ?? '' }
        const written = await harness.send({ method: 'PATCH', url, headers, body: { name: 'New name' } }, ann)
        assert.equal(written.status, 200, String(written.body))
        assert.equal(bodyOf(written).open_tasks, 3)
      })
    })

    test('are returned by a create that selects them', async () => {
      await withHarness(kind, async harness => {
        const body = { name: 'Four', seats: 6 }
        const created = await harness.send(
          { method: 'POST', url: `${projects}?fields=id,open_tasks,size`, body },
          ann,
        )
        assert.equal(created.status, 201, String(created.body))
        assert.deepEqual(bodyOf(created), { id: 4, open_tasks: 0, size: 'large' })
      })
    })

    test('cannot be set by a body, and are not selected by default', async () => {
      await withHarness(kind, async harness => {
        const created = await harness.send(
          { method: 'POST', url: projects, body: { name: 'X', open_tasks: 1 } },
          ann,
        )
        assert.equal(created.status, 400)
        assert.equal(bodyOf(created).error.details[0].code, 'read_only')
        const { data } = await read(harness, ann, 'sort=id')
        assert.ok(names.every(name => !Object.hasOwn(data[0], name)))
      })
    })

    test('are unknown to a caller who may not read them', async () => {
      await withHarness(kind, async harness => {
        for (const query of ['fields=audited', 'fields=*,audited', 'audited=1', 'sort=audited']) {
          const reply = await harness.send({ url: `${projects}?${query}` }, ann)
          assert.equal(reply.status, 400, query)
          assert.ok(!String(reply.body).includes('Did you mean'), query)
          assert.equal((await harness.send({ url: `${projects}?${query}` }, root)).status, 200)
        }
        const limited = user(2, 'user', new Set(['read:project']))
        const reply = await harness.send({ url: `${projects}?fields=open_tasks` }, limited)
        assert.equal(reply.status, 403)
        assert.equal(bodyOf(reply).error.code, 'INSUFFICIENT_SCOPE')
        const unselected = await harness.send({ url: projects }, limited)
        assert.equal(unselected.status, 200)
      })
    })

    test('can be grouped by and aggregated, over the rows that the caller can read', async () => {
      await withHarness(kind, async harness => {
        const query = 'group_by=size&count&sum=all_tasks&max=label_count&min=weekday'
        const { data } = await read(harness, ann, query, `${projects}/aggregate`)
        assert.deepEqual(data, [
          { size: 'large', count: 1, sum: { all_tasks: 3 }, min: { weekday: null }, max: { label_count: 0 } },
          { size: 'small', count: 2, sum: { all_tasks: 2 }, min: { weekday: 1 }, max: { label_count: 1 } },
        ])
        const ofRoot = await read(harness, root, 'sum=all_tasks', `${projects}/aggregate`)
        assert.deepEqual(ofRoot.data, [{ sum: { all_tasks: 6 } }])
      })
    })

    test('are selected for the listed items but not for included ones', async () => {
      await withHarness(kind, async harness => {
        const { data } = await read(harness, ann, 'include=children&fields=id,all_tasks&sort=id')
        assert.equal(data[0].children[0].all_tasks, undefined)
        assert.equal(data[0].all_tasks, 2)
      })
    })
  })
}
