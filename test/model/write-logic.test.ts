/** Valid and invalid declarations of `prepare`, `check` and limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyone,
  atMost,
  caller,
  check,
  collection,
  currentUser,
  field,
  integer,
  json,
  model,
  nobody,
  noOverlap,
  now,
  number,
  owner,
  related,
  relation,
  string,
  times,
  users,
} from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import type { Declaration } from '../../src/model/declaration.ts'
import { faultsIn } from './faults.ts'

const fields = {
  title: string(),
  subtitle: string({ optional: true }),
  size: integer({ optional: true }),
  width: integer({ optional: true }),
  extra: json({ optional: true }),
  hidden: string({ optional: true, internal: true }),
  user_id: relation('users', { inverse: 'posts', default: currentUser }),
  editor_id: relation('users', { inverse: 'edited', optional: true }),
}

const people = users({
  fields: {
    karma: integer({ optional: true }),
    score: number({ optional: true }),
    secret: integer({ optional: true, internal: true }),
    boss_id: relation('users', { inverse: 'reports', optional: true }),
  },
  computed: { doubled: times(field('karma'), 2) },
})

function faultsOf(options: object): readonly string[] {
  return faultsIn(() =>
    checkModel(
      model({ users: people, posts: collection({ fields, ...options } as never) } as never) as Declaration,
    ),
  )
}

function boundBy(path: string, per: string) {
  return atMost(field(path), { per })
}

const refused: readonly (readonly [name: string, options: object, message: RegExp])[] = [
  [
    'a prepare that is not a function',
    { prepare: {} },
    /^posts\.prepare: Write a function: `prepare: \(\{ next/,
  ],
  ['an async prepare', { prepare: async () => ({}) }, /^posts\.prepare: It must be a plain function/],
  ['a check that is a generator', { check: function* () {} }, /^posts\.check: It must be a plain function/],
  ['limits that are not a list', { limits: atMost(1) }, /^posts\.limits: Write a list/],
  [
    'a limit of another kind',
    { limits: [5] },
    /^posts\.limits\[0\]: This is not a limit\. Write e\.g\. `atMost/,
  ],
  ['a limit of zero', { limits: [atMost(0)] }, /^posts\.limits\[0\]: Write the limit as a whole number/],
  ['a fractional limit', { limits: [atMost(1.5)] }, /^posts\.limits\[0\]: Write the limit as a whole number/],
  ...(
    [
      [
        'without `per`',
        atMost(field('user.karma')),
        /`user\.karma` is no field of the item that `per` refers/,
      ],
      [
        'of another relation',
        boundBy('user.karma', 'editor_id'),
        /is no field of the item that `per` refers/,
      ],
      ['of the item itself', boundBy('size', 'user_id'), /`size` is no field of the item that `per` refers/],
      ['further away', boundBy('user.boss.karma', 'user_id'), /is no field of the item that `per` refers/],
      ['that is unknown', boundBy('user.karmaa', 'user_id'), /no field `karmaa`\. Did you mean `karma`\?/],
      ['of an unknown relation', boundBy('usr.karma', 'user_id'), /Did you mean `user`\?/],
      ['that is computed', boundBy('user.doubled', 'user_id'), /`users` has no field `doubled`/],
      ['that is fractional', boundBy('user.score', 'user_id'), /`user\.score` is a number field\. Only an/],
      ['that is the id', boundBy('user.id', 'user_id'), /`user\.id` is the id of its item\. Only an integer/],
      [
        'that refers to an item',
        boundBy('user.boss_id', 'user_id'),
        /is a relation field\. Only an integer field/,
      ],
      ['that is internal', boundBy('user.secret', 'user_id'), /`user\.secret` is internal/],
    ] as const
  ).map(([what, limit, message]) => [`a limit by a field ${what}`, { limits: [limit] }, message] as const),
  ...(
    [
      ['unknown fields', noOverlap('size', 'sizes'), /`posts` has no field `sizes`\. Did you mean `size`\?/],
      ['internal fields', noOverlap('size', 'hidden'), /`posts` has no field `hidden`/],
      ['texts', noOverlap('title', 'subtitle'), /An interval has two .* fields, not string and string/],
      ['ids', noOverlap('user_id', 'editor_id'), /An interval has two .* fields, not relation and relation/],
      [
        'two types',
        noOverlap('size', 'created_at'),
        /An interval has two .* fields, not integer and datetime/,
      ],
      ['one field', noOverlap('size', 'size'), /A field is named twice/],
      ['the start in `per`', noOverlap('size', 'width', { per: 'size' }), /A field is named twice/],
      ['an unknown `per`', noOverlap('size', 'width', { per: 'user' }), /\.per: `posts` has no field `user`/],
      ['JSON in `per`', noOverlap('size', 'width', { per: 'extra' }), /\.per: `extra` is a json field/],
      [
        'an option',
        noOverlap('size', 'width', { mesage: 'a' } as never),
        /no option `mesage`\. Did you mean `message`\?/,
      ],
      [
        'another item',
        noOverlap('size', 'width', { where: field('user.karma').eq(1) }),
        /only on the item itself/,
      ],
      ['no names', { kind: 'noOverlap', options: {} }, /`posts` has no field/],
      ['a number', { kind: 'noOverlap', interval: 5, options: {} } as never, /This is not a limit/],
    ] as const
  ).map(([what, limit, message]) => [`a noOverlap with ${what}`, { limits: [limit] }, message] as const),
  [
    'a limit with an unknown option',
    { limits: [atMost(1, { mesage: 'a' } as never)] },
    /no option `mesage`\. Did you mean `message`\?/,
  ],
  [
    'a limit per unknown field',
    { limits: [atMost(1, { per: 'titel' })] },
    /^posts\.limits\[0\]\.per: .*Did you mean `title`\?/,
  ],
  [
    'a limit per internal field',
    { limits: [atMost(1, { per: 'hidden' })] },
    /^posts\.limits\[0\]\.per: .*no field `hidden`/,
  ],
  ['a limit per JSON field', { limits: [atMost(1, { per: 'extra' })] }, /whose values cannot be compared/],
  [
    'a condition on the caller',
    { limits: [atMost(1, { where: owner('user_id') })] },
    /^posts\.limits\[0\]\.where: Whether an item counts/,
  ],
  [
    'a condition on the time',
    { limits: [atMost(1, { where: field('created_at').lt(now) })] },
    /^posts\.limits\[0\]\.where: /,
  ],
  [
    'a condition on a field of the caller',
    { limits: [atMost(1, { where: field('title').eq(caller('name')) })] },
    /^posts\.limits\[0\]\.where: /,
  ],
  [
    'a condition on a related item',
    { limits: [atMost(1, { where: related('user', field('name').eq('a')) })] },
    /^posts\.limits\[0\]\.where: Whether an item counts/,
  ],
  [
    'an empty message',
    { limits: [atMost(1, { message: '' })] },
    /^posts\.limits\[0\]\.message: Write a sentence/,
  ],
]

for (const [name, options, message] of refused) {
  test(`refused: ${name}`, () => {
    const faults = faultsOf(options)
    assert.ok(
      faults.some(fault => message.test(fault)),
      faults.join('\n') || 'no fault',
    )
  })
}

test('a check that reads needs a collection of its own, and a function', () => {
  const faults = (checks: object) =>
    faultsIn(() =>
      checkModel(model({ posts: collection({ fields }) }, { checks } as never) as Declaration),
    ).join()
  assert.equal(faults({ posts: check(async () => []), users: check(() => undefined) }), '')
  assert.match(
    faults({ post: check(() => []) }),
    /^checks\.post: There is no collection `post`\. Did you mean `posts`\?/,
  )
  assert.match(faults({ api_keys: check(() => []) }), /^checks\.api_keys: `api_keys` is built in/)
  assert.match(faults({ posts: () => [] }), /^checks\.posts: This is not a check\. Write `check\(async/)
  assert.match(faults({ posts: check(5 as never) }), /^checks\.posts: This is not a check/)
  const twice = () =>
    model(
      { posts: collection({ fields }) },
      { checks: { posts: check(() => []) } },
      { checks: { posts: check(() => []) } },
    )
  assert.match(faultsIn(twice).join(), /^checks\.posts: Both parts of the logic declare this name/)
})

test('valid declarations are accepted, and limits get a default message', () => {
  const where = field('title')
    .ne('x')
    .and(field('size').gt(3).or(field('size').eq(null)))
  const options = {
    prepare: () => ({}),
    check: () => [],
    limits: [
      atMost(3, { per: 'user_id', where }),
      atMost(9),
      atMost(field('user.karma'), { per: 'user_id' }),
      noOverlap('size', 'width', { per: 'title', where }),
      noOverlap('created_at', 'updated_at'),
    ],
    updatedAt: true as const,
  }
  assert.deepEqual(faultsOf(options), [])
  const { collections } = checkModel(
    model({ users: people, posts: collection({ fields, ...options }) }) as Declaration,
  )
  assert.deepEqual(
    collections
      .get('posts')
      ?.limits.map(limit => [limit.kind === 'count' ? limit.count : limit.start.name, limit.message]),
    [
      [3, 'There can be at most 3 posts with the same user_id, and this limit is reached.'],
      [9, 'There can be at most 9 posts, and this limit is reached.'],
      [
        { collection: 'users', field: 'karma', path: 'user.karma' },
        'There can be at most as many posts with the same user_id as user.karma says, and this limit is reached.',
      ],
      ['size', 'No two posts with the same title can overlap between size and width.'],
      ['created_at', 'No two posts can overlap between created_at and updated_at.'],
    ],
  )
})

test('a required field may be read-only if the collection has a `prepare`', () => {
  const slug = { ...fields, slug: string({ readOnly: true }) }
  assert.deepEqual(faultsOf({ fields: slug, prepare: () => ({ slug: 'a' }) }), [])
  assert.match(
    faultsOf({ fields: slug }).join(),
    /^posts\.fields\.slug: It is required but read-only.* a `prepare` of the collection that sets it, or `create: nobody`/,
  )
})

test('a required field may be one that no caller can write if the service alone creates items', () => {
  const service = { create: nobody, read: anyone }
  for (const slug of [string({ readOnly: true }), string({ access: { write: nobody } })]) {
    assert.deepEqual(faultsOf({ fields: { ...fields, slug }, access: service }), [])
    assert.equal(faultsOf({ fields: { ...fields, slug }, access: { read: anyone } }).length, 1)
  }
  const internal = string({ internal: true })
  assert.match(
    faultsOf({ fields: { ...fields, internal }, access: service }).join(),
    /It is required but internal/,
  )
})
