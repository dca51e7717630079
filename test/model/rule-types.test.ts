/** The types of rules. Most of this file is checked by the compiler: a wrong rule that compiles is an error here. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccessRule,
  anyone,
  atMost,
  boolean,
  caller,
  checkModel,
  choice,
  claim,
  collection,
  count,
  currentUser,
  type Declaration,
  date,
  datetime,
  field,
  integer,
  json,
  ModelError,
  manyToMany,
  model,
  noOverlap,
  not,
  now,
  owner,
  related,
  relation,
  role,
  text,
  users,
} from '../../src/index.ts'
import { singularOf } from '../../src/model/check/names.ts'
import type { SingularOf } from '../../src/model/types/singular.ts'

const fields = {
  title: text(),
  status: choice(['open', 'done']),
  points: integer(),
  at: datetime({ optional: true }),
  day: date({ optional: true }),
  done: boolean({ default: false }),
  extra: json({ optional: true }),
  author_id: relation('users', { inverse: 'tasks' }),
  list_id: relation('lists', { inverse: 'tasks' }),
}

/** Compiles only if the rule fits the fields. */
const tasks = (declared: { readonly kind: 'collection' }) => assert.equal(declared.kind, 'collection')

test('a rule on fields of its collection with valid values compiles', () => {
  const authorOrAdmin = owner('author_id').or(role('admin'))
  tasks(collection({ fields, access: { read: authorOrAdmin, update: authorOrAdmin.and(anyone) } }))
  tasks(collection({ fields: { author_id: relation('users') }, access: { read: authorOrAdmin } }))
  tasks(collection({ fields, access: { read: field('status').in(['open', 'done']) } }))
  tasks(
    collection({
      fields,
      access: { read: field('at').gt(now.minus({ minutes: 15 })), create: field('day').lt(now) },
    }),
  )
  tasks(collection({ fields, access: { read: field('created_at').gt('2026-01-01T00:00:00Z') } }))
  tasks(collection({ fields, access: { read: field('author_id').eq(currentUser).or(field('id').eq(7)) } }))
  tasks(collection({ fields, access: { read: field('done').eq(true), create: field('extra').ne(null) } }))
  tasks(
    collection({
      fields,
      access: {
        read: field('title')
          .eq(claim('org'))
          .or(field('title').eq(field('status'))),
      },
    }),
  )
  tasks(collection({ fields, updatedAt: true, access: { read: field('updated_at').ne(null) } }))
})

test('a rule with an unknown field does not compile', () => {
  // @ts-expect-error
  tasks(collection({ fields, access: { read: owner('nope') } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('nope').eq('x') } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: anyone.and(role('x').or(not(owner('nope')))) } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('points').eq(field('nope')) } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('nope').eq(claim('org')) } }))
  // @ts-expect-error Only with `updatedAt: true`.
  tasks(collection({ fields, access: { read: field('updated_at').ne(null) } }))
  // @ts-expect-error
  tasks(collection({ fields, limits: [atMost(3, { per: 'nope' })] }))
  // @ts-expect-error
  tasks(collection({ fields, limits: [atMost(3, { where: owner('nope') })] }))
  tasks(collection({ fields, limits: [atMost(3), noOverlap('at', 'created_at', { per: 'list_id' })] }))
  // @ts-expect-error
  tasks(collection({ fields, limits: [noOverlap('at', 'nope')] }))
  // @ts-expect-error
  tasks(collection({ fields, limits: [noOverlap('nope', 'at')] }))
  // @ts-expect-error
  tasks(collection({ fields, limits: [noOverlap('at', 'created_at', { per: 'nope' })] }))
  // @ts-expect-error
  tasks(collection({ fields, limits: [noOverlap('at', 'created_at', { where: owner('nope') })] }))
})

test('the limit by a field of the parent compiles if the parent has it', () => {
  const lists = collection({ fields: { most: integer(), title: text() } })
  const items = { list_id: relation('lists', { inverse: 'tasks' }) }
  const tasks = collection({ fields: items, limits: [atMost(field('list.most'), { per: 'list_id' })] })
  checkModel(model({ lists, tasks }))
  const unknown = collection({ fields: items, limits: [atMost(field('list.nope'), { per: 'list_id' })] })
  const ofText = collection({ fields: items, limits: [atMost(field('list.title'), { per: 'list_id' })] })
  const wrong: readonly Declaration[] = [
    // @ts-expect-error A list has no such field.
    model({ lists, tasks: unknown }),
    // @ts-expect-error Not a number.
    model({ lists, tasks: ofText }),
  ]
  for (const declaration of wrong) assert.throws(() => checkModel(declaration), ModelError)
})

test('a rule with a value that does not fit the field does not compile', () => {
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('status').eq('zzz') } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('status').in(['open', 'zzz']) } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: not(field('status').ne('zzz').and(anyone)) } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('points').gt('x') } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('title').eq(3) } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('title').gt(now) } }))
  // @ts-expect-error A choice is not ordered.
  tasks(collection({ fields, access: { read: field('status').gt('open') } }))
  // @ts-expect-error
  tasks(collection({ fields, access: { read: field('done').gt(1) } }))
  // @ts-expect-error JSON is only compared with null.
  tasks(collection({ fields, access: { read: field('extra').eq('x') } }))
  // @ts-expect-error The field has no user id.
  tasks(collection({ fields, access: { read: owner('list_id') } }))
  // @ts-expect-error The field has no user id.
  tasks(collection({ fields, access: { read: field('points').eq(currentUser) } }))
  // @ts-expect-error
  tasks(collection({ fields, limits: [atMost(3, { where: field('status').eq('zzz') })] }))
  // @ts-expect-error User ids are not ordered.
  tasks(collection({ fields, access: { read: field('author_id').gt(currentUser) } }))
})

