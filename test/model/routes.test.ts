/** Routes that are refused at the start, each with its place and what to write instead. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyone,
  checkModel,
  collection,
  field,
  integer,
  item,
  model,
  owner,
  relation,
  role,
  route,
  signedIn,
  text,
} from '../../src/index.ts'
import { faultsIn, untyped } from './faults.ts'

const run = () => undefined
const base = { access: anyone, run } as const
const collections = {
  notes: collection({ fields: { body: text(), owner_id: relation('users', { inverse: 'notes' }) } }),
}

const checked = (routes: object) => checkModel(model(collections, untyped({ routes })))
const faults = (routes: object) => faultsIn(() => checked(routes))

/** The faults of a route called `own`. */
const faultsOfOne = (options: object) => faults({ own: route(untyped({ ...base, ...options })) })

test('what is omitted: POST, below /hooks by the name, 6,000 requests a minute, a body that is not parsed', () => {
  const { routes } = checked({ own: route(base) }).logic
  const { run: _, access, ...rest } = routes.get('own') ?? assert.fail()
  assert.deepEqual(rest, {
    ...{ name: 'own', method: 'POST', path: '/hooks/own', description: undefined, input: undefined },
    rateLimit: { requests: 6000, seconds: 60 },
  })
  assert.equal(access.kind, 'anyone')
})

test('paths that are fine', () => {
  for (const path of [
    ...[
      'a',
      'a/b',
      ':id',
      'a/:id/b',
      'a.b~c_d-e',
      '/a',
      '/a/:id',
      '/hooks/a',
      '/apiary',
      '/documents/x',
      '...',
    ],
  ]) {
    assert.deepEqual(faultsOfOne({ path }), [], path)
  }
})

test('a path that is no path of a route', () => {
  for (const path of [
    ...[
      '',
      '/',
      'a/',
      '/a/',
      'a//b',
      '//a',
      '.',
      '..',
      'a/../b',
      '/./a',
      'a b',
      'ä',
      'a%20b',
      'a?x',
      'a#x',
      'a;b',
    ],
    ...['a/:', 'a/:Id', 'a/:1', 'a/:a-b', 'a/x:id', 'a/:id.ics', '*', 'a/*', 'a\\b', 'a\nb', 'a'.repeat(200)],
  ]) {
    const [fault = '', ...more] = faultsOfOne({ path })
    assert.match(fault, /^routes\.own\.path: `.*` is not a path of a route\. Write segments/s, path)
    assert.deepEqual(more, [])
  }
  assert.match(faultsOfOne({ path: '/:all' })[0] ?? '', /cannot begin with a parameter/)
  assert.match(faultsOfOne({ path: 'a/:x/:x' })[0] ?? '', /Two parameters have one name/)
})

test('paths of Portico itself are reserved, however they are spelled', () => {
  const reserved = [
    'api',
    'graphql',
    'oauth',
    'account',
    'docs',
    'dev',
    'healthz',
    'readyz',
    'metrics',
    'mcp',
  ]
  for (const first of [
    ...reserved,
    'console',
    'developers',
    'files',
    'uploads',
    '.well-known',
    'API',
    'Healthz',
  ]) {
    for (const path of [`/${first}`, `/${first}/x`]) {
      assert.match(
        faultsOfOne({ path })[0] ?? '',
        /^routes\.own\.path: .* is reserved for paths of Portico/,
        path,
      )
    }
    assert.deepEqual(faultsOfOne({ path: `x/${first}` }), [])
  }
})

test('two routes that one request could fit', () => {
  const two = (one: object, other: object) =>
    faults({ one: route({ ...base, ...one }), two: route({ ...base, ...other }) })
  for (const [one, other] of [
    [{ path: 'a' }, { path: '/hooks/a' }],
    [{ path: 'two' }, {}],
    [{ path: 'a/:x' }, { path: 'a/:y' }],
    [{ path: 'a/:x' }, { path: 'a/b' }],
    [{ path: 'a/:x/c' }, { path: 'a/b/:y' }],
  ]) {
    assert.match(
      two(one ?? {}, other ?? {})[0] ?? '',
      /^routes\.two\.path: .*`routes\.one` can be the same path/,
    )
  }
  for (const [one, other] of [
    [{ path: 'a' }, { path: 'A' }],
    [{ path: 'a/:x' }, { path: 'a/:x/b' }],
    [{ path: 'a/:x/c' }, { path: 'a/:x/d' }],
    [{ path: 'a', method: 'GET' }, { path: 'a' }],
  ]) {
    assert.deepEqual(two(one ?? {}, other ?? {}), [])
  }
})

