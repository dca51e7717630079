import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parameterFault, parseQuery } from '../../../src/api/rest/query/query-string.ts'
import { ApiError } from '../../../src/base/errors.ts'

test('parameters are decoded in order', () => {
  assert.deepEqual(parseQuery('a=1&b%5Bgte%5D=x+y%20z&c='), [
    { name: 'a', value: '1' },
    { name: 'b[gte]', value: 'x y z' },
    { name: 'c', value: '' },
  ])
})

test('an encoded plus is a plus sign', () => {
  assert.deepEqual(parseQuery('a=1%2B1'), [{ name: 'a', value: '1+1' }])
})

test('only the first equals sign separates name and value', () => {
  assert.deepEqual(parseQuery('a=b=c'), [{ name: 'a', value: 'b=c' }])
})

test('a name may occur once, however it is encoded', () => {
  assert.throws(() => parseQuery('a=1&%61=2'), /"a" occurs twice/)
})

test('malformed escapes are refused', () => {
  for (const query of ['a=%', 'a=%4', 'a=%gg', '%=1', 'a=%c3%28', 'a=%ed%a0%80']) {
    assert.throws(() => parseQuery(query), { code: 'BAD_REQUEST', message: /bad escape/ }, query)
  }
})

test('at most a hundred parameters are accepted', () => {
  const query = (count: number) => Array.from({ length: count }, (_, n) => `p${n}=1`).join('&')
  assert.equal(parseQuery(query(100)).length, 100)
  assert.throws(() => parseQuery(query(101)), { code: 'BAD_REQUEST', message: /at most 100/ })
})

test('the output of URLSearchParams is read back', () => {
  const name = fc.string({ minLength: 1, unit: 'grapheme' }).filter(text => text.isWellFormed())
  const value = fc.string({ unit: 'grapheme' }).filter(text => text.isWellFormed())
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: 9 }), pairs => {
      const query = new URLSearchParams(pairs).toString()
      assert.deepEqual(
        parseQuery(query),
        pairs.map(([key, text]) => ({ name: key, value: text })),
      )
    }),
  )
})

test('any text is parsed or refused as BAD_REQUEST', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'a=&%+2fé\0[') }), query => {
      try {
        parseQuery(query)
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'BAD_REQUEST')
      }
    }),
  )
})

test('a long name is truncated between characters, so that the error stays well-formed', () => {
  const { details } = parameterFault(`${'a'.repeat(59)}😀`, 'unknown_parameter', 'x')
  assert.ok(details?.[0]?.field.isWellFormed())
})
