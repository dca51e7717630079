/** Conditional requests: the syntax and maximum length of a list of entity tags, and how tags are compared. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesNone, readIfMatch, requireMatch } from '../../../src/base/conditional.ts'

const tags = (count: number) => Array.from({ length: count }, (_, n) => `"${n}"`).join(', ')

test('a hundred tags are accepted, and one more is refused', () => {
  assert.equal(readIfMatch(tags(100))?.length, 100)
  assert.equal(matchesNone(tags(100), '"99"'), true)
  for (const read of [() => readIfMatch(tags(101)), () => matchesNone(tags(101), '"0"')]) {
    assert.throws(read, { code: 'BAD_REQUEST', message: /at most 100 entity tags/ })
  }
})

test('If-None-Match compares weakly (RFC 9110, 13.1.2)', () => {
  const rows: readonly (readonly [header: string, matches: boolean])[] = [
    ['"a"', true],
    ['W/"a"', true],
    ['"b", W/"a"', true],
    [',, "a" ,,', true],
    ['*', true],
    ['"b"', false],
    ['"b", "c"', false],
    ['"aa", "W/a"', false],
    ['"a-gzip"', true],
    ['W/"a-br"', true],
    ['"b", "a-zstd"', true],
    ['"a-gzip-gzip"', false],
    ['"a-tar"', false],
    ['"-gzip"', false],
  ]
  for (const [header, matches] of rows) assert.equal(matchesNone(header, '"a"'), matches, header)
})

test('If-Match compares strongly: a weak tag matches nothing (RFC 9110, 13.1.1)', () => {
  assert.equal(readIfMatch(undefined), undefined)
  assert.equal(readIfMatch(' * '), '*')
  assert.deepEqual(readIfMatch('"a", W/"b" , "c"'), ['"a"', '"c"'])
  assert.deepEqual(readIfMatch('W/"a"'), [])
  assert.deepEqual(readIfMatch('"a-gzip", W/"b-gzip"'), ['"a-gzip"', '"a"'])
})

test('a required match is strong, and absent without the header', () => {
  for (const header of [undefined, '*', '"b", "a"']) assert.doesNotThrow(() => requireMatch(header, '"a"'))
  for (const header of ['"b"', 'W/"a"']) {
    assert.throws(() => requireMatch(header, '"a"'), { code: 'PRECONDITION_FAILED' }, header)
  }
})

for (const header of ['', 'a', '"a', '"a" "b"', "'a'", '*, "a"', 'w/"a"', '"a"\u0000']) {
  test(`${JSON.stringify(header)} is not a list of entity tags`, () => {
    assert.throws(() => readIfMatch(header), { code: 'BAD_REQUEST' })
    assert.throws(() => matchesNone(header, '"x"'), { code: 'BAD_REQUEST' })
  })
}
