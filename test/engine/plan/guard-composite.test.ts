/** Composite reads: the rules apply to each root as if it were alone, and refused roots are omitted and reported. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymous, type Principal, user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { GuardedComposite } from '../../../src/engine/plan/guarded.ts'
import { orderById, totalOrder } from '../../../src/engine/plan/order.ts'
import type { ItemRoot, ListRoot, Root, Selected } from '../../../src/engine/plan/plan.ts'
import type { Model } from '../../../src/model/model.ts'
import { admin, anyone, nobody, owner, relatedTo, signedIn, smallModel } from './small-model.ts'

const ann = user(1, 'user', 'all')
const root = user(9, 'admin', 'all')
const id: Selected = { kind: 'field', key: 'id', field: 'id' }

const item = (collection: string, select: readonly Selected[] = [id]): ItemRoot => ({
  kind: 'item',
  key: `one of ${collection}`,
  collection,
  id: 0,
  select,
})
const list = (collection: string, more: Partial<ListRoot['list']> = {}): ListRoot => ({
  kind: 'list',
  key: `all ${collection}`,
  collection,
  list: { filter: undefined, sort: orderById, limit: 0, ...more },
  select: [id],
})

function guardComposite(model: Model, roots: readonly Root[], who: Principal = ann): GuardedComposite {
  return createGuard(model)({ shape: { kind: 'composite', roots }, args: [0] }, who).shape
}

const ofOwn = smallModel({ access: { posts: { read: owner('author_id') } } })

test('each root has its read rule, combined with the filter of a list', () => {
  const filter = { kind: 'compare', field: 'rank', operator: 'eq', param: 0 } as const
  const { roots } = guardComposite(ofOwn, [item('posts'), list('posts'), list('posts', { filter })])
  assert.deepEqual(
    roots.map(({ rows }) => (rows.kind === 'and' ? rows.parts.length : rows.kind)),
    ['compare', 'compare', 2],
  )
})

const hidden = smallModel({
  fields: { 'posts.note': { access: { read: owner('author_id'), write: anyone } } },
})
const behind = smallModel({
  access: { posts: { read: relatedTo('author', relatedTo('boss', owner('id'))) } },
})
const note: Selected = { kind: 'field', key: 'note', field: 'note' }

const answers: readonly (readonly [
  name: string,
  model: Model,
  roots: readonly Root[],
  personal: boolean,
  reads: readonly string[],
])[] = [
  ['public rows', smallModel(), [item('posts'), list('tags')], false, ['posts', 'tags']],
  ['an item of the caller', ofOwn, [item('posts')], true, ['posts']],
  ['a list of the caller’s rows', ofOwn, [list('posts')], true, ['posts']],
  [
    'several roots, one with the caller’s rows',
    ofOwn,
    [list('tags'), list('posts')],
    true,
    ['posts', 'tags'],
  ],
  ['a field that is hidden in some rows', hidden, [item('posts', [note])], true, ['posts']],
  [
    'an order by a field that is hidden in some rows',
    hidden,
    [list('posts', { sort: totalOrder([{ field: 'note', descending: true }]) })],
    true,
    ['posts'],
  ],
  ['a rule on related rows', behind, [list('posts')], true, ['posts', 'users']],
]

for (const [name, model, roots, personal, reads] of answers) {
  test(`an answer with ${name} is ${personal ? '' : 'not '}personal`, () => {
    const shape = guardComposite(model, roots)
    assert.deepEqual([shape.personal, shape.reads], [personal, reads])
  })
}

test('a refused root or field is omitted and reported with its path, and the others are answered', () => {
  const model = smallModel({
    access: { tags: { read: nobody }, users: { read: signedIn } },
    fields: { 'posts.note': { access: { read: admin, write: anyone } } },
  })
  const roots = [list('tags'), item('posts', [id, note]), item('users')]
  const describe = (who: Principal) => {
    const shape = guardComposite(model, roots, who)
    return [
      shape.roots.map(root => [root.key, 'select' in root && root.select.map(selection => selection.key)]),
      shape.refusals.map(({ keys, error }) => [keys.join('.'), error.code]),
    ]
  }
  assert.deepEqual(describe(ann), [
    [
      ['one of posts', ['id']],
      ['one of users', ['id']],
    ],
    [
      ['all tags', 'FORBIDDEN'],
      ['one of posts.note', 'FORBIDDEN'],
    ],
  ])
  assert.deepEqual(describe(root)[1], [['all tags', 'FORBIDDEN']])
  assert.deepEqual(describe(anonymous('192.0.2.1'))[1], [
    ['all tags', 'UNAUTHORIZED'],
    ['one of posts.note', 'UNAUTHORIZED'],
    ['one of users', 'UNAUTHORIZED'],
  ])
})

test('each root needs the scope of its collection', () => {
  const { roots, refusals } = guardComposite(
    smallModel(),
    [item('posts'), list('posts'), item('tags'), list('tags')],
    user(1, 'user', new Set(['read:tag'])),
  )
  assert.deepEqual(
    roots.map(({ key }) => key),
    ['one of tags', 'all tags'],
  )
  assert.deepEqual(
    refusals.map(({ error }) => error.scope),
    ['read:post', 'read:post'],
  )
})
