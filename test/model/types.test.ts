/** The inferred types. Most of this file is tested by the compiler: a wrong type does not compile. */
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

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only for `true`; gives it back so that the test also states it. */
const same = <T extends true>(value: T): T => value

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

test('an item has its id, its fields and its times', () => {
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

test('a user has the built-in fields and those that were added', () => {
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

test('the built-in collections are there without a declaration', () => {
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

test('a create needs what has no default and is not optional', () => {
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
  // @ts-expect-error There is no such collection.
  type None = Item<typeof blog, 'comments'>
  // @ts-expect-error `lost` is none of the values.
  const wrong: Item<typeof declaration, 'posts'>['state'] = 'lost'
  // @ts-expect-error A default is one of the values.
  const field = choice(['a', 'b'], { default: 'c' })
  // @ts-expect-error A text has no `minimum`.
  string({ minimum: 3 })
  const none: None | undefined = undefined
  assert.deepEqual([wrong, none, field.type.name], ['lost', undefined, 'choice'])
})