test('rules with names and values known only at run time compile', () => {
  const name: string = 'status'
  const rule: AccessRule = owner(name)
  const value: string = 'open'
  tasks(
    collection({ fields, access: { read: field(name).eq('zzz').or(rule), update: rule.and(owner(name)) } }),
  )
  tasks(
    collection({
      fields,
      access: {
        read: field('status')
          .eq(value)
          .or(related(name, owner('any'))),
      },
    }),
  )
  // @ts-expect-error A text is not a number.
  tasks(collection({ fields, access: { read: field('points').eq(value) } }))
  const dynamicFields: Record<string, ReturnType<typeof text>> = {}
  tasks(collection({ fields: dynamicFields, access: { read: owner('any') } }))
})

test('a rule of users can use built-in and added fields', () => {
  const declared = users({
    fields: { phone: text({ access: { read: owner('id') } }), email: { access: { read: owner('id') } } },
    access: { read: owner('id').or(field('role').eq('admin'), field('phone').ne(null)) },
  })
  assert.equal(declared.extends, 'users')
  // @ts-expect-error
  users({ access: { read: owner('nope') } })
  // @ts-expect-error
  users({ fields: { phone: text() }, access: { read: field('phon').eq('x') } })
})

const lists = collection({
  fields: { name: text(), owner_id: relation('users', { inverse: 'lists' }), shared: choice(['yes', 'no']) },
})

test('rules along relations are checked against the whole model', () => {
  const declaration = model({
    users: users({ fields: { team: text({ optional: true }) } }),
    lists,
    labels: collection({ fields: { name: text(), list_id: relation('lists', { as: 'place' }) } }),
    task_labels: collection({ fields: { task_id: relation('tasks'), label_id: relation('labels') } }),
    tasks: collection({
      fields,
      relations: {
        labels: manyToMany('labels', { through: 'task_labels', from: 'task_id', to: 'label_id' }),
      },
      computed: { siblings: count('labels', field('name').ne('x')) },
      limits: [atMost(3, { where: field('title').eq('x') })],
      access: {
        read: related('list', owner('owner_id').or(field('shared').eq('yes'))),
        create: field('list.owner_id')
          .eq(currentUser)
          .or(field('list.owner.team').eq(caller('team'))),
        update: related('labels', related('place', related('tasks', owner('author_id')))),
        delete: field('list.owner_id').eq(field('author_id')),
      },
    }),
  })
  assert.equal(checkModel(declaration).collections.has('tasks'), true)
})

test('a rule with an unknown name along relations does not compile', () => {
  const read = {
    relation: collection({ fields, access: { read: related('lst', anyone) } }),
    field: collection({ fields, access: { read: related('list', owner('nope')) } }),
    value: collection({ fields, access: { read: related('list', field('shared').eq('zzz')) } }),
    path: collection({ fields, access: { read: field('list.nope').eq('x') } }),
    longPath: collection({ fields, access: { read: field('list.owner.nope').eq('x') } }),
    inverse: collection({ fields, access: { read: related('list', related('todos', anyone)) } }),
    caller: collection({ fields, access: { read: field('title').eq(caller('nope')) } }),
    app: collection({
      fields,
      access: { read: related('list', field('owner_id').eq(caller('app.id'))) },
    }),
    ofField: collection({ fields: { name: text({ access: { read: owner('nope') } }) } }),
    ofLimit: collection({ fields, limits: [atMost(3, { where: field('list.nope').eq('x') })] }),
    ofCount: collection({ fields, computed: { open: count('nope') } }),
  }
  const wrong: readonly Declaration[] = [
    // @ts-expect-error Unknown relation.
    model({ lists, tasks: read.relation }),
    // @ts-expect-error A list has no such field.
    model({ lists, tasks: read.field }),
    // @ts-expect-error Not one of the values.
    model({ lists, tasks: read.value }),
    // @ts-expect-error A list has no such field.
    model({ lists, tasks: read.path }),
    // @ts-expect-error A user has no such field.
    model({ lists, tasks: read.longPath }),
    // @ts-expect-error Unknown relation.
    model({ lists, tasks: read.inverse }),
    // @ts-expect-error A user has no such field.
    model({ lists, tasks: read.caller }),
    // @ts-expect-error The owner of a list is no app.
    model({ lists, tasks: read.app }),
    // @ts-expect-error The rule of a field has an unknown field.
    model({ tasks: read.ofField }),
    // @ts-expect-error The condition of a limit has an unknown field.
    model({ lists, tasks: read.ofLimit }),
    // @ts-expect-error Unknown relation.
    model({ lists, tasks: read.ofCount }),
  ]
  for (const declaration of wrong) assert.throws(() => checkModel(declaration), ModelError)
})

const plurals = [
  ...(['posts', 'categories', 'boxes', 'classes', 'dishes', 'matches', 'movies', 'cookies', 'ties'] as const),
  ...(['houses', 'causes', 'notes', 'pages', 'days', 'api_keys', 'webhook_deliveries'] as const),
] as const

type Each<Names extends readonly string[]> = { [K in keyof Names]: SingularOf<Names[K]> }

test('the type of a singular equals the derived singular', () => {
  const singulars: Each<typeof plurals> = [
    ...(['post', 'category', 'box', 'class', 'dish', 'match', 'movie', 'cookie', 'tie'] as const),
    ...(['house', 'cause', 'note', 'page', 'day', 'api_key', 'webhook_delivery'] as const),
  ]
  assert.deepEqual(plurals.map(singularOf), singulars)
})
