import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../src/base/errors.ts'
import { anonymous, type Principal, system, user } from '../../../src/base/principal.ts'
import { admit, createGuard, namesFor, reachOf, staticRule } from '../../../src/engine/plan/guard/guard.ts'
import type { GuardedCreate, GuardedList, GuardedUpdate } from '../../../src/engine/plan/guarded.ts'
import { orderById, type Sort, totalOrder } from '../../../src/engine/plan/order.ts'
import type {
  CreateShape,
  Filter,
  ItemShape,
  ListShape,
  Selected,
  UpdateShape,
} from '../../../src/engine/plan/plan.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { CollectionAccess, Model } from '../../../src/model/model.ts'
import type { Comparison, Rule, Scalar } from '../../../src/model/rule/rule.ts'
import {
  admin,
  anyone,
  both,
  either,
  equals,
  nobody,
  opposite,
  owner,
  relatedTo,
  signedIn,
  smallModel,
} from './small-model.ts'

const visitor = anonymous('192.0.2.1')
const ann = user(1, 'user', 'all')
const root = user(9, 'admin', 'all')
const scoped = (...scopes: string[]) => user(1, 'user', new Set(scopes))

const id: Selected = { kind: 'field', key: 'id', field: 'id' }
const nested = (relation: string, many = true): Selected => ({
  kind: 'relation',
  key: relation,
  relation,
  select: [id],
  list: many ? { filter: undefined, sort: orderById, limit: 0 } : undefined,
})

function listOf(collection: string, more: Partial<ListShape> = {}): ListShape {
  return {
    kind: 'list',
    collection,
    within: undefined,
    filter: undefined,
    search: undefined,
    sort: orderById,
    window: { kind: 'page', offset: 0, limit: 0, total: 'none' },
    select: [id],
    ...more,
  }
}

function guardList(model: Model, who: Principal, shape: ListShape): GuardedList {
  return createGuard(model)({ shape, args: [0] }, who).shape
}

