/** `checkModel`: the model that it returns, and the faults that it reports with their places. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccessRule,
  action,
  anyone,
  boolean,
  checkModel,
  choice,
  collection,
  computed,
  count,
  currentApp,
  currentUser,
  date,
  datetime,
  email,
  field,
  index,
  integer,
  job,
  json,
  manyToMany,
  model,
  nobody,
  not,
  now,
  number,
  owner,
  randomUuid,
  related,
  relation,
  role,
  scope,
  signedIn,
  string,
  text,
  unique,
  users,
  uuid,
} from '../../src/index.ts'
import { administrators } from '../../src/model/builtin/fields.ts'
import { singularOf } from '../../src/model/check/names.ts'
import { bodyValidator, requireDocuments } from '../../src/model/validate.ts'
import blog from '../models/blog.ts'
import rich from '../models/rich.ts'
import { faultsOf, untyped } from './faults.ts'

/** The faults of a collection `posts` with a plain `title` and these options. */
function postFaults(options: object, others: object = {}): readonly string[] {
  const withFields = { fields: { title: string() }, ...options }
  return faultsOf(model(untyped({ posts: collection(untyped(withFields)), ...others })))
}

const fieldFaults = (fields: object) => postFaults({ fields })

test('a collection has at most as many fields as both databases return at once', () => {
  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, string({ optional: true })]))
  assert.deepEqual(fieldFaults(fields(400)), [])
  assert.deepEqual(postFaults({ fields: fields(400), computed: { more: computed(field('f0'), {}) } }), [
    'posts.fields: These are 401 fields, computed ones included. Write at most 400; a `json()` field can hold many values.',
  ])
})

const builtinCollections = ['api_keys', 'oauth_apps', 'oauth_app_secrets', 'webhooks', 'webhook_deliveries']

const blogScopes = ['user', 'post', 'api_key', 'oauth_app', 'oauth_app_secret', 'webhook', 'webhook_delivery']
  .flatMap(type => [`read:${type}`, `write:${type}`])
  // Deliveries cannot be written.
  .filter(name => name !== 'write:webhook_delivery')

test('the blog model has the declared and the built-in collections, fields, relations, rules and scopes', () => {
  const { collections, scopes } = checkModel(blog)
  assert.deepEqual([...collections.keys()], ['users', 'posts', ...builtinCollections])
  const posts = collections.get('posts')
  const users = collections.get('users')
  assert.ok(posts && users)
  assert.deepEqual([...posts.fields.keys()], ['id', 'title', 'body', 'author_id', 'created_at'])
  assert.deepEqual(
    [...users.fields.keys()],
    ['id', 'name', 'email', 'role', 'disabled', 'password_hash', 'created_at'],
  )
  assert.deepEqual(posts.relations.get('author'), {
    ...{ kind: 'one', name: 'author', target: 'users', field: 'author_id', onDelete: 'restrict' },
  })
  assert.deepEqual(users.relations.get('posts'), {
    kind: 'many',
    name: 'posts',
    target: 'posts',
    field: 'author_id',
  })
  assert.deepEqual(posts.fields.get('author_id')?.reference, posts.relations.get('author'))
  assert.deepEqual(posts.fields.get('author_id')?.default, { kind: 'currentUser' })
  const admin = { kind: 'role', roles: ['admin'] }
  const author = { kind: 'compare', field: 'author_id', comparison: 'eq', operand: { kind: 'userId' } }
  const authorOrAdmin = { kind: 'or', parts: [author, admin] }
  assert.deepEqual(posts.access, {
    ...{ read: { kind: 'anyone' }, create: authorOrAdmin, update: authorOrAdmin, delete: authorOrAdmin },
  })
  assert.deepEqual([...scopes.keys()], blogScopes)
  assert.equal(scopes.get('read:post'), 'See posts')
  assert.equal(scopes.get('write:api_key'), 'See, create, change and delete API keys')
})

test('a scope exists only for operations that somebody may do or that a rule names, and its description lists them', () => {
  const fields = { title: string() }
  const { scopes, collections } = checkModel(
    model(
      {
        members: collection({ fields, access: { create: nobody, update: nobody } }),
        logs: collection({ fields, access: { create: nobody, update: nobody, delete: nobody } }),
        hidden_marks: collection({ fields, access: { read: nobody, update: nobody, delete: nobody } }),
        links: collection({
          fields,
          access: { read: scope('read:vault'), create: nobody, update: nobody, delete: nobody },
        }),
        vaults: collection({
          fields,
          access: { read: nobody, create: nobody, update: nobody, delete: nobody },
        }),
      },
      { actions: { follow: action({ on: 'links', access: signedIn, run: () => {} }) } },
    ),
  )
  const own = [...scopes].filter(([name]) => !blogScopes.includes(name))
  assert.deepEqual(Object.fromEntries(own), {
    'read:member': 'See members',
    'write:member': 'See and delete members',
    'read:log': 'See logs',
    'write:hidden_mark': 'Create hidden marks',
    'read:link': 'See links',
    'write:link': 'See and carry out actions on links',
    'read:vault': 'Read: vault',
  })
  assert.equal(scopes.has('write:webhook_delivery'), false)
  const scopesJson = JSON.stringify(collections.get('api_keys')?.fields.get('scopes')?.type.schema)
  assert.ok(scopesJson.includes('"write:link"') && !scopesJson.includes('write:log'))
})

test('by default signed-in callers read users, and administrators write their roles', () => {
  const users = checkModel(model({})).collections.get('users')
  const admin = { kind: 'role', roles: ['admin'] }
  assert.deepEqual(users?.access.read, { kind: 'signedIn' })
  assert.deepEqual(users?.access.create, admin)
  assert.deepEqual(users?.access.delete, admin)
  assert.deepEqual(users?.fields.get('role')?.access.write, administrators.rule)
  assert.equal(users?.fields.get('email')?.unique, true)
  assert.equal(users?.fields.get('password_hash')?.internal, true)
})

