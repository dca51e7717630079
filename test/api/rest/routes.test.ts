import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseId } from '../../../src/api/rest/path-id.ts'
import { findRoute } from '../../../src/api/rest/routes.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import rich from '../../models/rich.ts'

const model = checkModel(rich)

test('a canonical positive integer is an id', () => {
  for (const id of [1, 9, 10, 42, Number.MAX_SAFE_INTEGER])
    assert.equal(parseId(`${id}`, 0, `${id}`.length), id)
})

test('any other text is not an id', () => {
  for (const text of [
    '',
    '0',
    '00',
    '01',
    '+1',
    '-1',
    '1.0',
    '1e3',
    ' 1',
    '1 ',
    '0x1',
    '٣',
    '9007199254740992',
  ]) {
    assert.equal(parseId(text, 0, text.length), 0, text)
  }
})

test('parseId and the route agree with String(Number(text)) for any digits', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{1,20}$/), text => {
      const canonical = String(BigInt(text)) === text && BigInt(text) > 0n
      const fits = canonical && BigInt(text) <= BigInt(Number.MAX_SAFE_INTEGER)
      assert.equal(parseId(text, 0, text.length), fits ? Number(text) : 0)
    }),
  )
})

test('every route is found', () => {
  const kinds = (path: string) => findRoute(model, path)?.kind
  assert.equal(kinds('/api/v1/tasks'), 'collection')
  assert.equal(kinds('/api/v1/tasks/7'), 'item')
  assert.equal(kinds('/api/v1/tasks/7/labels'), 'within')
  assert.equal(kinds('/api/v1/projects/7/tasks'), 'within')
  assert.equal(kinds('/api/v1/me'), 'me')
  assert.equal(kinds('/api/v1/openapi.json'), 'openapi')
})

test('a to-one relation is not a related list', () => {
  assert.equal(findRoute(model, '/api/v1/tasks/7/project'), undefined)
})

test('any other text is not a route, and no other spelling finds one', () => {
  const routes = ['/api/v1/tasks', '/api/v1/tasks/7', '/api/v1/tasks/7/labels', '/api/v1/me']
  const odd = fc.constantFrom('/', '//', ';', '%2f', '%00', '.', '/.', '/..', ' ', '\\', '?', '#', 'é', '%61')
  fc.assert(
    fc.property(fc.constantFrom(...routes), odd, fc.nat(30), (route, inserted, position) => {
      const path = route.slice(0, position) + inserted + route.slice(position)
      assert.equal(findRoute(model, path), undefined, path)
    }),
  )
})