function refusal(run: () => unknown): ApiError {
  try {
    run()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  return assert.fail('not refused')
}

const read = (collection: string, rule: CollectionAccess['read']) =>
  smallModel({ access: { [collection]: { read: rule } } })

describe('scopes', () => {
  const everywhere: readonly [string, ListShape, string][] = [
    ['the collection', listOf('posts'), 'read:post'],
    ['a to-one relation', listOf('posts', { select: [nested('author', false)] }), 'read:user'],
    ['a to-many relation', listOf('users', { select: [nested('posts')] }), 'read:post'],
    ['the far end of a join', listOf('posts', { select: [nested('tags')] }), 'read:tag'],
    ['a join collection', listOf('posts', { select: [nested('tags')] }), 'read:post_tag'],
    ['a filter on a relation', listOf('posts', { filter: related('author', has('name')) }), 'read:user'],
    ['a parent', listOf('posts', { within: { collection: 'users', relation: 'posts', id: 0 } }), 'read:user'],
  ]
  const all = ['user', 'post', 'tag', 'post_tag'].map(type => `read:${type}`)
  for (const [where, shape, scope] of everywhere) {
    test(`reading ${where} needs ${scope} or the write scope of the same type, and no other scope suffices`, () => {
      const without = scoped(...all.filter(other => other !== scope))
      const error = refusal(() => guardList(smallModel(), without, shape))
      assert.equal(error.code, 'INSUFFICIENT_SCOPE')
      assert.equal(error.scope, scope)
      assert.match(error.message, new RegExp(`${scope}\\.`))
      assert.ok(guardList(smallModel(), scoped(...all), shape))
      const writing = [...all.filter(other => other !== scope), scope.replace('read', 'write')]
      assert.ok(guardList(smallModel(), scoped(...writing), shape))
    })
  }

  test('a write needs the write scope; the read scope does not suffice', () => {
    const shape: CreateShape = { kind: 'create', collection: 'tags', set: [], computed: [], select: [id] }
    const guard = createGuard(smallModel())
    assert.equal(refusal(() => guard({ shape, args: [] }, scoped('read:tag'))).scope, 'write:tag')
    assert.ok(guard({ shape, args: [] }, scoped('write:tag')))
  })

  test('a rule that requires a scope is not satisfied without a credential', () => {
    const model = read('tags', { kind: 'scope', scope: 'audit' })
    assert.equal(refusal(() => guardList(model, visitor, listOf('tags'))).code, 'UNAUTHORIZED')
    assert.equal(refusal(() => guardList(model, scoped('read:tag'), listOf('tags'))).code, 'FORBIDDEN')
    assert.equal(guardList(model, scoped('read:tag', 'audit'), listOf('tags')).rows.kind, 'always')
    assert.equal(guardList(model, ann, listOf('tags')).rows.kind, 'always')
  })
})

function has(field: string): Filter {
  return { kind: 'compare', field, operator: 'eq', param: 0 }
}

function related(relation: string, filter: Filter): Filter {
  return { kind: 'related', relation, filter }
}

describe('collection rules', () => {
  test('a rule that can hold for no row is UNAUTHORIZED without a credential and FORBIDDEN with one', () => {
    for (const rule of [nobody, admin, both(admin, owner('id')), opposite(anyone)]) {
      const model = read('users', rule)
      assert.equal(refusal(() => guardList(model, visitor, listOf('users'))).code, 'UNAUTHORIZED')
      assert.equal(refusal(() => guardList(model, ann, listOf('users'))).code, 'FORBIDDEN')
    }
    assert.equal(
      refusal(() => guardList(read('users', owner('id')), visitor, listOf('users'))).code,
      'UNAUTHORIZED',
    )
  })

  test('the same applies to a selected relation', () => {
    const model = read('users', signedIn)
    const shape = listOf('posts', { select: [nested('author', false)] })
    assert.equal(refusal(() => guardList(model, visitor, shape)).code, 'UNAUTHORIZED')
    assert.equal(guardList(model, ann, shape).select.length, 1)
  })

  test('the known role of the caller is folded into the condition', () => {
    const model = read('posts', either(owner('author_id'), admin))
    assert.deepEqual(guardList(model, root, listOf('posts')).rows, { kind: 'always' })
    assert.deepEqual(guardList(model, system, listOf('posts')).rows, { kind: 'always' })
    const { rows } = guardList(model, ann, listOf('posts'))
    assert.equal(rows.kind, 'compare')
    assert.deepEqual(rows.kind === 'compare' && rows.operand, { kind: 'userId' })
  })

  test('a filter on a relation matches only target rows that the caller may read', () => {
    const model = read('users', equals('level', 1))
    const { rows } = guardList(model, ann, listOf('posts', { filter: related('author', has('name')) }))
    assert.ok(rows.kind === 'related' && rows.rows.kind === 'and')
    assert.equal(rows.rows.parts.length, 2)
  })

  test('callers of the same access class share a guarded shape', () => {
    const guard = createGuard(read('posts', owner('author_id')))
    const shape = listOf('posts')
    const first = guard({ shape, args: [1] }, ann)
    const other = guard({ shape, args: [2] }, user(2, 'user', 'all'))
    assert.equal(first.shape, other.shape)
    assert.notEqual(first.shape, guard({ shape, args: [1] }, root).shape)
    assert.deepEqual([other.args, other.principal.userId], [[2], 2])
  })
})

describe('hidden fields', () => {
  const model = smallModel({ fields: { 'posts.note': { access: { read: admin, write: anyone } } } })
  const ways: readonly [string, (field: string) => Partial<ListShape>][] = [
    ['select', field => ({ select: [{ kind: 'field', key: field, field }] })],
    ['filter', field => ({ filter: has(field) })],
    ['sort', field => ({ sort: totalOrder([{ field, descending: true }]) })],
  ]
  for (const [way, use] of ways) {
    test(`a hidden field in ${way} causes the same error as an unknown field`, () => {
      const unknown = refusal(() => guardList(model, ann, listOf('posts', use('other'))))
      for (const hidden of ['note', 'pin']) {
        const error = refusal(() => guardList(model, ann, listOf('posts', use(hidden))))
        assert.equal(error.code, 'BAD_REQUEST')
        assert.equal(error.message.replace(hidden, 'other'), unknown.message)
      }
      assert.ok(guardList(model, root, listOf('posts', use('note'))))
      assert.ok(guardList(model, system, listOf('posts', use('pin'))))
    })
  }

  test('an operator that its type lacks does not reveal a hidden field', () => {
    const filter: Filter = { kind: 'compare', field: 'pin', operator: 'gt', param: 0 }
    const error = refusal(() => guardList(model, ann, listOf('posts', { filter })))
    assert.equal(error.message, 'The request names "pin", which is not a field of posts.')
  })

  test('a default selection contains the fields that the access class may read', () => {
    const posts = model.collections.get('posts')
    assert.ok(posts)
    const names = (who: Principal) => [...namesFor(model, posts, who.access).fields.keys()]
    assert.deepEqual(names(ann), ['id', 'title', 'rank', 'public', 'extra', 'author_id', 'created_at'])
    assert.deepEqual(names(root), [
      'id',
      'title',
      'note',
      'rank',
      'public',
      'extra',
      'author_id',
      'created_at',
    ])
    assert.ok(names(system).includes('pin'))
  })

  test('a relation with a hidden field is unknown from either end', () => {
    const secret = smallModel({ fields: { 'posts.author_id': { access: { read: admin, write: anyone } } } })
    for (const [collection, relation, many] of [
      ['posts', 'author', false],
      ['users', 'posts', true],
    ] as const) {
      const ask = (who: Principal, name: string) =>
        guardList(secret, who, listOf(collection, { select: [nested(name, many)] }))
      const error = refusal(() => ask(ann, relation))
      const bare = ({ message }: Error) => message.replace(/ Did you mean .*/, '')
      assert.equal(bare(error).replace(relation, 'other'), bare(refusal(() => ask(ann, 'other'))))
      assert.ok(ask(root, relation))
      const target = secret.collections.get(collection)
      assert.ok(target && !namesFor(secret, target, ann.access).relations.has(relation))
    }
  })

  test('a many-to-many relation is unknown if either of its fields is hidden', () => {
    for (const field of ['post_tags.post_id', 'post_tags.tag_id']) {
      const secret = smallModel({ fields: { [field]: { access: { read: admin, write: anyone } } } })
      const collection = secret.collections.get('posts')
      assert.ok(collection && !namesFor(secret, collection, ann.access).relations.has('tags'), field)
      assert.ok(namesFor(secret, collection, root.access).relations.has('tags'), field)
    }
  })

  test('an error message escapes and shortens an unknown name', () => {
    const error = refusal(() =>
      guardList(model, ann, listOf('posts', { filter: has(`"\n${'x'.repeat(9999)}`) })),
    )
    assert.ok(error.message.length < 120 && !error.message.includes('\n'))
  })
})

describe('fields that are hidden in some rows', () => {
  const model = smallModel({
    fields: {
      'posts.note': { access: { read: owner('author_id'), write: anyone } },
      'posts.author_id': { access: { read: equals('public', true), write: anyone } },
    },
  })

  test('the read condition of a field applies to its output, filter and sort', () => {
    const shape = listOf('posts', {
      filter: has('note'),
      sort: totalOrder([{ field: 'note', descending: false }]),
      select: [{ kind: 'field', key: 'note', field: 'note' }],
    })
    const { rows, sort, select, personal } = guardList(model, ann, shape)
    const places = [
      rows.kind === 'compare' && rows.field,
      sort[0]?.field,
      select[0]?.kind === 'field' && select[0].field,
    ]
    for (const place of places) assert.ok(place && place.when.kind === 'compare')
    assert.equal(personal, true)
    assert.equal(guardList(model, visitor, listOf('posts')).personal, false)
  })

  test('the read condition of a relation field applies in both directions', () => {
    const { select } = guardList(model, ann, listOf('posts', { select: [nested('author', false)] }))
    assert.ok(select[0]?.kind === 'relation' && select[0].when.kind === 'compare')
    const within = { collection: 'users', relation: 'posts', id: 0 }
    assert.equal(guardList(model, ann, listOf('posts', { within })).rows.kind, 'compare')
  })

  test('the read condition is omitted if the rule of the rows implies it', () => {
    const own = smallModel({
      access: { posts: { read: both(owner('author_id'), equals('public', true)) } },
      fields: { 'posts.note': { access: { read: either(owner('author_id'), admin), write: anyone } } },
    })
    const { sort } = guardList(
      own,
      ann,
      listOf('posts', { sort: totalOrder([{ field: 'note', descending: false }]) }),
    )
    assert.equal(sort[0]?.field.when.kind, 'always')
  })
})

describe('sort, filter, search, reads', () => {
  test('every order ends with id, and keys after id are dropped', () => {
    const names = (sort: readonly Sort[]) =>
      guardList(smallModel(), ann, listOf('posts', { sort: totalOrder(sort) })).sort.map(
        key => key.field.field.name,
      )
    assert.deepEqual(names([]), ['id'])
    assert.deepEqual(names([{ field: 'title', descending: true }]), ['title', 'id'])
    assert.deepEqual(
      names([
        { field: 'id', descending: true },
        { field: 'title', descending: true },
      ]),
      ['id'],
    )
  })

  test('JSON can be neither sorted nor compared', () => {
    const sorted = refusal(() =>
      guardList(
        smallModel(),
        ann,
        listOf('posts', { sort: totalOrder([{ field: 'extra', descending: false }]) }),
      ),
    )
    assert.match(sorted.message, /"extra", which has no order/)
    const filtered = refusal(() => guardList(smallModel(), ann, listOf('posts', { filter: has('extra') })))
    assert.match(filtered.message, /"extra".*filtered with null/)
  })

  test('search covers the searchable fields that the caller may read in every row, and is unknown without any', () => {
    const fields = {
      'posts.title': { searchable: true },
      'posts.note': { searchable: true, access: { read: admin, write: anyone } },
    }
    const searchFieldsOf = (who: Principal, model: Model) => {
      const { rows } = guardList(model, who, listOf('posts', { search: 0 }))
      return rows.kind === 'search' ? rows.fields.map(field => field.name) : []
    }
    assert.deepEqual(searchFieldsOf(ann, smallModel({ fields })), ['title'])
    assert.deepEqual(searchFieldsOf(root, smallModel({ fields })), ['title', 'note'])
    const inSomeRows = {
      ...fields,
      'posts.note': { searchable: true, access: { read: owner('author_id'), write: anyone } },
    }
    assert.deepEqual(searchFieldsOf(ann, smallModel({ fields: inSomeRows })), ['title'])
    const onlyNote = smallModel({ fields: { 'posts.note': fields['posts.note'] } })
    const none = refusal(() => searchFieldsOf(ann, smallModel()))
    assert.equal(refusal(() => searchFieldsOf(ann, onlyNote)).message, none.message)
    assert.equal(none.code, 'BAD_REQUEST')
  })

  test('an answer depends on the collections that its rules and relations use, and on no other', () => {
    const model = smallModel({
      access: {
        posts: { read: relatedTo('author', relatedTo('boss', equals('level', 1))) },
        tags: { read: relatedTo('posts', owner('author_id')) },
      },
    })
    assert.deepEqual(guardList(smallModel(), ann, listOf('posts')).reads, ['posts'])
    assert.deepEqual(guardList(model, ann, listOf('posts')).reads, ['posts', 'users'])
    assert.deepEqual(guardList(model, ann, listOf('tags')).reads, ['post_tags', 'posts', 'tags'])
    assert.deepEqual(guardList(model, system, listOf('tags')).reads, ['tags'])
    const within = { collection: 'users', relation: 'posts', id: 0 }
    assert.deepEqual(guardList(smallModel(), ann, listOf('posts', { within })).reads, ['posts', 'users'])
    assert.equal(guardList(model, ann, listOf('tags')).personal, true)
    assert.equal(guardList(model, ann, listOf('posts')).personal, false)
  })

  test('an answer depends on, and is personal by, the rules of its selections, sort keys, joins and parents', () => {
    const own = { read: owner('author_id'), write: anyone }
    const rows: readonly (readonly [string, Model, ListShape, readonly string[]])[] = [
      [
        'a field of a related row',
        smallModel({ fields: { 'posts.note': { access: own } } }),
        listOf('users', {
          select: [{ ...nested('posts'), select: [{ ...id, key: 'note', field: 'note' }] } as Selected],
        }),
        ['posts', 'users'],
      ],
      [
        'a hidden sort key',
        smallModel({ fields: { 'posts.note': { access: own } } }),
        listOf('posts', { sort: totalOrder([{ field: 'note', descending: false }]) }),
        ['posts'],
      ],
      [
        'the rows of a join',
        smallModel({ access: { post_tags: { read: relatedTo('post', owner('author_id')) } } }),
        listOf('tags', { select: [nested('posts')] }),
        ['post_tags', 'posts', 'tags'],
      ],
      [
        'a rule behind a join row',
        smallModel({
          access: { post_tags: { read: relatedTo('post', relatedTo('author', owner('boss_id'))) } },
        }),
        listOf('tags', { select: [nested('posts')] }),
        ['post_tags', 'posts', 'tags', 'users'],
      ],
      [
        'the parent of a nested list',
        smallModel({ access: { users: { read: owner('id') } } }),
        listOf('posts', { within: { collection: 'users', relation: 'posts', id: 0 } }),
        ['posts', 'users'],
      ],
      [
        'the rows of a related list',
        smallModel({ access: { posts: { read: owner('author_id') } } }),
        listOf('users', { select: [nested('posts')] }),
        ['posts', 'users'],
      ],
    ]
    for (const [name, model, shape, reads] of rows) {
      const guarded = guardList(model, ann, shape)
      assert.deepEqual([guarded.personal, guarded.reads], [true, reads], name)
    }
  })
})

describe('writes', () => {
  const create = (
    set: readonly string[],
    collection = 'posts',
    computed: readonly string[] = [],
  ): CreateShape => ({
    kind: 'create',
    collection,
    set: set.map((field, param) => ({ field, param })),
    computed: computed.map((field, i) => ({ field, param: set.length + i })),
    select: [id],
  })
  const change = (mode: UpdateShape['mode'], set: readonly string[], collection = 'posts'): UpdateShape => ({
    kind: 'update',
    mode,
    collection,
    id: set.length,
    set: set.map((field, param) => ({ field, param })),
    ifMatch: undefined,
    select: [id],
  })
  const guardedCreate = (
    model: Model,
    who: Principal,
    shape: CreateShape,
    args: JsonValue[],
  ): GuardedCreate => createGuard(model)({ shape, args }, who).shape
  const guardedUpdate = (
    model: Model,
    who: Principal,
    shape: UpdateShape,
    args: JsonValue[],
  ): GuardedUpdate => createGuard(model)({ shape, args }, who).shape
  const faults = (error: ApiError) => error.details?.map(({ field, code }) => [field, code])

  test('every field of a new item gets the given value, its default, or null', () => {
    const model = smallModel({ fields: { 'posts.note': { default: { kind: 'value', value: 'new' } } } })
    const { set } = guardedCreate(model, ann, create(['title']), ['a'])
    const values = Object.fromEntries(set.map(assignment => [assignment.field.name, assignment.value]))
    assert.deepEqual(values.title, { kind: 'param', param: 0 })
    assert.deepEqual(values.note, { kind: 'default', default: { kind: 'value', value: 'new' } })
    assert.deepEqual(values.rank, { kind: 'literal', value: null })
    assert.deepEqual(values.created_at, { kind: 'default', default: { kind: 'now' } })
    assert.equal('id' in values, false)
  })

  test('a computed value overrides a given one', () => {
    const { set } = guardedCreate(smallModel(), ann, create(['title', 'note'], 'posts', ['note']), [
      'a',
      'b',
      'c',
    ])
    const values = set.filter(({ field }) => field.name === 'note').map(({ value }) => value)
    assert.deepEqual(values, [{ kind: 'param', param: 2 }])
  })

  test('fields that cannot be set are all reported in one error', () => {
    const model = smallModel({ fields: { 'posts.rank': { immutable: true } } })
    const wrong = ['id', 'created_at', 'nothing', '__proto__']
    const error = refusal(() => guardedCreate(model, ann, create(['title', ...wrong]), []))
    assert.equal(error.code, 'VALIDATION_FAILED')
    assert.deepEqual(faults(error), [
      ['id', 'read_only'],
      ['created_at', 'read_only'],
      ['nothing', 'unknown_field'],
      ['__proto__', 'unknown_field'],
    ])
    const late = refusal(() => guardedUpdate(model, ann, change('merge', ['rank']), []))
    assert.deepEqual(faults(late), [['rank', 'immutable']])
    assert.ok(guardedCreate(model, ann, create(['title', 'rank']), ['a', 1]))
  })

  test('an internal field is unknown to clients and can be set by Portico', () => {
    const error = refusal(() =>
      guardedCreate(smallModel(), root, create(['name', 'password_hash'], 'users'), []),
    )
    assert.deepEqual(faults(error), [['password_hash', 'unknown_field']])
    const { set } = guardedCreate(smallModel(), ann, create(['name'], 'users', ['password_hash']), ['a', 'h'])
    assert.deepEqual(set.find(assignment => assignment.field.name === 'password_hash')?.value, {
      kind: 'param',
      param: 1,
    })
    assert.ok(guardedCreate(smallModel(), system, create(['name', 'password_hash'], 'users'), ['a', 'h']))
  })

  test('a create and a replacement need every required field, a merge does not', () => {
    assert.deepEqual(faults(refusal(() => guardedCreate(smallModel(), ann, create(['note']), ['a']))), [
      ['title', 'required'],
    ])
    const replaced = refusal(() => guardedUpdate(smallModel(), ann, change('replace', ['note']), ['a', 1]))
    assert.deepEqual(faults(replaced), [['title', 'required']])
    assert.ok(guardedUpdate(smallModel(), ann, change('merge', ['note']), ['a', 1]))
  })

  test('a replacement resets only fields that the caller may write', () => {
    const model = smallModel({
      fields: {
        'posts.note': { access: { read: anyone, write: admin } },
        'posts.rank': { immutable: true },
        'posts.public': { default: { kind: 'value', value: false } },
        'posts.extra': { readOnly: true },
      },
    })
    const names = (who: Principal) =>
      guardedUpdate(model, who, change('replace', ['title']), ['a', 1]).set.map(
        assignment => assignment.field.name,
      )
    assert.deepEqual(names(ann), ['title', 'public', 'pin', 'author_id'])
    assert.deepEqual(names(root), ['title', 'note', 'public', 'pin', 'author_id'])
  })

  test('setting a field that the caller may never write is refused with its name', () => {
    const model = smallModel({ fields: { 'posts.rank': { access: { read: anyone, write: admin } } } })
    const error = refusal(() => guardedCreate(model, ann, create(['title', 'rank']), ['a', 1]))
    assert.deepEqual([error.code, faults(error)], ['FORBIDDEN', [['rank', 'forbidden']]])
    assert.match(error.message, /"rank"/)
    assert.equal(guardedCreate(model, root, create(['title', 'rank']), ['a', 1]).after.length, 0)
  })

  test('setting an unwritable but readable field is checked per row, since it may keep its value', () => {
    const rules = { access: { read: anyone, write: admin } }
    const model = smallModel({ fields: { 'posts.rank': rules, 'posts.pin': rules } })
    const [check] = guardedUpdate(model, ann, change('merge', ['rank']), [1, 1]).before
    assert.deepEqual([check?.condition.kind, check?.field?.name], ['never', 'rank'])
    const unseen = refusal(() => guardedUpdate(model, ann, change('merge', ['pin']), ['a', 1]))
    assert.deepEqual([unseen.code, faults(unseen)], ['FORBIDDEN', [['pin', 'forbidden']]])
  })

  test('an assignment has a condition for the rows in which the caller can read the field, unless that is all rows', () => {
    const model = smallModel({
      fields: { 'posts.note': { access: { read: owner('author_id'), write: anyone } } },
    })
    const kinds = (who: Principal) =>
      guardedUpdate(model, who, change('merge', ['title', 'note', 'pin']), ['a', 'b', 'c', 1]).set.map(
        assignment => assignment.readableWhen?.kind,
      )
    assert.deepEqual(kinds(ann), [undefined, 'compare', 'never'])
    assert.deepEqual(kinds(system), [undefined, undefined, undefined])
  })

  test('a replacement resets a field only in the rows in which the caller may write it', () => {
    const model = smallModel({
      fields: {
        'posts.note': { access: { read: anyone, write: owner('author_id') } },
        'posts.rank': { optional: false, access: { read: anyone, write: owner('author_id') } },
      },
    })
    const { set, before } = guardedUpdate(model, ann, change('replace', ['title']), ['a', 1])
    const when = (name: string) => set.find(assignment => assignment.field.name === name)?.when?.kind
    assert.deepEqual(
      [when('title'), when('note'), when('rank'), when('pin')],
      [undefined, 'compare', 'compare', undefined],
    )
    assert.deepEqual(before, [])
    const replacement = guardedUpdate(model, ann, change('replace', ['title', 'note']), ['a', 'b', 1])
    assert.deepEqual(
      replacement.before.map(check => check.field?.name),
      ['note'],
    )
  })

  test('documents are merged only if the plan requests it, and other fields never', () => {
    const merging = (documents?: 'replace' | 'merge') =>
      guardedUpdate(
        smallModel(),
        ann,
        { ...change('merge', ['title', 'extra']), ...(documents && { documents }) },
        ['a', {}, 1],
      ).set.map(assignment => assignment.merges)
    assert.deepEqual(merging('merge'), [undefined, true])
    assert.deepEqual(merging('replace'), [undefined, undefined])
    assert.deepEqual(merging(), [undefined, undefined])
  })

  test('the owner rule of a create is decided without the database', () => {
    const model = smallModel({
      access: { posts: { create: either(owner('author_id'), admin) } },
      fields: { 'posts.author_id': { default: { kind: 'currentUser' } } },
    })
    const own = guardedCreate(model, ann, create(['title', 'author_id']), ['a', 1])
    assert.deepEqual([own.after, own.references], [[], []])
    assert.deepEqual(guardedCreate(model, ann, create(['title']), ['a']).after, [])
    assert.equal(
      refusal(() => guardedCreate(model, ann, create(['title', 'author_id']), ['a', 2])).code,
      'FORBIDDEN',
    )
    const foreign = guardedCreate(model, root, create(['title', 'author_id']), ['a', 2])
    assert.deepEqual(
      foreign.references.map(reference => reference.field.name),
      ['author_id'],
    )
  })

  test('creates whose rule is decided share one shape', () => {
    const guard = createGuard(smallModel({ access: { posts: { create: owner('author_id') } } }))
    const shape = create(['title', 'author_id'])
    const first = guard({ shape, args: ['a', 1] }, ann).shape
    assert.equal(guard({ shape, args: ['b', 1] }, ann).shape, first)
    assert.equal(guard({ shape, args: ['b', 2] }, user(2, 'user', 'all')).shape, first)
    assert.equal(refusal(() => guard({ shape, args: ['c', 2] }, ann)).code, 'FORBIDDEN')
  })

  test('a rule on related rows is left to the store', () => {
    const model = smallModel({ access: { posts: { create: relatedTo('author', equals('level', 1)) } } })
    assert.equal(guardedCreate(model, ann, create(['title']), ['a']).after.length, 1)
  })

  test('an update rule is checked before the update, and also after if the update sets a field of the rule', () => {
    const model = smallModel({ access: { posts: { update: either(owner('author_id'), admin) } } })
    const other = guardedUpdate(model, ann, change('merge', ['title']), ['a', 1])
    assert.deepEqual([other.before.length, other.after.length], [1, 0])
    const giving = guardedUpdate(model, ann, change('merge', ['author_id']), [2, 1])
    assert.deepEqual([giving.before.length, giving.after.length], [1, 1])
    const keeping = guardedUpdate(model, ann, change('merge', ['author_id']), [1, 1])
    assert.deepEqual([keeping.before.length, keeping.after.length], [1, 0])
    assert.deepEqual(guardedUpdate(model, root, change('merge', ['author_id']), [2, 1]).before, [])
  })

  test('a replacement is also checked after if it resets a field of the rule', () => {
    const model = smallModel({
      access: { posts: { update: either(equals('public', true), equals('rank', 1)) } },
    })
    assert.equal(guardedUpdate(model, ann, change('merge', ['title']), ['a', 1]).after.length, 0)
    assert.equal(guardedUpdate(model, ann, change('replace', ['title']), ['a', 1]).after.length, 1)
  })

  test('a rule on related rows is always checked after an update too', () => {
    const model = smallModel({ access: { posts: { update: relatedTo('author', equals('level', 1)) } } })
    assert.equal(guardedUpdate(model, ann, change('merge', ['title']), ['a', 1]).after.length, 1)
  })

  test('If-Match compares with the default representation of the item for the caller', () => {
    const model = smallModel({ fields: { 'posts.note': { access: { read: admin, write: anyone } } } })
    const keys = (who: Principal) =>
      guardedUpdate(model, who, change('merge', ['title']), ['a', 1]).representation.map(field => field.key)
    assert.deepEqual(keys(ann), ['id', 'title', 'rank', 'public', 'extra', 'author_id', 'created_at'])
    assert.ok(keys(root).includes('note'))
  })

  test('an update without assignments stays empty', () => {
    assert.deepEqual(guardedUpdate(smallModel(), ann, change('merge', []), [1]).set, [])
  })

  test('a caller who may never create, update or delete is refused before anything is read', () => {
    const model = smallModel({ access: { tags: { create: nobody, update: admin, delete: owner('id') } } })
    const guard = createGuard(model)
    const remove = { kind: 'delete', collection: 'tags', id: 0, ifMatch: undefined } as const
    const codes = (who: Principal) => [
      refusal(() => guard({ shape: create([], 'tags'), args: [] }, who)).code,
      refusal(() => guard({ shape: change('merge', [], 'tags'), args: [1] }, who)).code,
    ]
    assert.deepEqual(codes(ann), ['FORBIDDEN', 'FORBIDDEN'])
    assert.deepEqual(codes(visitor), ['UNAUTHORIZED', 'UNAUTHORIZED'])
    assert.equal(refusal(() => guard({ shape: remove, args: [1] }, visitor)).code, 'UNAUTHORIZED')
    assert.equal(guard({ shape: remove, args: [1] }, ann).shape.before.length, 1)
  })
})

test('staticRule distinguishes rules that always hold, never hold, or depend on the row', () => {
  const model = smallModel()
  const posts = model.collections.get('posts')
  assert.ok(posts)
  const kind = (rule: CollectionAccess['read'], who: Principal) => staticRule(model, posts, rule, who.access)
  assert.equal(kind(either(owner('author_id'), admin), root), 'always')
  assert.equal(kind(either(owner('author_id'), admin), ann), 'depends')
  assert.equal(kind(either(owner('author_id'), admin), visitor), 'never')
})

test('reachOf tells whether a rule covers all, own, some or no rows', () => {
  const model = smallModel()
  const posts = model.collections.get('posts') ?? assert.fail()
  const reach = (rule: CollectionAccess['read'], who: Principal) => reachOf(model, posts, rule, who.access)
  const own = owner('author_id')
  assert.equal(reach(signedIn, ann), 'all')
  assert.equal(reach(own, ann), 'own')
  assert.equal(reach(both(own, equals('title', 'x')), ann), 'own')
  assert.equal(reach(either(own, equals('title', 'x')), ann), 'some')
  assert.equal(reach(opposite(own), ann), 'some')
  assert.equal(reach(either(own, admin), ann), 'own')
  assert.equal(reach(either(own, admin), root), 'all')
  assert.equal(reach(own, visitor), 'none')
})

test('admit refuses an operation that the caller may do on no item, with the error of the guard', () => {
  const model = smallModel({
    access: { posts: { read: signedIn, update: admin, delete: owner('author_id') } },
  })
  const posts = model.collections.get('posts') ?? assert.fail()
  const code = (operation: keyof CollectionAccess, who: Principal) => {
    try {
      return admit(model, posts, operation, who.access)
    } catch (error) {
      return error instanceof ApiError && error.code
    }
  }
  const reader = user(3, 'user', new Set(['read:post']))
  assert.equal(code('read', ann), undefined)
  assert.equal(code('read', visitor), 'UNAUTHORIZED')
  assert.equal(code('update', ann), 'FORBIDDEN')
  assert.equal(code('update', root), undefined)
  assert.equal(code('delete', ann), undefined)
  assert.equal(code('delete', visitor), 'UNAUTHORIZED')
  assert.equal(code('create', visitor), undefined)
  assert.equal(code('create', reader), 'INSUFFICIENT_SCOPE')
  assert.equal(code('read', reader), undefined)
})

test('an item by id has its read rule, and is refused if the rule can hold for no row', () => {
  const shape: ItemShape = { kind: 'item', collection: 'users', id: 0, select: [id] }
  const guard = createGuard(read('users', owner('id')))
  const { rows, reads, personal } = guard({ shape, args: [1] }, ann).shape
  assert.deepEqual([rows.kind, reads, personal], ['compare', ['users'], true])
  assert.equal(refusal(() => guard({ shape, args: [1] }, visitor)).code, 'UNAUTHORIZED')
})

describe('comparisons in rules', () => {
  const compare = (comparison: Comparison, value: Scalar | readonly Scalar[]): Rule => ({
    kind: 'compare',
    field: 'level',
    comparison,
    operand: { kind: 'literal', value },
  })
  const rows = (rule: Rule) => guardList(read('users', either(rule, owner('id'))), ann, listOf('users')).rows
  const mine = rows(nobody)
  const other = (rule: Rule) => {
    const condition = rows(rule)
    return condition.kind === 'or' ? condition.parts[0] : condition
  }

  test('with null test whether the field is null', () => {
    assert.equal(other(compare('eq', null))?.kind, 'isNull')
    const present = other(compare('ne', null))
    assert.ok(present?.kind === 'not' && present.part.kind === 'isNull')
  })

  test('that can never hold are dropped', () => {
    for (const rule of [
      compare('lt', null),
      compare('gte', null),
      compare('in', []),
      compare('in', [null]),
    ]) {
      assert.deepEqual(rows(rule), mine)
    }
    assert.deepEqual(rows(relatedTo('posts', compareNever)), mine)
  })

  test('with a list ignore nulls and duplicates, and a single value becomes eq', () => {
    const several = other(compare('in', [1, null, 2, 1]))
    assert.deepEqual(several?.kind === 'compare' && several.operand, { kind: 'literal', value: [1, 2] })
    const comparison = other(compare('in', [null, 3]))
    assert.ok(comparison?.kind === 'compare' && comparison.operator === 'eq')
    assert.deepEqual(comparison.operand, { kind: 'literal', value: 3 })
  })

  test('use the stored value, even of fields that the caller may not read', () => {
    const model = smallModel({
      access: { users: { read: equals('level', 1) } },
      fields: { 'users.level': { access: { read: admin, write: anyone } } },
    })
    const condition = guardList(model, ann, listOf('users')).rows
    assert.ok(condition.kind === 'compare' && condition.field.when.kind === 'always')
  })
})

const compareNever: Rule = { kind: 'and', parts: [nobody, signedIn] }
