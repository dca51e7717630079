/** The types inferred from a model. Most of this file is checked by the compiler: a wrong type does not compile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  boolean,
  type CreateInput,
  choice,
  collection,
  currentUser,
  type Item,
  type JsonValue,
  json,
  model,
  number,
  owner,
  relation,
  role,
  string,
  text,
  users,
} from '../../src/index.ts'
import type blog from '../models/blog.ts'
import { type Equal, same } from './type-equality.ts'

const declaration = model({
  users: users({
    updatedAt: true,
    fields: {
      bio: text({ optional: true }),
      phone: string({ optional: true, access: { read: owner('id').or(role('admin')) } }),
    },
  }),
  posts: collection({
    updatedAt: true,
    fields: {
      title: string(),
      state: choice(['draft', 'published'], { default: 'draft' }),
      author_id: relation('users', { default: currentUser }),
      rating: number({ optional: true }),
      extra: json({ optional: true }),
      pinned: boolean({ readOnly: true, default: false }),
      secret: string({ writeOnly: true }),
      hidden: string({ internal: true, optional: true }),
    },
  }),
  tags: collection({ fields: { name: string() } }),
})

test('an item type has the id, the fields and the times', () => {
  type Post = {
    readonly id: number
    readonly title: string
    readonly state: 'draft' | 'published'
    readonly author_id: number
    readonly rating: number | null
    readonly extra: JsonValue
    readonly pinned: boolean
    readonly created_at: string
    readonly updated_at: string
  }
  assert.ok(same<Equal<Item<typeof declaration, 'posts'>, Post>>(true))
  type Tag = { readonly id: number; readonly name: string; readonly created_at: string }
  assert.ok(same<Equal<Item<typeof declaration, 'tags'>, Tag>>(true))
})

test('the type of a user has the built-in and the added fields', () => {
  type User = {
    readonly id: number
    readonly name: string
    readonly email: string
    readonly role: string
    readonly disabled?: boolean | null
    readonly bio: string | null
    readonly phone?: string | null
    readonly created_at: string
    readonly updated_at: string
  }
  assert.ok(same<Equal<Item<typeof declaration, 'users'>, User>>(true))
})

test('the built-in collections have types without a declaration', () => {
  type User = {
    readonly id: number
    readonly name: string
    readonly email: string
    readonly role: string
    readonly disabled?: boolean | null
    readonly created_at: string
  }
  type Key = {
    readonly id: number
    readonly user_id: number
    readonly name: string
    readonly scopes: readonly string[] | null
    readonly expires_at: string | null
    readonly prefix: string
    readonly created_at: string
  }
  assert.ok(same<Equal<Item<typeof blog, 'users'>, User>>(true))
  assert.ok(same<Equal<Item<typeof blog, 'api_keys'>, Key>>(true))
})

test('the input of a create requires fields without a default that are not optional', () => {
  type NewPost = {
    readonly title: string
    readonly secret: string
    readonly state?: 'draft' | 'published'
    readonly author_id?: number
    readonly rating?: number | null
    readonly extra?: JsonValue
  }
  assert.ok(same<Equal<CreateInput<typeof declaration, 'posts'>, NewPost>>(true))
  type NewKey = {
    readonly name: string
    readonly scopes?: readonly string[] | null
    readonly expires_at?: string | null
  }
  assert.ok(same<Equal<CreateInput<typeof blog, 'api_keys'>, NewKey>>(true))
})

test('a wrong value or collection does not compile', () => {
  // @ts-expect-error Unknown collection.
  type None = Item<typeof blog, 'comments'>
  // @ts-expect-error `lost` is not one of the values.
  const wrong: Item<typeof declaration, 'posts'>['state'] = 'lost'
  // @ts-expect-error The default is not one of the values.
  const field = choice(['a', 'b'], { default: 'c' })
  // @ts-expect-error A text has no `minimum`.
  string({ minimum: 3 })
  const none: None | undefined = undefined
  assert.deepEqual([wrong, none, field.type.name], ['lost', undefined, 'choice'])
})
