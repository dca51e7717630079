import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/base/errors.ts'
import { type Credential, type CredentialSource, findCredential } from '../../src/identity/credentials.ts'

interface Sent {
  readonly authorization?: string
  readonly 'x-api-key'?: string
  readonly query?: string
}

function find({ query = '', ...headers }: Sent): [Credential | null | string, string] {
  const source = { headers, query }
  try {
    return [findCredential(source), source.query]
  } catch (error) {
    if (error instanceof ApiError) return [error.code, source.query]
    throw error
  }
}

const bearer = (text: string) => ({ place: 'bearer', text })
const key = (text: string) => ({ place: 'key', text })
const dpop = (text: string) => ({ place: 'dpop', text })

// The request, the credential found in it, and the query without it.
const rows: readonly [Sent, Credential | null | string, string][] = [
  [{}, null, ''],
  [{ query: 'page=2&a%5Bgt%5D=1' }, null, 'page=2&a%5Bgt%5D=1'],
  [{ authorization: 'Bearer a.b-c' }, bearer('a.b-c') as Credential, ''],
  [{ authorization: 'bearer a' }, bearer('a') as Credential, ''],
  [{ authorization: 'BEARER  a ' }, bearer('a') as Credential, ''],
  [{ authorization: 'Bearer a==' }, bearer('a==') as Credential, ''],
  [{ authorization: 'DPoP a.b-c' }, dpop('a.b-c') as Credential, ''],
  [{ authorization: 'dpop a' }, dpop('a') as Credential, ''],
  [{ authorization: 'DPoP a, DPoP a' }, dpop('a') as Credential, ''],
  [{ 'x-api-key': 'a' }, key('a') as Credential, ''],
  [{ query: 'api_key=a' }, key('a') as Credential, ''],
  [{ query: 'page=1&api_key=a&sort=id' }, key('a') as Credential, 'page=1&sort=id'],
  [{ query: 'api%5Fkey=a&page=1' }, key('a') as Credential, 'page=1'],
  [{ query: '%61pi_key=%61' }, key('a') as Credential, ''],
  [{ query: 'my_api_key=a' }, null, 'my_api_key=a'],
  [{ query: 'q=api_key' }, null, 'q=api_key'],
  // The same credential in several places is one.
  [{ authorization: 'Bearer a', 'x-api-key': 'a', query: 'api_key=a' }, key('a') as Credential, ''],
  [{ authorization: 'Bearer a, Bearer a' }, bearer('a') as Credential, ''],
  [{ 'x-api-key': 'a, a' }, key('a') as Credential, ''],
  // Different credentials.
  [{ authorization: 'Bearer a', 'x-api-key': 'b' }, 'BAD_REQUEST', ''],
  [{ authorization: 'Bearer a', query: 'api_key=b' }, 'BAD_REQUEST', ''],
  [{ 'x-api-key': 'a', query: 'api_key=b' }, 'BAD_REQUEST', ''],
  [{ query: 'api_key=a&api_key=b&page=1' }, 'BAD_REQUEST', 'page=1'],
  [{ authorization: 'Bearer a, Bearer b' }, 'BAD_REQUEST', ''],
  [{ 'x-api-key': 'a, b' }, 'BAD_REQUEST', ''],
  [{ authorization: 'DPoP a, Bearer a' }, 'BAD_REQUEST', ''],
  [{ authorization: 'DPoP a', 'x-api-key': 'a' }, 'BAD_REQUEST', ''],
  [{ authorization: 'DPoP a', query: 'api_key=a' }, 'BAD_REQUEST', ''],
  // A parameter may occur once.
  [{ query: 'api_key=a&page=1&api%5Fkey=a' }, 'BAD_REQUEST', 'page=1'],
  [{ authorization: 'Bearer a', query: 'api_key=a&api_key=a' }, 'BAD_REQUEST', ''],
  // Other schemes and forms.
  [{ authorization: 'Basic dTpw' }, 'UNAUTHORIZED', ''],
  [{ authorization: 'Bearer' }, 'UNAUTHORIZED', ''],
  [{ authorization: 'DPoP' }, 'UNAUTHORIZED', ''],
  [{ authorization: 'DPoP a b' }, 'UNAUTHORIZED', ''],
  [{ authorization: '' }, 'UNAUTHORIZED', ''],
  [{ authorization: 'Bearer a b' }, 'UNAUTHORIZED', ''],
  [{ authorization: 'Bearer ä' }, 'UNAUTHORIZED', ''],
  [{ authorization: 'pk_abc' }, 'UNAUTHORIZED', ''],
  // Empty is not the same as absent: it is a key that does not exist.
  [{ 'x-api-key': '' }, key('') as Credential, ''],
  [{ query: 'api_key=' }, key('') as Credential, ''],
  [{ query: 'api_key' }, key('') as Credential, ''],
  [{ query: 'api_key=%zz' }, key('') as Credential, ''],
]

for (const [sent, found, query] of rows) {
  test(`the credential of ${JSON.stringify(sent)} is ${typeof found === 'string' ? found : JSON.stringify(found)}`, () => {
    assert.deepEqual(find(sent), [found, query])
  })
}

test('a long credential is found as a short one is, however often it is repeated', () => {
  for (let count = 0; count < 5000; count++) {
    const text = `${String(count % 2500).padStart(8, '0')}.${'a-_Z'.repeat(60)}`
    assert.deepEqual(find({ authorization: `Bearer ${text}` })[0], bearer(text))
    assert.equal(find({ authorization: `Bearer ${text}ä` })[0], 'UNAUTHORIZED')
  }
  const long = 'a'.repeat(10_000)
  for (const text of [long, long, `${long}b`]) {
    assert.deepEqual(find({ authorization: `Bearer ${text}` })[0], bearer(text))
  }
  const text = 'a'.repeat(200)
  assert.deepEqual(find({ authorization: `bearer ${text}` })[0], bearer(text))
  assert.equal(find({ authorization: `Bearer ${text} b` })[0], 'UNAUTHORIZED')
  assert.equal(find({ authorization: `Bearer ${text}`, 'x-api-key': 'b' })[0], 'BAD_REQUEST')
  assert.equal(find({ authorization: `Bearer ${text}, Bearer ${text}b` })[0], 'BAD_REQUEST')
})

test('a credential in the query is remembered after it is removed from the query', () => {
  const remembered = (query: string, headers = {}) => {
    const source: CredentialSource = { headers, query }
    findCredential(source)
    return source.keyInQuery === true
  }
  assert.equal(remembered('api_key=a'), true)
  assert.equal(remembered('page=1&api%5Fkey='), true)
  assert.equal(remembered('page=1'), false)
  assert.equal(remembered('q=api_key', { authorization: 'Bearer a' }), false)
})

test('an error never repeats a credential', () => {
  for (const sent of [{ authorization: 'Basic c2VjcmV0' }, { authorization: 'Bearer secret, Bearer b' }]) {
    try {
      findCredential({ headers: sent, query: '' })
      assert.fail('was accepted')
    } catch (error) {
      assert.ok(error instanceof ApiError)
      assert.doesNotMatch(error.message, /secret|c2VjcmV0/)
    }
  }
})
