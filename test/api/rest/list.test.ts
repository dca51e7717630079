/** Error messages for invalid queries: the fault, its place, and the correct form. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { user } from '../../../src/base/principal.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import rich from '../../models/rich.ts'
import { openStore, sqlite } from '../contract/rest/databases.ts'
import { type Harness, openHarness } from '../contract/rest/harness.ts'

let harness: Harness

before(async () => {
  harness = await openHarness(checkModel(rich), model => openStore(sqlite, model))
  await harness.seed('users', { name: 'Root', email: 'root@example.com', role: 'admin' })
})
after(() => harness.close())

const admin = user(1, 'admin', 'all')
const ann = user(1, 'user', 'all')

async function messageOf(url: string, principal = admin): Promise<string> {
  const { status, body } = await harness.send({ url: `/api/v1/${url}` }, principal)
  assert.equal(status, 400, url)
  const { message, details } = JSON.parse(String(body)).error
  assert.equal(details[0].message, message)
  return message
}

test('an unknown name gets a suggestion when it is close to a known one', async () => {
  const rows: readonly (readonly [url: string, message: string])[] = [
    [
      'tasks?sort=createdAt',
      '"sort" names "createdAt", which is not a field of tasks. Did you mean `created_at`?',
    ],
    ['tasks?sort=-Title', '"sort" names "Title", which is not a field of tasks. Did you mean `title`?'],
    ['tasks?fields=id,titel', '"fields" names "titel", which is not a field of tasks. Did you mean `title`?'],
    ['tasks/1?fields=dueOn', '"fields" names "dueOn", which is not a field of tasks. Did you mean `due_on`?'],
    [
      'tasks?include=asignee',
      '"include" names "asignee", which is not a relation of tasks. Did you mean `assignee`?',
    ],
    [
      'tasks?include=parent.label',
      '"include" names "label", which is not a relation of tasks. Did you mean `labels`?',
    ],
    ['tasks?perPage=3', '"perPage" is not known here. Did you mean `per_page`?'],
    ['tasks?Page=3', '"Page" is not known here. Did you mean `page`?'],
    ['tasks?titel[contains]=x', '"titel[contains]" is not known here. Did you mean `title`?'],
    ['tasks/1?field=id', '"field" is not known here. Did you mean `fields`?'],
    ['tasks?xyzzy=1', '"xyzzy" is not known here.'],
    ['tasks?asignee.name=x', '"asignee.name" is not known here. Did you mean `assignee.name`?'],
    [
      'tasks?project.ownr.name[ne]=x',
      '"project.ownr.name[ne]" is not known here. Did you mean `project.owner.name`?',
    ],
    ['tasks?project.nam=x', '"project.nam" is not known here. Did you mean `project.name`?'],
    [
      'tasks?project.name[link]=x',
      '"project.name[link]" is not known here; project.name takes project.name[eq], project.name[ne], project.name[gt], project.name[gte], project.name[lt], project.name[lte], project.name[in], project.name[null], project.name[contains], project.name[icontains], project.name[starts_with].',
    ],
    ['openapi.json?page=1', '"page" is not known here.'],
  ]
  for (const [url, message] of rows) assert.equal(await messageOf(url), `The parameter ${message}`, url)
})

test('suggestions never name what is hidden from the caller', async () => {
  assert.match(await messageOf('projects?budgte=1'), /Did you mean `budget`\?/)
  const along = ['tasks?project.budgte=1', 'users?projects.budgte=1']
  for (const url of ['projects?budgte=1', 'projects?sort=budgte', 'projects?fields=budgte', ...along])
    assert.doesNotMatch(await messageOf(url, ann), /budget/)
  for (const url of ['contacts?passphrases=x', 'contacts?sort=pass_phrase', 'tasks?tickets=1'])
    assert.doesNotMatch(await messageOf(url), /Did you mean `(passphrase|ticket)`/)
})

test('a value of the wrong type gets an error that names the type', async () => {
  const rows: readonly (readonly [query: string, message: string])[] = [
    ['priority=high', '"priority" must be a whole number, not "high".'],
    [
      'estimate=1,5',
      '"estimate" must be a number, not "1,5". Write `estimate[in]=…` for one of several values.',
    ],
    ['done=1', '"done" must be true or false, not "1".'],
    ['due_on=tomorrow', '"due_on" must be a date that exists, as YYYY-MM-DD, not "tomorrow".'],
    [
      'seen_at[gte]=2026-01-01',
      '"seen_at[gte]" must be a date and time with its zone, e.g. 2026-01-31T12:00:00Z, not "2026-01-01".',
    ],
    ['state[in]=open,lost', '"state[in]" must be one of open, doing, done, not "lost".'],
    ['title=%00', '"title" must be text without U+0000, not "\\u0000".'],
  ]
  for (const [query, message] of rows)
    assert.equal(await messageOf(`tasks?${query}`), `The parameter ${message}`, query)
})

test('a parameter never matches a cached query by accident', async () => {
  for (const query of ['sort=priority', 'title=x&sort=priority', 'title=x&done=true'])
    assert.equal((await harness.send({ url: `/api/v1/tasks?${query}` }, admin)).status, 200, query)
  for (const query of ['sort%3Dpriority=1', 'title%0Asort%3Dpriority=x', 'title%0Adone=x'])
    assert.match(await messageOf(`tasks?${query}`), /is not known here/, query)
})

test('the filters of a request follow a limited number of relations', async () => {
  const deep = ['', 'owner.', 'owner.manager.'].flatMap(path =>
    ['tasks', 'projects', 'memberships', 'reports', 'contacts'].map(many => `${path}${many}`),
  )
  const queryOf = (count: number) =>
    ['memberships.id=1', ...deep.slice(5, 5 + count).map(path => `${path}.id=1`)].join('&')
  // `owner` is one relation, `memberships` another.
  assert.equal((await harness.send({ url: `/api/v1/projects?${queryOf(5)}` }, admin)).status, 200)
  assert.match(
    await messageOf(`projects?${queryOf(9)}`),
    /"owner\.manager\.memberships\.id" is one too many: the filters of a request follow at most 10 relations/,
  )
})

/** Each finds some of the tasks below. The second member: whether a task has at most one such related item. */
const related: readonly (readonly [query: string, toOne: boolean])[] = [
  ['project.name=P1', true],
  ['project.name[in]=P1,P2', true],
  ['project.visibility[ne]=open', true],
  ['project.owner.name[contains]=o', true],
  ['parent.priority[gt]=1', true],
  ['parent.parent.title[contains]=T', true],
  ['assignee.role=admin', true],
  ['assignee.bio[null]=true', true],
  ['priority[lte]=3', true],
  ['labels.name=l1', false],
  ['labels.shade[null]=true', false],
  ['children.priority=2', false],
  ['children.title[contains]=1', false],
]

