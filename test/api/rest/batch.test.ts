/** Writes of several items: their limits, their references, and the collections and rules that they involve. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addCollections } from '../../../src/api/rest/batch/collections.ts'
import { Results, referencesIn, resolveBody, resolvePath } from '../../../src/api/rest/batch/references.ts'
import { faultAt } from '../../../src/api/rest/place.ts'
import { findRoute } from '../../../src/api/rest/routes.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import blog from '../../models/blog.ts'
import { admin, ann, seedBlog } from '../contract/rest/blog.ts'
import { openStore, sqlite } from '../contract/rest/databases.ts'
import { type Harness, openHarness } from '../contract/rest/harness.ts'

async function withHarness(use: (harness: Harness) => Promise<void>): Promise<void> {
  const harness = await openHarness(checkModel(blog), model => openStore(sqlite, model))
  try {
    await seedBlog(harness)
    await use(harness)
  } finally {
    await harness.close()
  }
}

async function send(harness: Harness, operations: readonly unknown[]) {
  const { status, body } = await harness.send(
    { method: 'POST', url: '/api/v1/batch', body: { operations } },
    ann,
  )
  return { status, text: String(body) }
}

test('the results of a batch are limited in total, and a batch over the limit is rolled back', () =>
  withHarness(async harness => {
    for (let index = 0; index < 10; index++) {
      await harness.seed('posts', { title: 'long', body: 'x'.repeat(40_000), author_id: 2 })
    }
    const before = await harness.dump()
    const list = { method: 'GET', path: '/posts?per_page=100' }
    const few = await send(
      harness,
      Array.from({ length: 4 }, () => list),
    )
    assert.equal(few.status, 200)
    const change = { method: 'PATCH', path: '/posts/1', body: { title: 'changed' } }
    const many = await send(harness, [change, ...Array.from({ length: 99 }, () => list)])
    assert.equal(many.status, 400, many.text.slice(0, 200))
    assert.match(many.text, /"ANSWER_TOO_LARGE".*more than 2 MiB/)
    assert.deepEqual(await harness.dump(), before)
  }))

test('the text copied by references is limited in total', () =>
  withHarness(async harness => {
    const long = { method: 'POST', path: '/posts', body: { title: 'a', body: 'x'.repeat(60_000) }, as: 'a' }
    const copy = { method: 'POST', path: '/posts', body: { title: 'b', body: '$a.body' } }
    const few = await send(harness, [long, ...Array.from({ length: 10 }, () => copy)])
    assert.equal(few.status, 200, few.text.slice(0, 200))
    const before = await harness.dump()
    const many = await send(harness, [long, ...Array.from({ length: 99 }, () => copy)])
    assert.equal(many.status, 400, many.text.slice(0, 200))
    assert.match(many.text, /1,048,576 characters/)
    assert.deepEqual(await harness.dump(), before)
  }))

test('a body without references stays unchanged, except for doubled dollar signs', () => {
  const results = new Results()
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      fc.pre([...referencesIn(value)].length === 0 && !JSON.stringify(value).includes('"$$'))
      assert.deepEqual(resolveBody(value, results), value)
    }),
  )
})

test('every text can be written, whatever it looks like', () => {
  const lookalikes = fc.oneof(
    fc.string(),
    fc.stringMatching(/^\$+[a-z]*\.?[a-z]*$/),
    fc.constantFrom('$a.id', '$$a.id', '$', '$$', '$5.00', '$a', '$a.id '),
  )
  fc.assert(
    fc.property(lookalikes, text => {
      const written = text.startsWith('$') ? `$${text}` : text
      assert.deepEqual(resolveBody({ text: [written] }, new Results()), { text: [text] })
    }),
  )
})

test('only a whole text or path segment is a reference', () => {
  const results = new Results()
  results.add('a', '{"id":7}')
  for (const text of ['$a.id and more', '$a.id.', '$a.id$a.id', ' $a.id', '$5.00', '$a.', '$.id'])
    assert.equal(resolveBody(text, results), text)
  assert.equal(resolvePath('/users/$a.id-x/x$a.id', results), '/users/$a.id-x/x$a.id')
})

test('references resolve to own members of results, not to inherited ones', () => {
  const results = new Results()
  results.add('a', '{"id":7,"name":"Ann","gone":null,"list":[1]}')
  results.add('none', null)
  assert.equal(resolvePath('/users/$a.id/posts', results), '/users/7/posts')
  const body = JSON.parse('{"a":"$a.id","b":["$a.name",{"__proto__":"$a.gone"}]}')
  assert.equal(JSON.stringify(resolveBody(body, results)), '{"a":7,"b":["Ann",{"__proto__":null}]}')
  for (const text of ['$a.list', '$a.toString', '$a.__proto__', '$none.id', '$b.id']) {
    assert.throws(() => resolveBody(text, results), { code: 'BAD_REQUEST' }, text)
  }
  for (const path of ['/users/$a.name', '/users/$a.gone', '/users/$none.id']) {
    assert.throws(() => resolvePath(path, results), { code: 'BAD_REQUEST' }, path)
  }
})

test('the collections of a batch include those reached through related lists and includes', () => {
  const model = checkModel(blog)
  const collectionsOf = (path: string, query = '') => {
    const collections = new Set<string>()
    const route = findRoute(model, `/api/v1${path}`)
    assert.ok(route, path)
    addCollections(model, route, query, collections)
    return [...collections].sort()
  }
  assert.deepEqual(collectionsOf('/posts/1'), ['posts'])
  assert.deepEqual(collectionsOf('/posts/1', 'include=author'), ['posts', 'users'])
  assert.deepEqual(collectionsOf('/users/1/posts'), ['posts', 'users'])
  assert.deepEqual(collectionsOf('/users/1/posts/aggregate'), ['posts', 'users'])
  assert.deepEqual(collectionsOf('/users/aggregate'), ['users'])
})

test('creating several users with roles requires a recent sign-in', () =>
  withHarness(async harness => {
    const create = (body: unknown, signedInAt: number) =>
      harness.send({ method: 'POST', url: '/api/v1/users', body }, { ...admin, signedInAt })
    const eve = { name: 'Eve', email: 'eve@example.com' }
    const before = await harness.dump()
    const late = await create([eve, { name: 'Mia', email: 'mia@example.com', role: 'admin' }], 0)
    assert.equal(late.status, 403, String(late.body))
    assert.match(String(late.body), /sign in again/)
    assert.deepEqual(await harness.dump(), before)
    assert.equal((await create([eve], 0)).status, 201, 'without a role')
    assert.equal(
      (await create([{ name: 'Mia', email: 'mia@example.com', role: 'x' }], Date.now())).status,
      201,
    )
  }))

test('the error of one item keeps the rule that refused it, for the log', () => {
  const refused = { collection: 'posts', operation: 'create' }
  const error = faultAt(new ApiError('FORBIDDEN', 'No.', { refused }), '[1]', '[1]')
  assert.ok(error instanceof ApiError)
  assert.deepEqual(error.refused, refused)
})
