import assert from 'node:assert/strict'
import { test } from 'node:test'
import tracker from '../../../examples/tracker/model.ts'
import { kindOf } from '../../../src/api/rest/route-kinds.ts'
import { findRoute, type Route } from '../../../src/api/rest/routes.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { anyone, collection, model as declare, file } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'

const model = checkModel(tracker)
const withFiles = checkModel(
  declare({ covers: collection({ fields: { image: file({ optional: true }) }, access: { read: anyone } }) }),
)

/** Paths that have all methods of the kind. */
const paths: Readonly<Record<Route['kind'], readonly string[]>> = {
  collection: ['/tasks'],
  item: ['/tasks/1'],
  within: ['/projects/1/tasks'],
  aggregate: ['/tasks/aggregate', '/projects/1/tasks/aggregate'],
  nested: ['/webhooks/1/deliveries/2'],
  subresource: ['/users/1/sessions', '/users/1/sessions/a'],
  builtinAction: ['/users/1/set_password', '/webhooks/1/deliveries/2/redeliver'],
  action: ['/organizations/found', '/projects/1/archive'],
  query: ['/queries/report'],
  personalData: ['/users/1/personal_data'],
  me: ['/me'],
  openapi: ['/openapi.json'],
  events: ['/events'],
  batch: ['/batch'],
  explain: ['/explain'],
  file: ['/covers/1/image', '/covers/1/image/a/b.png'],
  upload: ['/uploads'],
  runs: ['/events/runs', '/events/runs/retry', '/events/runs/skip'],
}

for (const [kind, pathsOfKind] of Object.entries(paths)) {
  test(`${kind}: a read and a write for the methods that it accepts, and for no others`, () => {
    const routes = pathsOfKind.map(path => {
      const route = findRoute(model, `/api/v1${path}`) ?? findRoute(withFiles, `/api/v1${path}`)
      assert.equal(route?.kind, kind, path)
      return route as Route
    })
    const methods = new Set(routes.flatMap(route => kindOf(route).methods(route)))
    const writes = ['POST', 'PUT', 'PATCH', 'DELETE'].filter(method => methods.has(method))
    for (const route of routes) {
      const { read, write, isKeyed, batch } = kindOf(route)
      assert.deepEqual([read !== undefined, write !== undefined], [methods.has('GET'), writes.length > 0])
      if (isKeyed) assert.ok(write)
      if (typeof batch === 'function') assert.ok(batch(route) instanceof ApiError)
      else
        assert.deepEqual(
          [batch.read !== undefined, batch.write !== undefined],
          [methods.has('GET'), writes.length > 0],
        )
    }
  })
}
