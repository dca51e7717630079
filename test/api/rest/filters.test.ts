/** Disjunctions, negations and foreign spellings in the filters of a list. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { parseSearch } from '../../../src/api/rest/query/filter.ts'
import { user } from '../../../src/base/principal.ts'
import { anyone, collection, integer, model, relation, role, text, url, users } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { openStore, sqlite } from '../contract/rest/databases.ts'
import { type Harness, openHarness } from '../contract/rest/harness.ts'

/** Fields with the names of parameters in other APIs. */
const declared = model({
  users: users(),
  notes: collection({
    fields: {
      title: text({ searchable: true }),
      count: integer({ optional: true }),
      sum: integer({ optional: true }),
      limit: integer({ optional: true }),
      offset: integer({ optional: true }),
      after: text({ optional: true }),
      wait: integer({ optional: true }),
      types: text({ optional: true }),
      total: integer({ optional: true }),
      secret: text({ optional: true, access: { read: role('admin') } }),
      writer_id: relation('users', { optional: true, inverse: 'notes' }),
      parent_id: relation('notes', { optional: true, inverse: 'replies' }),
    },
    access: { read: anyone, create: anyone, update: anyone, delete: anyone },
  }),
})

let harness: Harness

before(async () => {
  harness = await openHarness(checkModel(declared), model => openStore(sqlite, model))
  for (const name of ['Ann', 'Ben']) await harness.seed('users', { name, email: `${name}@example.com` })
  for (let index = 0; index < 24; index++) {
    await harness.seed('notes', {
      title: ['Élan', 'élan', 'Kite', 'a_b', 'axb', '100%', '*?[x]'][index % 7] ?? '',
      count: index % 3 === 0 ? null : index % 5,
      sum: index % 4,
      limit: index % 2,
      offset: 1,
      after: index % 2 === 0 ? 'x' : 'y',
      wait: 2,
      types: 'z',
      total: index,
      secret: index % 2 === 0 ? 's' : 't',
      writer_id: [null, 1, 2][index % 3] ?? null,
      parent_id: index > 3 ? (index % 4) + 1 : null,
    })
  }
})
after(() => harness.close())

const admin = user(1, 'admin', 'all')
const ann = user(1, 'user', 'all')

async function listItems(query: string, principal = ann) {
  const { status, body } = await harness.send(
    { url: `/api/v1/notes?per_page=100&fields=id${query && `&${query}`}` },
    principal,
  )
  const parsed = JSON.parse(String(body))
  return { status, message: String(parsed.error?.message), details: parsed.error?.details, parsed }
}

async function ids(query: string, principal = ann): Promise<number[]> {
  const { status, parsed, message } = await listItems(query, principal)
  assert.equal(status, 200, `${query}: ${message}`)
  return parsed.data.map(({ id }: { id: number }) => id)
}

/** Single conditions, whose results the test combines. */
const conditions = [
  'count=1',
  'count[gte]=2',
  'sum[in]=1,3',
  'title[icontains]=ÉL',
  'title[starts_with]=a_',
  'writer.name=Ann',
  'writer.name[contains]=e',
  'replies.sum=2',
  'count[null]=true',
]

/** `count[gte]=2` within `or[1]` or `not`. */
function within(around: string, condition: string): string {
  const [, field = '', rest = ''] = /^([a-z_.]+)(.*)$/.exec(condition) ?? []
  return `${around}[${field}]${rest}`
}

test('disjunctions and negations find the union and complement of their parts', async () => {
  const all = await ids('')
  const idsByCondition = new Map<string, number[]>()
  for (const condition of conditions) idsByCondition.set(condition, await ids(condition))
  const has = (condition: string, id: number) => idsByCondition.get(condition)?.includes(id) ?? false
  const condition = fc.record({ condition: fc.constantFrom(...conditions), isNegated: fc.boolean() })
  const distinct = {
    selector: (part: { condition: string; isNegated: boolean }) => fieldOf(part.condition) + part.isNegated,
  }
  const query = fc.record({
    plain: fc.uniqueArray(condition, { maxLength: 2, ...distinct }),
    alternatives: fc.array(fc.uniqueArray(condition, { minLength: 1, maxLength: 2, ...distinct }), {
      maxLength: 3,
    }),
  })
  await fc.assert(
    fc.asyncProperty(query, async ({ plain, alternatives }) => {
      const holds = (part: { condition: string; isNegated: boolean }, id: number) =>
        has(part.condition, id) !== part.isNegated
      const parts = [
        ...plain.map(part => (part.isNegated ? within('not', part.condition) : part.condition)),
        ...alternatives.flatMap((group, index) =>
          group.map(part => within(`or[${index + 1}]${part.isNegated ? '[not]' : ''}`, part.condition)),
        ),
      ]
      const expected = all.filter(
        id =>
          plain.every(part => holds(part, id)) &&
          (alternatives.length === 0 || alternatives.some(group => group.every(part => holds(part, id)))),
      )
      assert.deepEqual(await ids(parts.map(encodeURI).join('&')), expected, parts.join('&'))
    }),
    { numRuns: 300 },
  )
})

