/** The types of computed fields. Most of this file is checked by the compiler. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  avg,
  checkModel,
  coalesce,
  collection,
  computed,
  concat,
  count,
  date,
  datePart,
  dividedBy,
  field,
  first,
  type Item,
  integer,
  ModelError,
  max,
  min,
  minus,
  model,
  owner,
  relation,
  round,
  sum,
  text,
  when,
} from '../../src/index.ts'
import type workshop from '../models/workshop.ts'
import { type Equal, same } from './type-equality.ts'

test('a computed field has the type of its expression', () => {
  type Project = Item<typeof workshop, 'projects'>
  type Expected = {
    readonly open_tasks?: number
    readonly points?: number
    readonly mean_points?: number | null
    readonly least_due?: string | null
    readonly greatest_title?: string | null
    readonly last_status?: 'open' | 'done' | null
    readonly remaining?: number | null
    readonly owner_name?: string | null
    readonly label?: string
    readonly note_or_name?: string
    readonly size?: 'large' | 'small'
    readonly month?: number | null
    readonly created_day?: string | null
    readonly private_count?: number | null
  }
  assert.ok(same<Equal<Pick<Project, keyof Expected>, Expected>>(true))
})

const fields = {
  name: text(),
  seats: integer(),
  starts: date({ optional: true }),
  owner_id: relation('users'),
}

test('an expression on fields of its collection is checked against them', () => {
  const check = (declared: { readonly kind: 'collection' }) => assert.equal(declared.kind, 'collection')
  check(collection({ fields, computed: { a: concat(field('name'), ' ', field('seats')) } }))
  // @ts-expect-error Unknown field.
  check(collection({ fields, computed: { a: concat(field('nam'), ' ') } }))
  // @ts-expect-error Unknown field.
  check(collection({ fields, computed: { a: coalesce(concat('a', field('nam')), 'x') } }))
  // @ts-expect-error A text is not a number.
  check(collection({ fields, computed: { a: minus(field('name'), 1) } }))
  // @ts-expect-error A text is not a number.
  check(collection({ fields, computed: { a: dividedBy(field('seats'), 'x') } }))
  // @ts-expect-error A text is not a number.
  check(collection({ fields, computed: { a: round(field('name')) } }))
  // @ts-expect-error A number is not a date.
  check(collection({ fields, computed: { a: datePart('month', field('seats')) } }))
  // @ts-expect-error Unknown field.
  check(collection({ fields, computed: { a: when(owner('nope'), 'a', 'b') } }))
  // @ts-expect-error Unknown field.
  check(collection({ fields, computed: { a: computed(field('name'), { access: { read: owner('nope') } }) } }))
})

test('an expression on related items is checked against the model', () => {
  const tasks = collection({
    fields: { title: text(), points: integer(), list_id: relation('lists', { inverse: 'tasks' }) },
  })
  const lists = {
    right: collection({ fields, computed: { a: sum('tasks', 'points'), b: max('tasks', 'title') } }),
    relation: collection({ fields, computed: { a: count('todos') } }),
    field: collection({ fields, computed: { a: min('tasks', 'point') } }),
    text: collection({ fields, computed: { a: avg('tasks', 'title') } }),
    first: collection({ fields, computed: { a: first('tasks', 'titel') } }),
    where: collection({ fields, computed: { a: count('tasks', owner('nope')) } }),
    path: collection({ fields, computed: { a: concat(field('owner.nope')) } }),
    option: collection({ fields, computed: { a: sum('tasks', 'points', { where: owner('nope') }) } }),
    // @ts-expect-error `first` publishes no item.
    published: collection({ fields, computed: { a: first('tasks', 'title', { asSystem: true }) } }),
  }
  assert.ok(checkModel(model({ tasks, lists: lists.right })))
  const published = {
    a: count('tasks', { where: field('points').gt(1), asSystem: true }),
    b: max('tasks', 'points', { asSystem: true }),
    c: avg('tasks', 'points', {}),
  }
  assert.ok(checkModel(model({ tasks, lists: collection({ fields, computed: published }) })))
  const wrong = [
    // @ts-expect-error Unknown relation.
    model({ tasks, lists: lists.relation }),
    // @ts-expect-error A task has no such field.
    model({ tasks, lists: lists.field }),
    // @ts-expect-error Texts have no average.
    model({ tasks, lists: lists.text }),
    // @ts-expect-error A task has no such field.
    model({ tasks, lists: lists.first }),
    // @ts-expect-error A task has no such field.
    model({ tasks, lists: lists.where }),
    // @ts-expect-error A user has no such field.
    model({ tasks, lists: lists.path }),
    // @ts-expect-error A task has no such field.
    model({ tasks, lists: lists.option }),
    model({ tasks, lists: lists.published }),
  ]
  for (const declaration of wrong) assert.throws(() => checkModel(declaration), ModelError)
})
