import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymous, user } from '../../../src/base/principal.ts'
import { readKey } from '../../../src/engine/idempotency/key.ts'
import { keyedRequest } from '../../../src/engine/idempotency/request.ts'

const keyOf = (header: string) => readKey({ headers: { 'idempotency-key': header } })

test('a bare key and a quoted string are equivalent', () => {
  const keys = [
    ['abc', 'abc'],
    ['"abc"', 'abc'],
    ['8e03978e-40d5-43e8-bc93-6894a57f9324', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    ['"a, b"', 'a, b'],
    ['"a \\"b\\" \\\\ c"', 'a "b" \\ c'],
    ["!#$%&'()*+-./:;<=>?@[\\]^_`{|}~", "!#$%&'()*+-./:;<=>?@[\\]^_`{|}~"],
    ['k'.repeat(255), 'k'.repeat(255)],
    [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  ] as const
  for (const [header, key] of keys) assert.equal(keyOf(header), key, header)
  assert.equal(readKey({ headers: {} }), undefined)
})

test('a malformed key is a BAD_REQUEST with the reason', () => {
  const refused = [
    ['', /is empty/],
    ['""', /is empty/],
    ['k'.repeat(256), /has 256 characters/],
    [`"${'k'.repeat(256)}"`, /has 256 characters/],
    ['one, two', /was sent twice/],
    ['"one", "two"', /was sent twice/],
    ['one,two', /was sent twice/],
    ['"one', /neither/],
    ['one"', /neither/],
    ['"a"b"', /neither/],
    ['"a\\b"', /neither/],
    ['"a";p=1', /neither/],
    ['a b', /neither/],
    ['schlüssel', /neither/],
    ['"schlüssel"', /neither/],
    ['"tab\there"', /neither/],
    ['null\0', /neither/],
  ] as const
  for (const [header, message] of refused) {
    assert.throws(() => keyOf(header), { code: 'BAD_REQUEST', message }, header)
  }
})

const call = {
  method: 'POST',
  path: '/api/v1/posts',
  query: '',
  headers: { 'idempotency-key': 'k', 'content-type': 'application/json' },
  body: Buffer.from('{}'),
}
const ann = user(1, 'user', 'all')

test('the method, path, query, body, headers and caller that affect the response distinguish requests', () => {
  const { fingerprint, id } = keyedRequest(call, ann) ?? assert.fail()
  const others = [
    { ...call, method: 'PUT' },
    { ...call, path: '/api/v1/users' },
    { ...call, query: 'fields=id' },
    { ...call, body: Buffer.from('{ }') },
    { ...call, headers: { ...call.headers, 'if-match': '"a"' } },
    { ...call, headers: { ...call.headers, 'content-type': 'application/merge-patch+json' } },
  ]
  for (const other of others) {
    const keyed = keyedRequest(other, ann) ?? assert.fail()
    assert.notEqual(keyed.fingerprint, fingerprint, JSON.stringify(other))
    assert.equal(keyed.id, id)
  }
  assert.notEqual(keyedRequest(call, ann, 'application/json')?.fingerprint, fingerprint)
  const equivalent = {
    ...call,
    headers: { ...call.headers, 'user-agent': 'other', 'idempotency-key': '"k"' },
  }
  assert.deepEqual(keyedRequest(equivalent, ann), { fingerprint, id, scope: 'user:1' })
})

test('a key belongs to a user and app, to an app without a user, or to an address', () => {
  const callers = [
    ann,
    user(2, 'user', 'all'),
    user(1, 'user', 'all', 'user:1:app:app_x'),
    anonymous('192.0.2.1'),
    anonymous('192.0.2.2'),
  ]
  const ids = callers.map(caller => keyedRequest(call, caller)?.id)
  assert.equal(new Set(ids).size, callers.length)
  // A credential with fewer scopes belongs to the same user.
  assert.equal(keyedRequest(call, user(1, 'user', new Set(['write:post'])))?.id, ids[0])
})