function fieldOf(condition: string): string {
  return condition.replace(/[[=].*/, '')
}

test('conditions of one alternative on one relation must match the same related item', async () => {
  const titled = await ids('or[1][replies.title]=Kite&or[1][replies.sum]=2')
  assert.deepEqual(titled, await ids('replies.title=Kite&replies.sum=2'))
  const either = await ids('or[1][replies.title]=Kite&or[2][replies.sum]=2')
  assert.ok(either.length > titled.length)
})

test('case-insensitive filters treat every character, wildcards included, as itself', async () => {
  for (const title of ['100%', 'a_b', '*?[x]', 'Kite']) {
    for (const operator of ['icontains', 'starts_with', 'contains']) {
      assert.deepEqual(
        await ids(`title[${operator}]=${encodeURIComponent(title)}`),
        await ids(`title=${encodeURIComponent(title)}`),
        `${operator} ${title}`,
      )
    }
  }
  assert.deepEqual(
    await ids('title[icontains]=ÉLAN'.replace('É', '%C3%89')),
    await ids('title[in]=%C3%89lan,%C3%A9lan'),
  )
  assert.deepEqual(await ids('title[icontains]=elan'), [])
  // U+212A KELVIN SIGN folds to k.
  assert.deepEqual(await ids('title[icontains]=%E2%84%AAite'), await ids('title=Kite'))
  assert.deepEqual(await ids('title[starts_with]=kite'), [])
})

test('unreadable items do not match, negated or not', async () => {
  assert.equal((await ids('secret=s', admin)).length, 12)
  for (const name of [
    'secret',
    'or[1][secret]',
    'not[secret]',
    'not[secret][starts_with]',
    'filter[secret]',
  ]) {
    const unknown = name.replace('secret', 'zzzzzz')
    const [hidden, unknownAnswer] = [await listItems(`${name}=s`), await listItems(`${unknown}=s`)]
    assert.equal(hidden.status, 400, name)
    assert.equal(hidden.message, unknownAnswer.message.replace('zzzzzz', 'secret'), name)
  }
})

test('fields may have the names of parameters in other APIs', async () => {
  const all = await ids('')
  assert.deepEqual(await ids('offset=1&wait=2&types=z'), all)
  assert.equal((await ids('limit=1')).length, 12)
  assert.equal((await ids('after=x')).length, 12)
  assert.equal((await ids('total=3')).length, 1)
  assert.equal((await ids('count=1&sum=1')).length > 0, true)
})

test('spellings of other products get an error with the correct one', async () => {
  const rows: readonly (readonly [query: string, write: string])[] = [
    ['filter[writer_id]=1', 'write `writer_id=…`'],
    ['filter[writer_id][gte]=1', 'write `writer_id[gte]=…`'],
    ['where[title][$contains]=x', 'write `title[contains]=…`'],
    ['filters[writer][name][$eq]=Ann', 'write `writer.name=…`'],
    ['writer_id[$eq]=1', 'write `writer_id=…`'],
    ['title[ilike]=x', 'write `title[icontains]=…`'],
    ['title[startsWith]=x', 'write `title[starts_with]=…`'],
    ['or[1][title][like]=x', 'write `or[1][title][contains]=…`'],
    ['title__icontains=x', 'write `title[icontains]=…`'],
    ['created_at_gte=2026-01-01T00:00:00Z', 'write `created_at[gte]=…`'],
    ['writer__name__startswith=A', 'write `writer.name[starts_with]=…`'],
    ['order=title', 'write `sort='],
    ['orderBy=title', 'write `sort='],
    ['order_by=title', 'write `sort='],
    ['page[size]=10', 'write `per_page=…`'],
    ['page[number]=2', 'write `page=…`'],
    ['take=10', 'write `per_page=…`'],
    ['skip=10', 'write `page=…`'],
    ['starting_after=7', 'write `cursor=…`'],
    ['search=kite', 'write `q=…`'],
    ['expand=writer', 'write `include=…`'],
    ['select=id', 'write `fields=…`'],
    ['or=(sum.eq.1,sum.eq.2)', 'write `or[1][field]=…&or[2][field]=…`'],
    ['or[][sum]=1', 'write `or[1][field]=…&or[2][field]=…`'],
    ['writer_id=null', 'Write `writer_id[null]=true` for items without a value.'],
    ['writer_id[ne]=null', 'Write `writer_id[null]=false` for items with a value.'],
    ['sum=gte.2', 'Write `sum[gte]=…`.'],
    ['sum=1,2', 'Write `sum[in]=…` for one of several values.'],
    ['or[1][sum]=null', 'Write `or[1][sum][null]=true`'],
  ]
  for (const [query, write] of rows) {
    const { status, message, details } = await listItems(encodeURI(query))
    assert.equal(status, 400, query)
    assert.ok(message.includes(write), `${query}: ${message}`)
    assert.equal(details[0].message, message)
  }
  // For a text field, null is an ordinary value.
  assert.deepEqual(await ids('title=null'), [])
})

test('alternatives are limited in number, and in the relations that they follow together with other filters', async () => {
  assert.equal((await listItems('or[20][sum]=1')).status, 200)
  for (const number of ['0', '21', '999999999']) {
    assert.match(
      (await listItems(`or[${number}][sum]=1`)).message,
      /must number its alternative from 1 to 20/,
    )
  }
  for (const query of [
    'or[1][or][sum]=1',
    'not[not][sum]=1',
    'not[or][1][sum]=1',
    'or[x][sum]=1',
    'or[1]=1',
    'not=1',
  ]) {
    assert.match((await listItems(query)).message, /is not known here/, query)
  }
  const many = Array.from({ length: 11 }, (_, index) => `or[${index + 1}][not][writer.name]=Ann`)
  assert.equal((await listItems(many.slice(1).join('&'))).status, 200)
  assert.match((await listItems(many.join('&'))).message, /follow at most 10 relations/)
  assert.match(
    (await listItems('not[parent.parent.parent.parent.sum]=1')).message,
    /follows at most 3 relations/,
  )
})

test('a text that no item can contain is not searched for', () => {
  for (const value of ['a\0', '\ud800'])
    assert.throws(() => parseSearch({ name: 'q', value }), { code: 'BAD_REQUEST' }, JSON.stringify(value))
})

test('an empty value is the empty text where the field can contain it, and is refused elsewhere', async () => {
  const tags = checkModel(
    model({
      users: users(),
      tags: collection({
        fields: {
          title: text({ optional: true }),
          link: url({ optional: true }),
          size: integer({ optional: true }),
          part_of_id: relation('tags', { optional: true, as: 'part_of', inverse: 'parts' }),
        },
        access: { read: anyone, create: anyone, update: anyone, delete: anyone },
      }),
    }),
  )
  const own = await openHarness(tags, model => openStore(sqlite, model))
  const found = async (query: string) => {
    const { body } = await own.send({ url: `/api/v1/tags?fields=id&${query}` }, ann)
    const { data, error } = JSON.parse(String(body))
    return data?.map(({ id }: { readonly id: number }) => id) ?? error.message
  }
  try {
    for (const [title, part_of_id] of [
      ['', null],
      ['t', 1],
      [null, 2],
    ] as const)
      await own.seed('tags', { title, part_of_id })
    for (const [query, expected] of [
      ['title=', [1]],
      ['title', [1]],
      ['title[eq]=', [1]],
      ['title[ne]=', [2]],
      ['not[title]=', [2, 3]],
      ['not[title][ne]=', [1, 3]],
      ['title[gt]=', [2]],
      ['title[lte]=', [1]],
      ['title[in]=,t', [1, 2]],
      ['or[1][title]=&or[2][title][null]=true', [1, 3]],
      ['part_of.title=', [2]],
      ['title[contains]=', [1, 2]],
      ['title[icontains]=', [1, 2]],
      ['title[starts_with]=', [1, 2]],
      ['link=', []],
    ] as const)
      assert.deepEqual(await found(query), expected, query)
    for (const name of ['size', 'size[gt]', 'created_at', 'part_of_id', 'title[in]', 'title[null]', 'q'])
      assert.match(await found(`${name}=`), /is empty|"q" is not known/, name)
  } finally {
    await own.close()
  }
})
