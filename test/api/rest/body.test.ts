import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readBody } from '../../../src/api/rest/body.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { toCall } from '../contract/rest/harness.ts'

function read(body: unknown, headers = {}): unknown {
  return readBody(toCall({ method: 'POST', url: '/', body, headers }), ['application/json'])
}

const json = { 'content-type': 'application/json' }

test('JSON of moderate depth is parsed as by JSON.parse', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), text => {
      assert.deepEqual(read(text, json), JSON.parse(text))
    }),
  )
})

test('arbitrary bytes are parsed or refused as BAD_REQUEST', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), bytes => {
      try {
        read(Buffer.from(bytes), json)
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'BAD_REQUEST')
      }
    }),
  )
})

test('a body has at most 40,000 members in its objects; array elements do not count', () => {
  const members = (count: number) =>
    JSON.stringify({ list: Array.from({ length: count - 1 }, () => ({ a: 0 })) })
  const ofMost: unknown = JSON.parse(members(40_000))
  assert.deepEqual(read(members(40_000), json), ofMost)
  assert.throws(() => read(members(40_001), json), {
    code: 'BAD_REQUEST',
    message: 'The body has 40,001 object members; at most 40,000 are allowed.',
  })
  assert.equal((read(JSON.stringify(Array(100_000).fill(0)), json) as unknown[]).length, 100_000)
})

test('a duplicate member name is refused, inside whatever structure', () => {
  for (const text of ['{"a":1,"a":1}', '{"a":{"b":1},"\\u0061":2}', '{"__proto__":1,"__proto__":2}']) {
    assert.throws(() => read(text, json), { code: 'BAD_REQUEST', message: /twice/ }, text)
  }
})

test('a duplicate member name is refused at every depth, with its place', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['{"a":1,"a":1}', '/a'],
    ['{"x":{"a":1,"b":2,"a":3}}', '/x/a'],
    ['[{"a":1},{"b":1,"b":1}]', '/1/b'],
    ['{"x":[0,"a:,",{"y":[[],{"~/":1,"\\u007e/":2}]}]}', '/x/2/y/1/~0~1'],
    ['{"a":{"b":1},"c":{"b":1,"b":1}}', '/c/b'],
    ['{"":{"":1,"":1}}', '//'],
    ['{"a":{"__proto__":1,"__proto__":{}}}', '/a/__proto__'],
    ['{"a" : 1 ,\n"a"\t: [",", 1]}', '/a'],
  ]
  for (const [text, place] of rows) {
    const message = `The body names the key ${JSON.stringify(place)} twice: send each key once.`
    assert.throws(() => read(text, json), { code: 'BAD_REQUEST', message }, text)
  }
  const long = JSON.stringify('k'.repeat(10_000))
  assert.throws(
    () => read(`{${long}:1,${long}:1}`, json),
    ({ message }: Error) => message.length < 300,
  )
})

test('the same name in different objects is not a duplicate', () => {
  for (const value of [{ a: { a: { a: 1 } } }, [{ a: 1 }, { a: 1 }], { a: [{ b: 1 }], b: [{ a: 1 }] }]) {
    assert.deepEqual(read(JSON.stringify(value), json), value)
  }
})

/** JSON text in which one of the non-empty objects repeats its first name at the end. */
function withDuplicate(value: unknown, which: { left: number }): string {
  if (Array.isArray(value)) return `[${value.map(item => withDuplicate(item, which)).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isIt = Object.keys(value).length > 0 && which.left-- === 0
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}:${withDuplicate(member, which)}`,
  )
  return `{${[...members, ...(isIt ? members.slice(0, 1) : [])].join()}}`
}

test('a duplicate is found in whichever object it is', () => {
  let foundCount = 0
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.nat(4), (text, which) => {
      const value: unknown = JSON.parse(text)
      const state = { left: which }
      const twice = withDuplicate(value, state)
      if (state.left >= 0) assert.deepEqual(read(twice, json), value)
      else {
        foundCount++
        assert.throws(() => read(twice, json), { code: 'BAD_REQUEST', message: /twice/ }, twice)
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(foundCount > 20, String(foundCount))
})

test('a name in a string or in a nested object is not a duplicate', () => {
  const value = { 'a:b': ':"{', c: { d: 1, e: [{ f: ':' }] }, 'g"': '\\' }
  assert.deepEqual(read(JSON.stringify(value), json), value)
})

test('32 levels are accepted, 33 are refused', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.doesNotThrow(() => read(nested(32), json))
  assert.throws(() => read(nested(33), json), { code: 'BAD_REQUEST', message: /at most 32 levels/ })
})

test('brackets in a string are not levels', () => {
  assert.equal(read(JSON.stringify('['.repeat(100)), json), '['.repeat(100))
})

test('the error names the place of the fault and does not quote the text', () => {
  assert.throws(
    () => read('{"secret": x}', json),
    ({ message }: Error) => {
      assert.match(message, /position 11/)
      assert.doesNotMatch(message, /secret/)
      return true
    },
  )
})

test('the place is that of the first invalid character', () => {
  const rows: readonly (readonly [string, number])[] = [
    ['x', 0],
    ['{"a":1,}', 7],
    ['{"a":1', 6],
    ['{"a":"b', 7],
    ['{"a":tru', 8],
    ['[1 2]', 3],
    ['{} {}', 3],
    [`{"a":[${'1,'.repeat(1000)}]}`, 2006],
  ]
  for (const [text, position] of rows) {
    assert.throws(() => read(text, json), { message: new RegExp(`position ${position}\\.`) }, text)
  }
})

test('the error for a long text names no place', () => {
  assert.throws(() => read(`[${'1,'.repeat(10_000)}`, json), {
    message: /The body is not valid JSON\.$/,
  })
})

test('a body in another charset than UTF-8 is refused', () => {
  for (const charset of ['iso-8859-1', 'utf-16', '"utf-16"', 'utf8']) {
    const headers = { 'content-type': `application/json; charset=${charset}` }
    assert.throws(() => read('{}', headers), { code: 'UNSUPPORTED_MEDIA_TYPE' }, charset)
  }
  for (const parameter of ['charset=utf-8', 'charset="UTF-8"', 'version=1'])
    assert.deepEqual(read('{}', { 'content-type': `application/json; ${parameter}` }), {}, parameter)
})

test('a Content-Encoding is refused', () => {
  assert.throws(() => read('{}', { ...json, 'content-encoding': 'gzip' }), { code: 'UNSUPPORTED_MEDIA_TYPE' })
  assert.deepEqual(read('{}', { ...json, 'content-encoding': 'identity' }), {})
})

test('the error for a media type names the accepted ones', () => {
  const call = toCall({ method: 'PATCH', url: '/', body: 'x', headers: { 'content-type': 'text/plain' } })
  assert.throws(() => readBody(call, ['application/json', 'application/merge-patch+json']), {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    headers: { 'Accept-Patch': 'application/json, application/merge-patch+json' },
  })
})
