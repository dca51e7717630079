/** Token responses: the app’s scope separator, and form encoding for clients that accept nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acceptsOnlyForm,
  responseAsForm,
  tokenResponse,
} from '../../../../src/identity/server/responses/token-response.ts'

test('a token response has the app’s separator, and the token type in lower case', () => {
  const body = { access_token: 't', token_type: 'Bearer', scope: 'a b c', expires_in: 3600 }
  assert.deepEqual(tokenResponse(body, ','), { ...body, token_type: 'bearer', scope: 'a,b,c' })
  assert.deepEqual(tokenResponse(body, ' '), { ...body, token_type: 'bearer' })
  assert.equal(tokenResponse({ ...body, token_type: 'DPoP' }, ',').token_type, 'DPoP')
  assert.ok(!('scope' in tokenResponse({ access_token: 't' }, ',')))
})

test('a response is form-encoded only for a client that accepts that and not JSON', () => {
  assert.ok(acceptsOnlyForm('application/x-www-form-urlencoded'))
  assert.ok(acceptsOnlyForm('Application/X-WWW-Form-Urlencoded; q=1'))
  for (const accept of [
    undefined,
    '*/*',
    'application/json',
    'application/x-www-form-urlencoded, application/json',
  ]) {
    assert.ok(!acceptsOnlyForm(accept), String(accept))
  }
  assert.equal(
    responseAsForm({ access_token: 'a&b', scope: 'a,b', id_token: undefined, n: 1 }),
    'access_token=a%26b&scope=a%2Cb&n=1',
  )
})