test('only its owner and administrators can read and delete an API key, and its scopes are those of the model', () => {
  const keys = checkModel(blog).collections.get('api_keys')
  const own = { kind: 'compare', field: 'user_id', comparison: 'eq', operand: { kind: 'userId' } }
  const ownOrAll = { kind: 'or', parts: [own, administrators.rule] }
  assert.deepEqual(keys?.access, {
    ...{ read: ownOrAll, create: { kind: 'signedIn' }, update: own, delete: ownOrAll },
  })
  const { schema } = keys?.fields.get('scopes')?.type ?? {}
  const scopes = [...blogScopes, '*']
  assert.deepEqual(schema?.items, { type: 'string', enum: scopes })
  assert.equal(keys?.fields.get('hash')?.internal, true)
  assert.equal(keys?.fields.get('user_id')?.readOnly, true)
})

test('a declaration can add fields to users and change their access rules', () => {
  const { collections } = checkModel(rich)
  const names = [...(collections.get('users')?.fields.keys() ?? [])]
  assert.deepEqual(names, [
    ...[
      'id',
      'name',
      'email',
      'role',
      'disabled',
      'password_hash',
      'bio',
      'phone',
      'manager_id',
      'created_at',
      'updated_at',
    ],
  ])
  const open = checkModel(model({ users: users({ access: { read: anyone } }) })).collections.get('users')
  assert.deepEqual(open?.access.read, { kind: 'anyone' })
  assert.deepEqual(open?.access.delete, { kind: 'role', roles: ['admin'] })
})

test('operations without a rule are for administrators only', () => {
  const audits = checkModel(rich).collections.get('audits')
  const admin = { kind: 'role', roles: ['admin'] }
  assert.deepEqual(audits?.access, { read: admin, create: admin, update: admin, delete: admin })
})

test('defaults, literals and times are canonicalized', () => {
  const { collections } = checkModel(
    model({
      events_seen: collection({
        singular: 'event_seen',
        deprecated: { since: '2026-01-01', sunset: '2026-06-01T02:00:00+02:00' },
        fields: { at: datetime({ default: '2026-01-01T01:00:00+01:00' }), mail: email() },
        access: {
          read: field('at')
            .gte('2026-01-01T00:00:00Z')
            .and(field('mail').in(['A@b.co'])),
        },
      }),
    }),
  )
  const seen = collections.get('events_seen')
  assert.deepEqual(seen?.fields.get('at')?.default, { kind: 'value', value: '2026-01-01T00:00:00.000Z' })
  assert.deepEqual(seen?.deprecated, {
    ...{ since: '2026-01-01T00:00:00.000Z', sunset: '2026-06-01T00:00:00.000Z', reason: undefined },
  })
  const literal = (value: unknown) => ({ kind: 'literal', value })
  assert.deepEqual(seen?.access.read, {
    kind: 'and',
    parts: [
      { kind: 'compare', field: 'at', comparison: 'gte', operand: literal('2026-01-01T00:00:00.000Z') },
      { kind: 'compare', field: 'mail', comparison: 'in', operand: literal(['a@b.co']) },
    ],
  })
})

test('a checked model cannot be changed', () => {
  const { collections } = checkModel(rich)
  const tasks = collections.get('tasks')
  assert.ok(tasks)
  const maps = [collections, tasks.fields, tasks.relations] as unknown as Map<string, unknown>[]
  for (const map of maps) {
    assert.throws(() => map.set('x', 1), TypeError)
    assert.throws(() => map.delete([...map.keys()][0] ?? ''), TypeError)
    assert.throws(() => map.clear(), TypeError)
  }
  assert.throws(() => Object.assign(tasks, { name: 'x' }), TypeError)
  assert.throws(() => Object.assign(tasks.fields.get('title') ?? {}, { optional: true }), TypeError)
  assert.throws(() => Object.assign(tasks.access.read, { kind: 'anyone' }), TypeError)
  assert.throws(
    () => Object.assign(tasks.fields.get('title')?.type.schema ?? {}, { maxLength: 1 }),
    TypeError,
  )
})

test('the same declaration can be checked twice', () => {
  assert.deepEqual(checkModel(rich).scopes, checkModel(rich).scopes)
})

test('the singular of a regular plural is derived, and of others it is undefined', () => {
  const expectedSingulars: Readonly<Record<string, string | undefined>> = {
    posts: 'post',
    causes: 'cause',
    stories: 'story',
    categories: 'category',
    addresses: 'address',
    boxes: 'box',
    branches: 'branch',
    wishes: 'wish',
    houses: 'house',
    courses: 'course',
    sizes: 'size',
    movies: 'movie',
    user_cookies: 'user_cookie',
    neck_ties: 'neck_tie',
    caches: 'cache',
    blog_posts: 'blog_post',
    days: 'day',
    task_labels: 'task_label',
    people: undefined,
    sheep: undefined,
    news: undefined,
    series: undefined,
    data: undefined,
    statuses: undefined,
    status: undefined,
    heroes: undefined,
    analysis: undefined,
    glass: undefined,
    s: undefined,
  }
  for (const [plural, singular] of Object.entries(expectedSingulars))
    assert.equal(singularOf(plural), singular, plural)
})