test('combined filters along relations find the same items with every kind of total, order and page', async () => {
  for (const index of [1, 2, 3]) {
    const visibility = index === 2 ? 'open' : 'members'
    await harness.seed('projects', { name: `P${index}`, slug: `p${index}`, owner_id: 1, visibility })
    await harness.seed('labels', { name: `l${index}` })
  }
  for (let index = 1; index <= 24; index++) {
    const parent_id = index > 4 && index % 2 === 0 ? index - 4 : null
    const values = { title: `T${index}`, project_id: (index % 3) + 1, priority: (index % 5) + 1, parent_id }
    await harness.seed('tasks', { ...values, assignee_id: index % 4 === 0 ? 1 : null })
    if (index % 2 === 0) await harness.seed('task_labels', { task_id: index, label_id: (index % 3) + 1 })
  }
  const ask = async (query: string) => {
    const { status, body } = await harness.send(
      { url: `/api/v1/tasks?per_page=100&fields=id&${query}` },
      admin,
    )
    assert.equal(status, 200, `${query}: ${body}`)
    const { data, meta } = JSON.parse(String(body))
    return { ids: data.map(({ id }: { id: number }) => id) as number[], meta }
  }
  const idsByQuery = new Map<string, number[]>()
  for (const [query] of related) {
    const { ids, meta } = await ask(query)
    assert.ok(ids.length > 0, query)
    assert.equal(meta.total, ids.length, query)
    idsByQuery.set(query, ids)
    for (const more of ['total=estimate', 'total=none', 'sort=-created_at', 'cursor=']) {
      const other = await ask(`${query}&${more}`)
      assert.deepEqual(
        other.ids.toSorted((a, b) => a - b),
        ids,
        `${query}&${more}`,
      )
      assert.equal(other.meta.total_is_estimate, undefined)
    }
  }
  for (const [first, oneToOne] of related) {
    for (const [other, otherToOne] of related) {
      if (first.split('=')[0] === other.split('=')[0]) continue
      const { ids } = await ask(`${first}&${other}`)
      const both = idsByQuery.get(first)?.filter(id => idsByQuery.get(other)?.includes(id)) ?? []
      if (oneToOne && otherToOne) assert.deepEqual(ids, both, `${first}&${other}`)
      else
        assert.ok(
          ids.every(id => both.includes(id)),
          `${first}&${other}`,
        )
    }
  }
})

test('fields=* selects all fields that are not computed', async () => {
  const keysOf = async (url: string) => {
    const { status, body } = await harness.send({ url: `/api/v1/${url}` }, admin)
    assert.equal(status, 200, `${url}: ${body}`)
    const parsed = JSON.parse(String(body))
    return Object.keys(parsed.data?.[0] ?? parsed)
  }
  const all = await keysOf('users/1')
  for (const url of ['users/1?fields=*', 'users?fields=*', 'users?fields=*,id', 'users'])
    assert.deepEqual(await keysOf(url), all, url)
  assert.match(await messageOf('users?fields=*,*'), /lists "\*" twice/)
  assert.match(await messageOf('users?sort=*'), /names "\*", which is not a field/)
})

test('a Link header omits links that are too long, each as a whole', async () => {
  const linksOf = async (length: number, page: string) => {
    const url = `/api/v1/tasks?title=${'x'.repeat(length)}&${page}`
    const { status, headers } = await harness.send({ url }, admin)
    assert.equal(status, 200)
    const index = headers.indexOf('Link')
    return index === -1 ? undefined : headers[index + 1]?.match(/rel="[a-z]+"/g)
  }
  for (const page of ['page=2', 'cursor=']) {
    assert.ok(await linksOf(100, page))
    assert.equal(await linksOf(7000, page), undefined)
  }
  assert.deepEqual(await linksOf(100, 'page=2'), ['rel="prev"', 'rel="first"', 'rel="last"'])
  assert.deepEqual(await linksOf(4000, 'page=2'), ['rel="prev"'])
})