test('access must be said, and be about the caller', () => {
  assert.match(
    faultsOfOne({ access: undefined })[0] ?? '',
    /^routes\.own\.access: Say who may call it: `anyone`/,
  )
  for (const access of [owner('owner_id'), signedIn.and(field('body').eq('x')), field('id').eq(1)]) {
    assert.notDeepEqual(faultsOfOne({ access }), [])
  }
  for (const access of [anyone, signedIn, role('admin').or(role('staff'))]) {
    assert.deepEqual(faultsOfOne({ access }), [])
  }
  assert.notDeepEqual(faultsOfOne({ access: true }), [])
})

test('options that do not fit', () => {
  const rows: readonly (readonly [options: object, fault: RegExp])[] = [
    [{ method: 'HEAD' }, /^routes\.own\.method: Write one of 'GET'/],
    [{ method: 'post' }, /^routes\.own\.method/],
    [{ method: 'OPTIONS' }, /^routes\.own\.method/],
    [{ acess: anyone }, /^routes\.own: There is no option `acess`\. Did you mean `access`/],
    [{ run: undefined }, /^routes\.own\.run: /],
    [{ raw: 'yes' }, /^routes\.own\.raw: /],
    [{ raw: true, input: { n: integer() } }, /^routes\.own\.input: With `raw`, the body is not parsed/],
    [{ method: 'GET', input: { n: integer() } }, /^routes\.own\.input: A GET has no body/],
    [{ method: 'DELETE', input: { n: integer() } }, /^routes\.own\.input: A DELETE has no body/],
    [{ input: [] }, /^routes\.own\.input/],
    [{ input: 'n' }, /^routes\.own\.input: Write the fields/],
    [{ input: { n: 7 } }, /^routes\.own\.input\.n: /],
    [{ input: { note: item('notes') } }, /^routes\.own\.input\.note: The input of a route has no items/],
    [
      { input: { note_id: relation('notes', { inverse: 'x' }) } },
      /^routes\.own\.input\.note_id: .* no items/,
    ],
    [{ input: { bigN: integer() } }, /^routes\.own\.input\.bigN: /],
    [{ rateLimit: 600 }, /^routes\.own\.rateLimit: Write `\{ requests: 600/],
    [{ rateLimit: { requests: 0 } }, /^routes\.own\.rateLimit/],
    [{ rateLimit: { requests: 1.5 } }, /^routes\.own\.rateLimit/],
    [{ rateLimit: { requests: 1, seconds: 86_401 } }, /^routes\.own\.rateLimit/],
  ]
  for (const [options, fault] of rows) assert.match(faultsOfOne(options)[0] ?? '', fault)
  assert.deepEqual(faultsOfOne({ raw: true }), [])
  assert.deepEqual(faultsOfOne({ method: 'PUT', input: {} }), [])
  assert.deepEqual(faultsOfOne({ rateLimit: { requests: 1, seconds: 86_400 } }), [])
  for (const nothing of [undefined, null, run, {}, { kind: 'job' }]) {
    assert.match(faults({ own: nothing })[0] ?? '', /^routes\.own: This is not a route\. Write `route\(\{/)
  }
  assert.match(faults({ 'Own-Name': route(base) })[0] ?? '', /^routes\.Own-Name: /)
})

test('both parts of the logic may have routes, but no name twice', () => {
  const one = { routes: { own: route(base) } }
  assert.match(
    faultsIn(() => model(collections, one, untyped({ routes: { own: route({ ...base, path: 'x' }) } })))[0] ??
      '',
    /^routes\.own: Both parts of the logic declare this name/,
  )
  const joined = checkModel(model(collections, one, { routes: { other: route(base) } }))
  assert.deepEqual([...joined.logic.routes.keys()], ['own', 'other'])
})