/** The complete faults of each invalid declaration. */
const wrong: readonly (readonly [name: string, check: () => readonly string[], faults: readonly RegExp[]])[] =
  [
    [
      'an export that is not a model',
      () => faultsOf(untyped({ posts: 1 })),
      [/^model: .*`export default model/],
    ],
    [
      'a collection of another kind',
      () => faultsOf(model(untyped({ posts: { fields: {} } }))),
      [/^posts: .*`collection\(/],
    ],
    [
      'a collection without fields',
      () => postFaults({ fields: undefined }),
      [/^posts.fields: Write the fields/],
    ],
    [
      'a field of another kind',
      () => fieldFaults({ title: 'text' }),
      [/^posts.fields.title: This is not a field/],
    ],
    ['an unknown option', () => postFaults({ acces: {} }), [/^posts.acces: .*Did you mean `access`/]],
    [
      'an unknown operation',
      () => postFaults({ access: { write: anyone } }),
      [/^posts.access.write: There is no/],
    ],
    [
      'an access rule of another kind',
      () => postFaults({ access: { read: 'anyone' } }),
      [/^posts.access.read: This is not a rule/],
    ],
    [
      'a description that is not a string',
      () => postFaults({ description: 3 }),
      [/^posts.description: Write a text/],
    ],
    [
      'an invalid updatedAt',
      () => postFaults({ updatedAt: 'yes' }),
      [/^posts.updatedAt: Write true or false/],
    ],

    [
      'a name in camelCase',
      () => fieldFaults({ firstName: string() }),
      [/^posts.fields.firstName: .*Write `first_name`/],
    ],
    [
      'a name that starts with a digit',
      () => fieldFaults({ '1st': string() }),
      [/^posts.fields.1st: A name must be in snake_case/],
    ],
    ['a name with a double underscore', () => fieldFaults({ a__b: string() }), [/snake_case.*Write `a_b`/]],
    [
      'a field named __proto__',
      () => fieldFaults(JSON.parse('{"__proto__":1}')),
      [/^posts.fields.__proto__: This is not a field/],
    ],
    [
      'a field named constructor',
      () => fieldFaults({ constructor: string() }),
      [/constructor: The name is reserved/],
    ],
    [
      'a name that is too long',
      () => fieldFaults({ ['a'.repeat(51)]: string() }),
      [/longer than 50 characters/],
    ],
    ['a built-in field', () => fieldFaults({ id: integer() }), [/posts.fields.id: The name is reserved/]],
    [
      'a field named like a query parameter',
      () => fieldFaults({ page: integer() }),
      [/posts.fields.page: .*query parameter/],
    ],
    [
      'a field named like a built-in field of users',
      () => faultsOf(model({ users: users({ fields: { disabled: boolean({ default: false }) } }) })),
      [/^users.fields.disabled: The field is built in .*`renamedFrom: 'disabled'` keeps its data/],
    ],
    [
      'a field named like a column of the database',
      () => fieldFaults({ rowid: integer() }),
      [/posts.fields.rowid: .*database/],
    ],
    ...[
      'openapi',
      'me',
      'events',
      'batch',
      'actions',
      'queries',
      'uploads',
      'explain',
      'webhooks',
      'webhook_deliveries',
      'docs',
      'api_keys',
      'sqlite_things',
      'json_each',
      'Posts',
      '_posts',
      'blog-posts',
    ].map(
      name =>
        [
          `a collection named ${name}`,
          () => faultsOf(model({ [name]: collection({ singular: 'thing', fields: {} }) })),
          [new RegExp(`^${name}: (The name is reserved|Names with this prefix|A name must be)`)],
        ] as const,
    ),

    [
      'a collection without a singular',
      () => faultsOf(model({ sheep: collection({ fields: {} }) })),
      [/^sheep.singular: The singular of/],
    ],
    [
      'a singular equal to the plural',
      () => faultsOf(model({ sheep: collection({ singular: 'sheep', fields: {} }) })),
      [/^sheep.singular: One item needs another name/],
    ],
    [
      'two collections with the same singular',
      () => postFaults({}, { entries: collection({ singular: 'post', fields: {} }) }),
      [/^entries.singular: `post` is already a name of `posts`/],
    ],
    [
      'a singular that is a reserved GraphQL type',
      () => faultsOf(model({ requests: collection({ singular: 'query', fields: {} }) })),
      [/^requests.singular: `query` would be the GraphQL type `Query`/],
    ],
    [
      'a singular that gives a GraphQL type of another collection',
      () => postFaults({}, { post_edges: collection({ fields: {} }) }),
      [/^post_edges.singular: The GraphQL types of `post_edge` have the same names as those of `posts`/],
    ],
    [
      'two fields with the same camelCase name',
      () => fieldFaults({ line1: string(), line_1: string() }),
      [/^posts.line_1: Its GraphQL name, `line1`, is also that of/],
    ],

    [
      'a collection named users',
      () => faultsOf(model({ users: collection({ fields: {} }) })),
      [/^users: The accounts are built in. Extend them with `users/],
    ],
    [
      'users() in another collection',
      () => faultsOf(model({ people: users({}) })),
      [/^people: `users\(…\)` extends the built-in/],
    ],
    [
      'another singular for users',
      () => faultsOf(model({ users: users(untyped({ singular: 'person' })) })),
      [/^users.singular: The collection is built in/],
    ],
    [
      'a redeclared built-in field',
      () => faultsOf(model({ users: users({ fields: { role: string() } }) })),
      [/^users.fields.role: The field is built in/],
    ],

    [
      'an unknown field option',
      () => fieldFaults({ a: string(untyped({ requird: true })) }),
      [/^posts.fields.a.requird: There is no/],
    ],
    [
      'an option of another type',
      () => fieldFaults({ a: string(untyped({ optional: 1 })) }),
      [/^posts.fields.a.optional: Write true or false/],
    ],
    [
      'options that are not an object',
      () => fieldFaults({ a: string(untyped('x')) }),
      [/^posts.fields.a: Write the options/],
    ],
    [
      'an invalid pattern',
      () => fieldFaults({ a: string({ pattern: '(' }) }),
      [/^posts.fields.a.pattern: This is not a regular/],
    ],
    [
      'a pattern in a schema without a maxLength',
      () =>
        fieldFaults({
          a: json({ schema: { properties: { b: { type: 'array', items: { pattern: '^(a+)+$' } } } } }),
          c: json({ schema: { type: 'string', pattern: '^a$', maxLength: 3 } }),
          d: json({ schema: { properties: { pattern: { type: 'string' } } } }),
        }),
      [/^posts.fields.a.schema: Matching a `pattern` against a long text may take long\. Write `maxLength`/],
    ],
    [
      'a minimal length above the limit of patterns',
      () => fieldFaults({ a: text({ min: 2000, pattern: '^a' }), b: text({ min: 2000 }) }),
      [/^posts.fields.a.min: The minimum, 2000, is above the maximum, 1000/],
    ],
    [
      'a required field that cannot be written',
      () =>
        fieldFaults({
          a: string({ access: { write: nobody } }),
          b: string({ access: { write: nobody }, default: 'x' }),
          c: string({ access: { write: role('admin') } }),
        }),
      [
        /^posts.fields.a: It is required but no caller can write it, .* Write `optional: true` or a `default`/,
      ],
    ],
    [
      'required fields of users that the first start could not set',
      () =>
        faultsOf(
          model({
            users: users({
              fields: {
                phone: string(),
                boss_id: relation('users', { default: currentUser }),
                plan: string({ default: 'free' }),
                joined_on: date({ default: now }),
                bio: text({ optional: true }),
              },
            }),
          }),
        ),
      [
        /^users.fields.phone: The first start could not create an administrator, .* Write `optional: true` or a `default`/,
        /^users.fields.boss_id: The first start could not create an administrator/,
      ],
    ],
    [
      'a pattern that is invalid with the u flag',
      () => fieldFaults({ a: string({ pattern: '\\-' }) }),
      [/a.pattern: .*u flag/],
    ],
    [
      'a minimum above the maximum',
      () => fieldFaults({ a: integer({ min: 3, max: 2 }) }),
      [/a.min: The minimum, 3, is above the maximum, 2/],
    ],
    [
      'a minimal length above the maximal length',
      () => fieldFaults({ a: string({ min: 300 }) }),
      [/a.min: The minimum, 300, is above the maximum, 255/],
    ],
    [
      'both length and max',
      () => fieldFaults({ a: text({ length: 3, max: 3 }) }),
      [/a.length: Write either `length`/],
    ],
    [
      'a bound that is not a number',
      () => fieldFaults({ a: number({ min: Number.NaN }) }),
      [/a.min: Write a number/],
    ],
    [
      'a negative length',
      () => fieldFaults({ a: string({ max: -1 }) }),
      [/a.max: Write a whole number, 0 or more/],
    ],
    ['a choice without values', () => fieldFaults({ a: choice([]) }), [/posts.fields.a: Write the values/]],
    [
      'a duplicate value of a choice',
      () => fieldFaults({ a: choice(['x-y', 'X_Y']) }),
      [/a: The value "X_Y" appears twice/],
    ],
    [
      'an invalid value of a choice',
      () => fieldFaults({ a: choice(['x y']) }),
      [/a: The value "x y" must be a letter, then/],
    ],
    [
      'an invalid JSON Schema',
      () => fieldFaults({ a: json({ schema: { type: 'sting' } }) }),
      [/a.schema: This is not a valid JSON Schema/],
    ],
    [
      'an unknown keyword of a JSON Schema',
      () => fieldFaults({ a: json({ schema: { minimun: 1 } }) }),
      [/a.schema: This is not a valid JSON Schema/],
    ],
    [
      'a reference in a JSON Schema',
      () => fieldFaults({ a: json({ schema: { $ref: '#' } }) }),
      [/a.schema: `\$ref` cannot be used/],
    ],
    [
      'null as a type of a JSON Schema',
      () => fieldFaults({ a: json({ schema: { type: ['null', 'array'] } }) }),
      [/a.schema: Null stands for/],
    ],
    [
      'a default of another type',
      () => fieldFaults({ a: integer(untyped({ default: 'x' })) }),
      [/a.default: The default does not fit/],
    ],
    [
      'a default beyond the bounds',
      () => fieldFaults({ a: integer({ max: 3, default: 4 }) }),
      [/a.default: .*at most 3/],
    ],
    [
      'a default of null',
      () => fieldFaults({ a: integer(untyped({ default: null })) }),
      [/a.default: .*`optional: true`/],
    ],
    [
      'the default `now` for a string',
      () => fieldFaults({ a: string(untyped({ default: now })) }),
      [/a.default: `now` does not fit/],
    ],
    [
      'the default `currentUser` for a relation to posts',
      () => fieldFaults({ post_id: relation('posts', { default: currentUser }) }),
      [/post_id.default: `currentUser` does not fit/],
    ],
    [
      'the default `randomUuid` for a date',
      () => fieldFaults({ a: date(untyped({ default: randomUuid })) }),
      [/a.default: `randomUuid` does not fit/],
    ],
    [
      'a default for a unique field',
      () => fieldFaults({ a: string({ unique: true, default: 'x' }) }),
      [/a.default: Only one item/],
    ],
    [
      'a required field that is read-only',
      () => fieldFaults({ a: string({ readOnly: true }) }),
      [/fields.a: It is required but read-only/],
    ],
    [
      'a required field that is internal',
      () => fieldFaults({ a: string({ internal: true }) }),
      [/fields.a: It is required but internal/],
    ],
    [
      'a field that is read-only and write-only',
      () => fieldFaults({ a: string({ readOnly: true, writeOnly: true, optional: true }) }),
      [/fields.a: .*`internal: true` instead/],
    ],
    [
      'a unique JSON field',
      () => fieldFaults({ a: json({ unique: true }) }),
      [/a.unique: A json field cannot be compared/],
    ],
    [
      'a searchable number',
      () => fieldFaults({ a: integer(untyped({ searchable: true })) }),
      [/a.searchable: There is no option/],
    ],
    [
      'a searchable field named rank',
      () => fieldFaults({ rank: string({ searchable: true }) }),
      [/rank.searchable: A field called/],
    ],
    [
      'a searchable write-only field',
      () => fieldFaults({ a: string({ searchable: true, writeOnly: true }) }),
      [/a.searchable: .*never returned by the API/],
    ],
    [
      'a searchable field whose read rule depends on the row',
      () =>
        fieldFaults({
          a: string({ searchable: true, access: { read: signedIn.and(not(field('a').eq('x'))) } }),
        }),
      [/a.searchable: Its read rule depends on the row/],
    ],
    [
      'a field rule of another kind',
      () => fieldFaults({ a: string(untyped({ access: { read: 1 } })) }),
      [/a.access: `read` is not a rule/],
    ],
    [
      'a field rule for an unknown operation',
      () => fieldFaults({ a: string(untyped({ access: { update: anyone } })) }),
      [/a.access: There is no rule `update`/],
    ],
    [
      'a field rule with an unknown field',
      () => fieldFaults({ a: string({ access: { write: owner('b') } }) }),
      [/a.access.write: `posts` has no field `b`/],
    ],
    [
      'an invalid date of a deprecation',
      () => fieldFaults({ a: string({ deprecated: { since: '2026-02-30' } }) }),
      [/a.deprecated.since: Write a date/],
    ],
    [
      'a sunset before the deprecation',
      () => postFaults({ deprecated: { since: '2026-02-01', sunset: '2026-01-01' } }),
      [/^posts.deprecated.sunset: The sunset is before/],
    ],
    [
      'an invalid sunset',
      () => postFaults({ deprecated: { since: '2026-02-01', sunset: 'soon' } }),
      [/^posts.deprecated.sunset: Write a date/],
    ],
    [
      'a deprecation of another kind',
      () => postFaults({ deprecated: true }),
      [/^posts.deprecated: Write/, /^posts.deprecated.since: Write/],
    ],

    [
      'an old name that is still in use',
      () => fieldFaults({ a: string(), b: string({ renamedFrom: 'a' }) }),
      [/b.renamedFrom: `a` still exists/],
    ],
    [
      'two fields with the same old name',
      () => fieldFaults({ a: string({ renamedFrom: 'c' }), b: string({ renamedFrom: 'c' }) }),
      [/b.renamedFrom: `a` is already renamed from `c`/],
    ],
    [
      'a collection renamed from an existing one',
      () => postFaults({ renamedFrom: 'users' }),
      [/^posts.renamedFrom: `users` still exists/],
    ],
    [
      'an invalid old name',
      () => postFaults({ renamedFrom: 'Old "name"' }),
      [/^posts.renamedFrom: A name must be/],
    ],

    [
      'a relation to an unknown collection',
      () => fieldFaults({ author_id: relation('user') }),
      [/author_id: There is no collection `user`. Did you mean `users`/],
    ],
    [
      'a relation without a name',
      () => fieldFaults({ author: relation('users') }),
      [/fields.author: .*`author_id`, or write `as`/],
    ],
    [
      'a relation named like a field',
      () => fieldFaults({ author_id: relation('users'), author: string() }),
      [/author_id.as: `posts` already has a field called `author`/],
    ],
    [
      'two inverse relations with the same name',
      () =>
        fieldFaults({
          a_id: relation('users', { inverse: 'posts' }),
          b_id: relation('users', { inverse: 'posts' }),
        }),
      [/b_id.inverse: `users` already has a relation called `posts`/],
    ],
    [
      'an inverse relation named like that of the API keys',
      () => fieldFaults({ a_id: relation('users', { inverse: 'api_keys' }) }),
      [/^api_keys.fields.user_id.inverse: `users` already has a relation/],
    ],
    [
      'onDelete clear for a required relation',
      () => fieldFaults({ a_id: relation('users', { onDelete: 'clear' }) }),
      [/a_id.onDelete: .*`optional: true`/],
    ],
    [
      'a relation to apps that blocks their deletion',
      () => fieldFaults({ a_id: relation('oauth_apps', { optional: true, onDelete: 'restrict' }) }),
      [/a_id.onDelete: Deleting an app would be refused\. Leave `onDelete` out/],
    ],
    [
      'a required relation to apps that goes with them',
      () =>
        fieldFaults({
          a_id: relation('oauth_apps', { default: currentApp, readOnly: true, onDelete: 'cascade' }),
        }),
      [
        /a_id.onDelete: Deleting an app would delete items\./,
        /a_id: .* a caller may have no app\. Write `optional: true`/,
      ],
    ],
    [
      'the app of the caller, which other apps could change',
      () => fieldFaults({ a_id: relation('oauth_apps', { optional: true, default: currentApp }) }),
      [/a_id: .*which other apps could change\. Write `readOnly: true`, or `immutable: true`/],
    ],
    [
      'the app of the caller as a user',
      () => fieldFaults({ a_id: relation('users', untyped({ optional: true, default: currentApp })) }),
      [/a_id.default: /],
    ],
    [
      'an invalid onDelete',
      () => fieldFaults({ a_id: relation('users', untyped({ onDelete: 'drop' })) }),
      [/a_id.onDelete: Write one of/],
    ],

    [
      'a many-to-many relation of another kind',
      () => postFaults({ relations: { tags: { target: 'x' } } }),
      [/^posts.relations.tags: Write `manyToMany/],
    ],
    [
      'a many-to-many relation through an unknown collection',
      () =>
        postFaults({
          relations: { fans: manyToMany('users', { through: 'likes', from: 'post_id', to: 'user_id' }) },
        }),
      [/^posts.relations.fans.through: There is no collection `likes`/],
    ],
    [
      'a many-to-many relation with wrong ends',
      () =>
        postFaults(
          { relations: { fans: manyToMany('users', { through: 'likes', from: 'user_id', to: 'fan_id' }) } },
          { likes: collection({ fields: { post_id: relation('posts'), user_id: relation('users') } }) },
        ),
      [/^posts.relations.fans.from: .*Write `post_id`/, /^posts.relations.fans.to: .*Write `user_id`/],
    ],
    [
      'a many-to-many relation with equal ends',
      () =>
        postFaults(
          { relations: { kin: manyToMany('posts', { through: 'links', from: 'a_id', to: 'a_id' }) } },
          { links: collection({ fields: { a_id: relation('posts') } }) },
        ),
      [/^posts.relations.kin.to: `from` and `to` must be two fields/],
    ],

    [
      'an index without fields',
      () => postFaults({ indexes: [index()] }),
      [/^posts.indexes\[0\]: An index needs a field/],
    ],
    [
      'an index on an unknown field',
      () => postFaults({ indexes: [unique('titel')] }),
      [/^posts.indexes\[0\]: .*Did you mean `title`/],
    ],
    [
      'an index with a duplicate field',
      () => postFaults({ indexes: [index('title', 'title')] }),
      [/^posts.indexes\[0\]: A field is named twice/],
    ],
    [
      'two indexes on the same field',
      () => postFaults({ indexes: [index('title'), unique('title')] }),
      [/^posts.indexes\[1\]: The same fields/],
    ],
    [
      'a descending index on an unknown field',
      () => postFaults({ indexes: [index('-titel')] }),
      [/^posts.indexes\[0\]: `posts` has no field `titel`.*Did you mean `title`/],
    ],
    [
      'an index with a field in both directions',
      () => postFaults({ indexes: [index('title', '-title')] }),
      [/^posts.indexes\[0\]: A field is named twice/],
    ],
    [
      'a unique index with a direction',
      () => postFaults({ fields: { a: string(), b: string() }, indexes: [unique('a', '-b')] }),
      [/^posts.indexes\[0\]: A unique index has no direction. Write `unique\('a', 'b'\)`/],
    ],
    [
      'an index and its exact reverse',
      () =>
        postFaults({
          fields: { a: string(), b: string() },
          indexes: [index('a', '-b'), index('-a', 'b'), index('a', '-b', '-id'), index('-b'), index('b')],
        }),
      [
        /^posts.indexes\[1\]: An index is read in both directions, and its exact reverse is already declared/,
        /^posts.indexes\[2\]: The same fields already have an index/,
        /^posts.indexes\[4\]: An index is read in both directions/,
      ],
    ],
    [
      'an index with fields after the id',
      () => postFaults({ indexes: [index('title', 'id', 'created_at')] }),
      [/^posts.indexes\[0\]: `id` is unique, so the fields after it have no effect. Name it last/],
    ],
    [
      'an index on a unique field',
      () => postFaults({ fields: { a: string({ unique: true }) }, indexes: [index('a')] }),
      [/^posts.indexes\[0\]: `a` is unique, so it already has an index/],
    ],
    [
      'a unique index on a unique field',
      () => postFaults({ fields: { a: string({ unique: true }) }, indexes: [unique('a')] }),
      [/^posts.indexes\[0\]: `a` is already unique/],
    ],
    [
      'a unique index with a field that is already unique',
      () =>
        postFaults({
          fields: { a: string({ unique: true }), b: string() },
          indexes: [unique('b', 'a'), unique('b', 'id')],
        }),
      [
        /^posts.indexes\[0\]: `a` alone is already unique, so this index is redundant. Leave one out/,
        /^posts.indexes\[1\]: `id` alone is already unique/,
      ],
    ],
    [
      'two unique indexes on the same fields in another order',
      () =>
        postFaults({ fields: { a: string(), b: string() }, indexes: [unique('a', 'b'), unique('b', 'a')] }),
      [/^posts.indexes\[1\]: `a` and `b` are already unique/],
    ],
    [
      'a unique index that contains the fields of another',
      () =>
        postFaults({
          fields: { a: string(), b: string(), c: string() },
          indexes: [unique('a', 'b'), unique('c', 'b', 'a')],
        }),
      [/^posts.indexes\[1\]: `a` and `b` alone are already unique/],
    ],
    [
      'an index of another kind',
      () => postFaults({ indexes: ['title'] }),
      [/^posts.indexes\[0\]: Write `index/],
    ],
    [
      'indexes that are not a list',
      () => postFaults({ indexes: index('title') }),
      [/^posts.indexes: Write a list/],
    ],
    [
      'an index on a JSON field',
      () => postFaults({ fields: { a: json() }, indexes: [index('a')] }),
      [/^posts.indexes\[0\]: `a` is a json field, which has no order/],
    ],

    [
      'a rule with an unknown field',
      () => postFaults({ access: { read: field('titel').eq('x') } }),
      [/^posts.access.read: .*Did you mean `title`/],
    ],
    [
      'a literal of another type',
      () => postFaults({ access: { read: field('title').eq(3) } }),
      [/^posts.access.read: `title` is compared with a value that it cannot have/],
    ],
    [
      'a literal that is none of the choices',
      () =>
        postFaults({
          fields: { state: choice(['open', 'done']) },
          access: { read: field('state').eq('Open') },
        }),
      [/^posts.access.read: `state` is compared with a value that it cannot have\. .*open or done/],
    ],
    [
      'a list with a literal of another type',
      () => postFaults({ access: { read: field('id').in([1, 'x']) } }),
      [/^posts.access.read: `id` is compared/],
    ],
    [
      '`in` with an empty list',
      () => postFaults({ access: { read: field('id').in([]) } }),
      [/^posts.access.read: `id`: write one value/],
    ],
    [
      '`eq` with a list',
      () => postFaults({ access: { read: field('id').eq(untyped([1])) } }),
      [/^posts.access.read: `id`: write one value/],
    ],
    [
      'a comparison with undefined',
      () => postFaults({ access: { read: field('id').eq(untyped(undefined)) } }),
      [/is compared with nothing/],
    ],
    [
      '`gt` with null',
      () => postFaults({ access: { read: field('id').gt(null) } }),
      [/`gt` cannot compare with null/],
    ],
    [
      '`gt` with a boolean',
      () => postFaults({ fields: { a: boolean() }, access: { read: field('a').gt(true) } }),
      [/`a` is a boolean field: `gt` cannot compare it/],
    ],
    [
      'an owner rule on a text',
      () => postFaults({ access: { read: owner('title') } }),
      [/`posts.title` holds no user. Name a field/],
    ],
    [
      'an owner rule on the id',
      () => postFaults({ access: { read: owner('id') } }),
      [/`posts.id` holds no user/],
    ],
    [
      '`gt` with the current user',
      () =>
        postFaults({
          fields: { a_id: relation('users') },
          access: { read: field('a_id').gt(untyped(currentUser)) },
        }),
      [/`gt` cannot compare with `currentUser`/],
    ],
    [
      'a rule along an unknown relation',
      () => postFaults({ access: { read: related('autor', anyone) } }),
      [/`posts` has no relation `autor`/],
    ],
    [
      'an `or` with a part that is not a rule',
      () => postFaults({ access: { read: anyone.or(untyped(undefined)) } }),
      [/A part of it is not a rule/],
    ],
    [
      'a `not` of something that is not a rule',
      () => postFaults({ access: { read: not(untyped('x')) } }),
      [/A part of it is not a rule/],
    ],
    [
      'a rule of an unknown kind',
      () => postFaults({ access: { read: { rule: { kind: 'some' } } } }),
      [/A part of it is not a rule/],
    ],
    ['a role rule without a role', () => postFaults({ access: { read: role() } }), [/A role must be named/]],
    [
      'an unknown scope',
      () => postFaults({ access: { read: scope('read:posts') } }),
      [/no scope `read:posts`. Did you mean `read:post`/],
    ],
    [
      'a rule along too many relations',
      () => {
        let far: AccessRule = anyone
        for (let step = 0; step < 6; step++) far = related('next', far)
        return postFaults({ fields: { next_id: relation('posts') }, access: { read: far } })
      },
      [/^posts.access.read: The rule goes through more than 5 relations/],
    ],
    [
      'a cyclic rule',
      () => {
        const round: Record<string, unknown> = { kind: 'not' }
        round.part = round
        return postFaults({ access: { read: { rule: round } } })
      },
      [/^posts.access.read: The rule is nested more than 50 deep/],
    ],
  ]

for (const [name, declaration, faults] of wrong) {
  test(`a model is refused: ${name}`, () => {
    const list = declaration()
    assert.equal(list.length, faults.length, list.join('\n'))
    faults.forEach((fault, index) => void assert.match(list[index] ?? '', fault))
  })
}

test('a value other than a string is a fault where a string is needed', () => {
  const link = (options: object) => fieldFaults({ writer_id: relation('users', untyped(options)) })
  for (const option of ['as', 'inverse'])
    assert.deepEqual(link({ [option]: 5 }), [`posts.fields.writer_id.${option}: Write a text in quotes.`])
  const deprecated = untyped({ since: '2026-01-01', reason: 5 })
  const place = 'deprecated.reason: Write a text in quotes.'
  assert.deepEqual(postFaults({ deprecated }), [`posts.${place}`])
  assert.deepEqual(fieldFaults({ a: string({ deprecated }) }), [`posts.fields.a.${place}`])
})

test('a cyclic JSON Schema is a fault', () => {
  const schema: { type: string; properties?: object } = { type: 'object' }
  schema.properties = { child: schema, other: schema }
  const [fault] = fieldFaults({ a: json({ schema: untyped(schema) }) })
  assert.match(String(fault), /^posts\.fields\.a\.schema: This is not a valid JSON Schema \(2020-12\)/)
})

test('member names and values in a JSON Schema are not taken for keywords', () => {
  const properties = {
    $schema: { type: 'string' },
    $ref: { type: 'string' },
    pattern: { type: 'object', properties: { maxLength: { type: 'integer' } } },
  }
  const fine = [
    { type: 'object', properties },
    { enum: [{ pattern: 'x' }, { $ref: 'y' }] },
    { type: 'object', default: { pattern: 'x', $id: 'y' } },
    { type: 'object', dependentSchemas: { $id: { required: ['$ref'] } } },
  ]
  for (const schema of fine) assert.deepEqual(fieldFaults({ a: json({ schema }) }), [])
  const hidden = [
    { type: 'object', properties: { $ref: { $ref: '#' } } },
    { anyOf: [{ items: { $id: 'x' } }] },
    { type: 'object', dependentSchemas: { a: { $anchor: 'x' } } },
  ]
  for (const schema of hidden) {
    assert.match(String(fieldFaults({ a: json({ schema: untyped(schema) }) })), /cannot be used here/)
  }
  const open = { type: 'object', properties: { maxLength: { type: 'string', pattern: '^x' } } }
  assert.match(
    String(fieldFaults({ a: json({ schema: open }) })),
    /Matching a `pattern` against a long text may take long/,
  )
})

test('patternProperties needs a limit for the length of names', () => {
  const open = { type: 'object', patternProperties: { '^(x+)+$': { type: 'string' } } }
  const place = 'posts.fields.a.schema'
  assert.match(String(fieldFaults({ a: json({ schema: open }) })), new RegExp(`^${place}: .*propertyNames`))
  const inner = { type: 'array', items: { ...open, propertyNames: { pattern: '^x', maxLength: 9 } } }
  assert.deepEqual(fieldFaults({ a: json({ schema: inner }) }), [])
})

test('a member name beyond its limit is not matched with a pattern that could backtrack exponentially', () => {
  const schema = {
    type: 'object',
    patternProperties: { '^(x+)+$': { type: 'string' } },
    propertyNames: { maxLength: 20 },
    additionalProperties: false,
  }
  const declared = model({ posts: collection({ fields: { a: json({ schema }) } }) })
  const posts = checkModel(declared).collections.get('posts')
  assert.ok(posts)
  const body = { a: { [`${'x'.repeat(100)}y`]: 'z' } }
  for (const mode of ['create', 'replace'] as const) {
    assert.throws(() => bodyValidator(posts)[mode](body), { code: 'VALIDATION_FAILED' }, mode)
  }
  assert.throws(
    () => requireDocuments([{ field: posts.fields.get('a') as never, value: body.a, maxLength: undefined }]),
    {
      code: 'VALIDATION_FAILED',
    },
  )
})

test('a field that only some roles may write cannot be part of the sign-up, in whatever form the rule is written', () => {
  const signUpFaults = (write: AccessRule) => {
    const fields = { about: string({ optional: true, signUp: true, access: { write } }) }
    return faultsOf(model({ users: users({ fields }) }))
  }
  const [admin, editor] = [role('admin'), role('editor')]
  for (const rule of [admin, nobody, admin.or(editor), signedIn.and(admin), anyone.and(admin.or(nobody))])
    assert.match(String(signUpFaults(rule)), /^users\.fields\.about\.signUp: .* its `write` rule forbids/)
  for (const rule of [anyone, signedIn, owner('id').or(admin), signedIn.and(owner('id'))])
    assert.deepEqual(signUpFaults(rule), [])
})

test('all faults are reported together, each with its place', () => {
  const declaration = model({
    posts: collection({
      fields: { id: string(), text: text({ max: 0.5 }), author: relation('user') },
      access: { read: owner('autor' as string), create: role() },
    }),
    sheep: collection({ fields: {}, indexes: [index('x')] }),
  })
  const places = faultsOf(declaration).map(fault => fault.slice(0, fault.indexOf(':')))
  assert.deepEqual(places.sort(), [
    ...['posts.access.create', 'posts.access.read', 'posts.fields.author', 'posts.fields.author'],
    ...['posts.fields.id', 'posts.fields.text.max', 'sheep.indexes[0]', 'sheep.singular'],
  ])
  assert.throws(() => checkModel(declaration), /^ModelError: The model has 8 faults:\n {2}posts/)
})

test('an invalid relation is reported once, and not again where it is used', () => {
  const isAuthor = owner('author_id').or(role('admin'))
  const posts = collection(
    untyped({
      fields: {
        title: string(),
        author_id: relation('user', { inverse: 'posts', default: currentUser }),
        editor_id: relation('users', { inverse: 'edited' }),
      },
      relations: { tags: manyToMany('tagz', { through: 'post_tags', from: 'post_id', to: 'tag_id' }) },
      computed: {
        writer: computed(field('author.name'), {}),
        size: count('post_tags'),
        labels: count('tags'),
      },
      access: {
        read: related('author', field('role').eq('admin')).or(field('author.name').eq('Ann')),
        create: isAuthor,
        update: related('post_tags', related('tag', anyone)),
        delete: field('editor_id').eq(field('author_id')),
      },
    }),
  )
  const post_tags = collection({
    fields: { post_id: relation('post', { inverse: 'post_tags' }), tag_id: relation('tags') },
  })
  const tags = collection({
    fields: { name: string() },
    relations: { posts: manyToMany('posts', { through: 'post_tags', from: 'tag_id', to: 'post_id' }) },
    access: { read: related('posts', owner('author_id')) },
  })
  const faults = faultsOf(model(untyped({ posts, post_tags, tags })))
  assert.deepEqual(
    faults.map(fault => fault.replace(/\. Did.*/, '')),
    [
      'posts.fields.author_id: There is no collection `user`',
      'post_tags.fields.post_id: There is no collection `post`',
      'posts.relations.tags: There is no collection `tagz`',
    ],
  )
})

test('a rule along `undefined` or `__proto__` is reported even together with another fault', () => {
  const fields = { title: string(), writer_id: relation('users', { as: 'title' }) }
  const read = related('title', anyone).or(related(untyped(undefined), anyone), related('__proto__', anyone))
  const faults = faultsOf(model(untyped({ posts: collection(untyped({ fields, access: { read } })) })))
  assert.deepEqual(faults, [
    'posts.fields.writer_id.as: `posts` already has a field called `title`. Choose another name.',
    'posts.access.read: `posts` has no relation `undefined`.',
    'posts.access.read: `posts` has no relation `__proto__`.',
  ])
})

test('faults of a relation in the input of a job are reported', () => {
  const input = {
    user_id: relation('posts', untyped({ default: currentUser })),
    post_id: relation('posts', untyped({ access: { write: owner('post_id') } })),
  }
  const jobs = { tidy: job({ input, run() {} }) }
  const faults = faultsOf(model({ posts: collection({ fields: { title: string() } }) }, { jobs }))
  assert.equal(faults.length, 2, faults.join('\n'))
  assert.match(faults[0] ?? '', /user_id.default: `currentUser` does not fit/)
  assert.match(faults[1] ?? '', /post_id` holds no user/)
})

test('an invalid rule shared by several operations is reported once; equal but separate rules are reported each', () => {
  const shared = owner('autor_id' as 'author_id').or(not(scope('read:pots')))
  const fields = { author_id: relation('users') }
  const posts = collection({
    fields,
    access: { read: shared, create: shared, update: role(), delete: role() },
  })
  const notes = collection({ fields, access: { read: shared } })
  assert.deepEqual(
    faultsOf(model(untyped({ posts, notes }))).map(fault => fault.slice(0, fault.indexOf('.', 30))),
    [
      'posts.access.read: `posts` has no field `autor_id`',
      'posts.access.read: There is no scope `read:pots`',
      'posts.access.update: A role must be named',
      'posts.access.delete: A role must be named',
      'notes.access.read: `notes` has no field `autor_id`',
    ],
  )
})

test('rules on the caller alone, and rules along the maximum of relations, are valid', () => {
  let far: AccessRule = field('title').eq('x')
  for (let step = 0; step < 5; step++) far = related('next', far)
  const fields = {
    title: string(),
    next_id: relation('posts', { inverse: 'previous' }),
    key: uuid({ optional: true }),
  }
  const access = {
    read: far,
    create: nobody,
    update: signedIn.and(scope('write:post')),
    delete: related('previous', anyone),
  }
  assert.deepEqual(postFaults({ fields, access }), [])
})

test('the owner and administrators manage an OAuth app; its scopes are those of the model and of OpenID Connect', () => {
  const apps = checkModel(blog).collections.get('oauth_apps')
  const own = { kind: 'compare', field: 'user_id', comparison: 'eq', operand: { kind: 'userId' } }
  const ofAdministrators = {
    kind: 'and',
    parts: [{ kind: 'role', roles: ['admin'] }, { kind: 'firstParty' }],
  }
  const orAdministrators = { kind: 'or', parts: [own, ofAdministrators] }
  assert.deepEqual(apps?.access, {
    read: orAdministrators,
    create: { kind: 'signedIn' },
    update: orAdministrators,
    delete: own,
  })
  const items = { type: 'string', enum: ['openid', 'profile', 'email', 'offline_access', ...blogScopes] }
  assert.deepEqual(apps?.fields.get('scopes')?.type.schema.items, items)
  assert.deepEqual(apps?.fields.get('default_scopes')?.type.schema.items, items)
  assert.equal(apps?.fields.get('client_id')?.readOnly, true)
  assert.equal(apps?.fields.get('type')?.immutable, true)
})

test('a redirect URI of an app is https, http to a loopback address, or a private-use scheme', () => {
  const type = checkModel(blog).collections.get('oauth_apps')?.fields.get('redirect_uris')?.type
  const { pattern = '' } = (type?.schema.items ?? {}) as { pattern?: string }
  const fits = (uri: string) => new RegExp(pattern, 'u').test(uri)
  for (const uri of [
    'https://example.com/cb',
    'https://example.com',
    'https://example.com:8443/cb?x=1&y=%20',
    'https://[2001:db8::1]/cb',
    'https://example.com/@me',
    'http://localhost/cb',
    'http://127.0.0.1:4711/cb',
    'http://[::1]:1/',
    'com.example.app:/cb',
    'com.example.app://cb/x',
  ]) {
    assert.ok(fits(uri), uri)
  }
  for (const uri of [
    '',
    'http://example.com/cb',
    'http://localhost.example.com/cb',
    'http://127.0.0.1.example.com/',
    'http://localhost@example.com/',
    'https://user@example.com/cb',
    'https://example.com/cb#x',
    'https://example.com\\@evil.example/',
    'https:///cb',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'myapp:/cb',
    ' https://example.com/cb',
    'https://example.com/cb\n',
    'https://exämple.com/cb',
    'HTTPS://example.com/cb',
  ]) {
    assert.ok(!fits(uri), uri)
  }
})

test('only the owner of an app can read, create and delete its secrets, and no caller can update them', () => {
  const secrets = checkModel(blog).collections.get('oauth_app_secrets')
  const own = { kind: 'compare', field: 'user_id', comparison: 'eq', operand: { kind: 'userId' } }
  const ofOwn = { kind: 'related', relation: 'app', rule: own }
  assert.deepEqual(secrets?.access, { read: ofOwn, create: ofOwn, update: { kind: 'nobody' }, delete: ofOwn })
  assert.equal(secrets?.fields.get('hash')?.internal, true)
})
