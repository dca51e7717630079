/** Valid and invalid declarations of `prepare`, `check` and limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyone,
  atMost,
  caller,
  collection,
  currentUser,
  field,
  integer,
  json,
  model,
  nobody,
  now,
  owner,
  related,
  relation,
  string,
} from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import type { Declaration } from '../../src/model/declaration.ts'
import { faultsIn } from './faults.ts'

const fields = {
  title: string(),
  size: integer({ optional: true }),
  extra: json({ optional: true }),
  hidden: string({ optional: true, internal: true }),
  user_id: relation('users', { inverse: 'posts', default: currentUser }),
}

function faultsOf(options: object): readonly string[] {
  return faultsIn(() =>
    checkModel(model({ posts: collection({ fields, ...options } as never) }) as Declaration),
  )
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

test('valid declarations are accepted, and limits get a default message', () => {
  const where = field('title')
    .ne('x')
    .and(field('size').gt(3).or(field('size').eq(null)))
  const options = {
    prepare: () => ({}),
    check: () => [],
    limits: [atMost(3, { per: 'user_id', where }), atMost(9)],
  }
  assert.deepEqual(faultsOf(options), [])
  const { collections } = checkModel(model({ posts: collection({ fields, ...options }) }) as Declaration)
  assert.deepEqual(
    collections.get('posts')?.limits.map(({ count, message }) => [count, message]),
    [
      [3, 'There can be at most 3 posts with the same user_id, and this limit is reached.'],
      [9, 'There can be at most 9 posts, and this limit is reached.'],
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
