/** Explanations of the routes of a model, and of the limits from which a request draws. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, integer, role, route, signedIn, string } from '../../../src/index.ts'
import { code, type RoutesFixture, withRoutes } from '../routes/fixture.ts'

let runs = 0
const run = code(() => {
  runs++
  return { status: 418 }
})

const routes = {
  stripe: route({ path: 'stripe', access: anyone, rateLimit: { requests: 50, seconds: 10 }, run }),
  own: route({ path: '/feed/:id', method: 'GET', access: signedIn.and(role('admin')), run }),
  checked: route({ path: 'checked', access: anyone, input: { n: integer({ min: 3 }) }, run }),
  noted: route({ path: 'noted', access: anyone, input: { text: string({ optional: true }) }, run }),
  /** Also the name of an action, which has another rule. */
  note: route({ path: 'note', access: role('admin'), run }),
}

const explained = async ({ call, key }: RoutesFixture, body: object) => {
  const { status, json, text } = await call('/api/v1/explain', { method: 'POST', key, body })
  assert.equal(status, 200, text)
  assert.equal(runs, 0, 'no code of a route has run')
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the structure.
  return json as any
}

const address = [{ name: 'address', requests: 120, seconds: 60 }]
const user = [{ name: 'user', requests: 1000, seconds: 60 }]

test('a route that admits the caller is explained by its rule and its own limit, and its code does not run', () =>
  withRoutes(routes, async fixture => {
    const {
      allowed,
      status,
      code: errorCode,
      request,
      reasons,
      limits,
      notes,
    } = await explained(fixture, {
      method: 'POST',
      path: '/hooks/stripe?x=1',
      body: { any: 1 },
    })
    assert.deepEqual([allowed, status, errorCode], [true, null, null])
    assert.deepEqual(request, { method: 'POST', path: '/hooks/stripe?x=1' })
    assert.match(reasons[0].message, /^The route stripe is allowed by the rule anyone\.$/)
    assert.deepEqual(limits, [{ name: 'route', requests: 50, seconds: 10 }])
    assert.match(notes[0], /^The code of routes\.stripe did not run: it decides the answer\./)
    const admin = await explained(fixture, { as: 1, method: 'HEAD', path: '/feed/7' })
    assert.deepEqual([admin.allowed, admin.limits], [true, [{ name: 'route', requests: 6000, seconds: 60 }]])
    assert.equal(admin.reasons[0].parts[0].holds, true)
  }))

test('a refused request draws from the limits of its caller, and the explanation says which rule refuses it', () =>
  withRoutes(routes, async fixture => {
    const anonymous = await explained(fixture, { path: '/feed/7' })
    assert.deepEqual([anonymous.status, anonymous.code, anonymous.limits], [401, 'UNAUTHORIZED', address])
    assert.match(
      anonymous.reasons[0].message,
      /^The route own is refused: the rule signedIn and role\('admin'\)/,
    )
    assert.deepEqual((await fixture.call('/feed/7')).status, 401)
    const { body } = { body: { name: 'Ann', email: 'ann@example.com' } }
    const { json } = await fixture.call('/api/v1/users', { method: 'POST', key: fixture.key, body })
    const ann = await explained(fixture, { as: json.id, method: 'POST', path: '/hooks/note' })
    assert.deepEqual([ann.status, ann.code, ann.limits], [403, 'FORBIDDEN', user])
    assert.match(
      ann.reasons[0].message,
      /^The route note is refused: the rule role\('admin'\) does not hold\./,
    )
  }))

test('methods, paths and inputs are checked as for a real request', () =>
  withRoutes(routes, async fixture => {
    for (const [method, path, sent, expected] of [
      ['GET', '/hooks/stripe', undefined, 405],
      ['POST', '/hooks/checked', { n: 2 }, 400],
      ['POST', '/hooks/checked', { other: 2 }, 400],
      ['POST', '/hooks/checked', undefined, 415],
      ['POST', '/hooks/checked', { n: 3 }, null],
      ['POST', '/hooks/noted', undefined, null],
      ['POST', '/hooks/nowhere', undefined, 404],
    ] as const) {
      const body = { method, path, ...(sent && { body: sent }) }
      const { status, limits } = await explained(fixture, body)
      assert.equal(status, expected, `${method} ${path} ${JSON.stringify(sent)}`)
      if (status !== null) assert.deepEqual(limits, address)
      const real = await fixture.call(path, { method, ...(sent && { body: sent }) })
      assert.equal(real.status, expected ?? 418)
      runs = 0
    }
    const { reasons } = await explained(fixture, { method: 'POST', path: '/hooks/checked', body: { n: 2 } })
    assert.deepEqual([reasons[0].kind, reasons[0].fields], ['validation', ['n']])
  }))

test('requests to the API are explained with the limit of the user or the address', async () => {
  await withRoutes(routes, async fixture => {
    assert.deepEqual((await explained(fixture, { path: '/notes' })).limits, address)
    assert.deepEqual((await explained(fixture, { as: 1, path: '/notes' })).limits, user)
    const graphql = { method: 'POST', path: '/graphql', body: { query: '{ notes { id } }' } }
    assert.deepEqual((await explained(fixture, { as: 1, ...graphql })).limits, user)
  })
  await withRoutes(
    routes,
    async fixture => {
      assert.deepEqual((await explained(fixture, { path: '/notes' })).limits, [])
      assert.deepEqual((await explained(fixture, { method: 'POST', path: '/hooks/stripe' })).limits, [])
    },
    { settings: { rateLimit: 'off' } },
  )
})
