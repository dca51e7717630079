/** Hidden fields, relations and rows do not leak through reads or writes. On SQLite in memory. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Principal, user } from '../../../../src/base/principal.ts'
import { orderById, totalOrder } from '../../../../src/engine/plan/order.ts'
import type { Filter, ListShape, Selected } from '../../../../src/engine/plan/plan.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import {
  anyone,
  collection,
  field,
  manyToMany,
  model,
  owner,
  relation,
  string,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { Client, fields, type Values } from '../blog.ts'
import { failure } from '../contract.ts'

const own = owner('user_id')
const writing = { create: anyone, update: anyone, delete: anyone }

const notes = checkModel(
  model({
    /** Open rows are public; only the owner can read `secret`, `grade` and `next_id`. */
    notes: collection({
      fields: {
        name: string(),
        state: string({ default: 'open' }),
        secret: string({ optional: true, access: { read: own } }),
        grade: string({ access: { read: own } }),
        user_id: relation('users'),
        next_id: relation('notes', { optional: true, inverse: 'before', access: { read: own } }),
      },
      relations: {
        labels: manyToMany('labels', { through: 'note_labels', from: 'note_id', to: 'label_id' }),
      },
      access: { read: own.or(field('state').eq('open')), ...writing },
    }),
    labels: collection({ fields: { name: string() }, access: { read: anyone, ...writing } }),
    note_labels: collection({
      fields: {
        note_id: relation('notes'),
        label_id: relation('labels'),
        user_id: relation('users'),
      },
      access: { read: own, ...writing },
    }),
  }),
)

interface Notes {
  readonly client: Client
  readonly ann: Principal
  readonly ben: Principal
  /** By their names. */
  readonly ids: Readonly<Record<string, number>>
}

async function withNotes(use: (notes: Notes) => Promise<void>): Promise<void> {
  const store = openSqlite(notes, { file: ':memory:' })
  try {
    const client = new Client(store, notes)
    const users: number[] = []
    for (const name of ['ann', 'ben']) {
      users.push((await client.create('users', { name, email: `${name}@example.com` })).id)
    }
    const [annId = 0, benId = 0] = users
    const ids: Record<string, number> = {}
    const add = async (name: string, values: Values) => {
      ids[name] = (await client.create('notes', { name, grade: values.secret ?? 'd', ...values })).id
    }
    await add('ann closed', { user_id: annId, secret: 'c', state: 'closed' })
    await add('ann open', { user_id: annId, secret: 'b', next_id: ids['ann closed'] ?? 0 })
    await add('ben open', { user_id: benId, secret: 'a', next_id: ids['ann open'] ?? 0 })
    await add('ben plain', { user_id: benId, next_id: ids['ann closed'] ?? 0 })
    const { id: label_id } = await client.create('labels', { name: 'red' })
    await client.create('note_labels', { note_id: ids['ann open'] ?? 0, label_id, user_id: annId })
    await use({ client, ann: user(annId, 'user', 'all'), ben: user(benId, 'user', 'all'), ids })
  } finally {
    await store.close()
  }
}

const list = (more: Partial<ListShape> = {}): ListShape => ({
  kind: 'list',
  collection: 'notes',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: orderById,
  window: { kind: 'page', offset: 0, limit: 1, total: 'exact' },
  select: fields('name'),
  ...more,
})
const compare = (field: string, operator: 'eq' | 'ne' | 'null', param = 2): Filter => ({
  kind: 'compare',
  field,
  operator,
  param,
})
const not = (filter: Filter): Filter => ({ kind: 'not', part: filter })

async function names(
  client: Client,
  as: Principal,
  shape: ListShape,
  ...args: JsonValue[]
): Promise<unknown> {
  const { items, total } = await client.list(shape, [0, 10, ...args], as)
  assert.equal(total, items?.length, 'the total counts only the visible rows')
  return items?.map(({ name }) => name)
}

test('a list omits hidden rows and returns null for hidden fields', () =>
  withNotes(async ({ client, ann, ben, ids }) => {
    const select = fields('name', 'secret', 'next_id')
    const { items } = await client.list(list({ select }), [0, 10], ben)
    assert.deepEqual(items, [
      { name: 'ann open', secret: null, next_id: null },
      { name: 'ben open', secret: 'a', next_id: ids['ann open'] },
      { name: 'ben plain', secret: null, next_id: ids['ann closed'] },
    ])
    assert.equal(await client.item('notes', ids['ann closed'] ?? 0, ben), null)
    assert.ok(await client.item('notes', ids['ann closed'] ?? 0, ann))
  }))

test('a filter treats a hidden field as null, under a negation too', () =>
  withNotes(async ({ client, ben }) => {
    const namesFor = (filter: Filter, value: JsonValue) => names(client, ben, list({ filter }), value)
    assert.deepEqual(await namesFor(compare('secret', 'eq'), 'b'), [])
    assert.deepEqual(await namesFor(compare('secret', 'eq'), 'a'), ['ben open'])
    assert.deepEqual(await namesFor(compare('secret', 'ne'), 'x'), ['ben open'])
    assert.deepEqual(await namesFor(not(compare('secret', 'eq')), 'b'), ['ann open', 'ben open', 'ben plain'])
    assert.deepEqual(await namesFor(not(compare('secret', 'ne')), 'x'), ['ann open', 'ben plain'])
    assert.deepEqual(await namesFor(compare('secret', 'null'), true), ['ann open', 'ben plain'])
    assert.deepEqual(await namesFor(compare('secret', 'null'), false), ['ben open'])
  }))

