import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAccept, requireJson } from '../../../src/api/rest/accept.ts'
import { makePresentation } from '../../../src/api/rest/reply/headers.ts'
import { matchesNone, readIfMatch } from '../../../src/base/conditional.ts'

test('the most specific media range applies', () => {
  assert.equal(readAccept('application/json;q=0, */*').json, false)
  assert.equal(readAccept('*/*;q=0, application/json').json, true)
  assert.equal(readAccept('application/*;q=0, */*').json, false)
  assert.equal(readAccept('application/*, */*;q=0').json, true)
  assert.equal(readAccept('text/html').json, false)
})

test('a client that names only problem details gets answers in JSON, unless it refuses JSON', () => {
  assert.equal(readAccept('application/problem+json').json, true)
  assert.equal(readAccept('application/problem+json;q=0').json, false)
  assert.equal(readAccept('application/problem+json, application/json;q=0').json, false)
})

test('a weight without its zero is accepted: older versions of Java send it', () => {
  assert.equal(readAccept('text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2').json, true)
  assert.equal(readAccept('application/problem+json;q=.5, */*;q=.6').problem, false)
})

test('a malformed weight counts as missing', () => {
  for (const q of ['2', '-1', '0.1234', '.', '.1234', '1.1', 'x', ''])
    assert.equal(readAccept(`application/json;q=${q}`).json, false, q)
})

test('problem details are sent when preferred, but not for a wildcard', () => {
  assert.equal(readAccept('application/problem+json').problem, true)
  assert.equal(readAccept('application/problem+json, application/json').problem, true)
  assert.equal(readAccept('application/problem+json;q=0.5, application/json').problem, false)
  assert.equal(readAccept('application/problem+json;q=0.5, */*').problem, false)
  assert.equal(readAccept('application/problem+json;q=0.5, application/*').problem, false)
  assert.equal(readAccept('application/problem+json;q=0.5, application/json;q=0.1, */*').problem, true)
  assert.equal(readAccept('application/problem+json, */*').problem, true)
  assert.equal(readAccept('*/*').problem, false)
  assert.equal(readAccept('application/*').problem, false)
})

test('an event stream is sent when preferred, in whatever order media ranges are listed', () => {
  assert.equal(readAccept('text/event-stream, application/json;q=0.5').eventStream, true)
  assert.equal(readAccept('text/*;q=0.1, text/event-stream, application/json;q=0.5').eventStream, true)
  assert.equal(
    readAccept('text/event-stream;q=0.4, application/*;q=0.1, application/json').eventStream,
    false,
  )
  assert.equal(readAccept('application/*, application/json;q=0.1, text/event-stream;q=0.5').eventStream, true)
  assert.equal(readAccept('text/event-stream, */*').eventStream, true)
  assert.equal(readAccept('text/event-stream;q=0.5, */*').eventStream, false)
  assert.equal(readAccept('text/event-stream, application/json').eventStream, false)
  assert.equal(readAccept('text/event-stream, application/json, */*;q=0.1').eventStream, false)
  assert.equal(readAccept('text/event-stream;q=0, */*;q=0').eventStream, false)
  assert.equal(readAccept('*/*').eventStream, false)
})

test('without a usable header every media type is acceptable', () => {
  for (const header of [undefined, '', ' ', 'x'.repeat(2000)]) assert.doesNotThrow(() => requireJson(header))
})

test('If-None-Match compares weakly', () => {
  assert.equal(matchesNone('"a"', '"a"'), true)
  assert.equal(matchesNone('W/"a"', '"a"'), true)
  assert.equal(matchesNone('"b" , W/"a"', '"a"'), true)
  assert.equal(matchesNone('"b,c"', '"c"'), false)
  assert.equal(matchesNone('*', '"a"'), true)
})

test('If-Match compares strongly', () => {
  assert.deepEqual(readIfMatch('"a", W/"b","c"'), ['"a"', '"c"'])
  assert.deepEqual(readIfMatch('W/"b"'), [])
  assert.equal(readIfMatch('*'), '*')
  assert.equal(readIfMatch(undefined), undefined)
})

test('empty elements of a list are ignored (RFC 9110, 5.6.1.2)', () => {
  assert.deepEqual(readIfMatch('"a",,"b" , , "c",'), ['"a"', '"b"', '"c"'])
  assert.deepEqual(readIfMatch(', "a"'), ['"a"'])
  assert.equal(matchesNone(',"a",', '"a"'), true)
})

test('malformed entity tags are refused', () => {
  for (const header of [
    '',
    'a',
    '"a',
    '"a" "b"',
    ',',
    '"a", b',
    '*, "a"',
    'w/"a"',
    '"a\u0001"',
    `"${'a'.repeat(9000)}"`,
  ]) {
    assert.throws(() => readIfMatch(header), { code: 'BAD_REQUEST', message: /If-Match/ }, header)
  }
})

test('a long list of almost valid tags is refused quickly', () => {
  for (const repeated of ['"a" , ', ', ', ' ,\t', '"a",,'])
    assert.throws(() => readIfMatch(`${repeated.repeat(1000)}x`), { code: 'BAD_REQUEST' }, repeated)
})

test('the earliest deprecation and sunset are sent, each in its own format', () => {
  const { open } = makePresentation(false, [
    { since: '2026-02-01T00:00:00Z', sunset: '2027-02-01T00:00:00Z', reason: undefined },
    { since: '2026-01-01T00:00:00Z', sunset: undefined, reason: undefined },
  ])
  // RFC 9745 requires a structured date, RFC 8594 an HTTP date.
  assert.deepEqual(open.slice(-4), ['Deprecation', '@1767225600', 'Sunset', 'Mon, 01 Feb 2027 00:00:00 GMT'])
})

test('only responses to callers without a credential may be stored in shared caches', () => {
  const { open, own, unstored } = makePresentation(false, [])
  const caching = (headers: readonly string[]) => headers[headers.indexOf('Cache-Control') + 1]
  assert.deepEqual([open, own, unstored].map(caching), ['public, no-cache', 'private, no-cache', 'no-store'])
})

test('a secret response is not cached', () => {
  const { open, own } = makePresentation(true, [])
  assert.ok(open.includes('no-store') && own.includes('no-store'))
})