const orders: readonly (readonly [by: string, ofBen: readonly string[], ofAnn: readonly string[]])[] = [
  ['secret up', ['ann open', 'ben plain', 'ben open'], ['ben open', 'ben plain', 'ann open', 'ann closed']],
  ['secret down', ['ben open', 'ann open', 'ben plain'], ['ann closed', 'ann open', 'ben open', 'ben plain']],
  ['grade up', ['ann open', 'ben open', 'ben plain'], ['ben open', 'ben plain', 'ann open', 'ann closed']],
  ['grade down', ['ben plain', 'ben open', 'ann open'], ['ann closed', 'ann open', 'ben open', 'ben plain']],
]

for (const [sortKey, ofBen, ofAnn] of orders) {
  test(`a hidden sort key sorts as the smallest value on every page: ${sortKey}`, () =>
    withNotes(async ({ client, ann, ben }) => {
      const [key = '', direction] = sortKey.split(' ')
      const sort = totalOrder([
        { field: key, descending: direction === 'down' },
        { field: 'name', descending: false },
      ])
      const pages = async (as: Principal) => {
        const all: unknown[] = []
        let next: readonly JsonValue[] | null | undefined
        do {
          const after = next?.map((_, index) => index + 1)
          const window = { kind: 'cursor', after, limit: 0 } as const
          const page = await client.list(list({ sort, window }), [1, ...(next ?? [])], as)
          all.push(...(page.items ?? []).map(({ name }) => name))
          next = page.next
          assert.ok(all.length < 10)
        } while (next)
        return all
      }
      assert.deepEqual(await pages(ben), ofBen)
      assert.deepEqual(await pages(ann), ofAnn)
    }))
}

const to = (relation: string, many: boolean): Selected => ({
  kind: 'relation',
  key: relation,
  relation,
  select: fields('name'),
  list: many ? { filter: undefined, sort: orderById, limit: 1 } : undefined,
})

test('a hidden relation cannot be followed from either end, and no relation leads to a hidden row', () =>
  withNotes(async ({ client, ann, ben }) => {
    const select = [...fields('name'), to('next', false), to('before', true)]
    const followRelations = async (as: Principal) => (await client.list(list({ select }), [0, 10], as)).items
    assert.deepEqual(await followRelations(ben), [
      { name: 'ann open', next: null, before: [{ name: 'ben open' }] },
      { name: 'ben open', next: { name: 'ann open' }, before: [] },
      { name: 'ben plain', next: null, before: [] },
    ])
    assert.deepEqual(await followRelations(ann), [
      { name: 'ann closed', next: null, before: [{ name: 'ann open' }] },
      { name: 'ann open', next: { name: 'ann closed' }, before: [] },
      { name: 'ben open', next: null, before: [] },
      { name: 'ben plain', next: null, before: [] },
    ])
    const expected: Filter = { kind: 'related', relation: 'next', filter: compare('name', 'eq') }
    assert.deepEqual(await names(client, ben, list({ filter: expected }), 'ann closed'), [])
    assert.deepEqual(await names(client, ann, list({ filter: expected }), 'ann open'), [])
  }))

test('a hidden row of a join collection does not connect items', () =>
  withNotes(async ({ client, ann, ben, ids }) => {
    const select = [...fields('name'), to('labels', true)]
    const shape = list({ select, filter: compare('id', 'eq') })
    const labels = async (as: Principal) =>
      (await client.list(shape, [0, 10, ids['ann open'] ?? 0], as)).items?.[0]?.labels
    assert.deepEqual([await labels(ann), await labels(ben)], [[{ name: 'red' }], []])
    const red: Filter = { kind: 'related', relation: 'labels', filter: compare('name', 'eq') }
    assert.deepEqual(await names(client, ann, list({ filter: red }), 'red'), ['ann open'])
    assert.deepEqual(await names(client, ben, list({ filter: red }), 'red'), [])
  }))

test('a write cannot reference a row hidden from its caller, and does not return one', () =>
  withNotes(async ({ client, ann, ben, ids }) => {
    const values = { name: 'new', grade: 'd', user_id: ben.userId ?? 0 }
    await assert.rejects(
      client.create('notes', { ...values, next_id: ids['ann closed'] ?? 0 }, ben),
      failure('VALIDATION_FAILED', 'next_id', 'not_found'),
    )
    assert.ok((await client.create('notes', { ...values, next_id: ids['ann open'] ?? 0 }, ben)).text)
    const hidden = await client.create('notes', { ...values, user_id: ann.userId ?? 0, state: 'closed' }, ben)
    assert.equal(hidden.text, null)
    await assert.rejects(client.update('notes', hidden.id, { name: 'x' }, ben), failure('NOT_FOUND'))
  }))

test('setting a hidden field counts as a change even if the value stays the same', () =>
  withNotes(async ({ client, ann, ben, ids }) => {
    const changes = async (as: Principal, name: string, secret: string) => {
      const before = Number(await client.store.changes.last())
      await client.update('notes', ids[name] ?? 0, { secret }, as)
      return Number(await client.store.changes.last()) - before
    }
    assert.deepEqual(
      [
        await changes(ann, 'ann open', 'b'),
        await changes(ben, 'ann open', 'b'),
        await changes(ben, 'ann open', 'z'),
      ],
      [0, 1, 1],
    )
  }))
