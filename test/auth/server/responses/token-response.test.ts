/** Token responses: scopes by the separator of the app, and a form where only that is accepted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acceptsOnlyForm,
  responseAsForm,
  tokenResponse,
} from '../../../../src/auth/server/responses/token-response.ts'

test('the token response has the separator, and its type in lower case', () => {
  const body = { access_token: 't', token_type: 'Bearer', scope: 'a b c', expires_in: 3600 }
  assert.deepEqual(tokenResponse(body, ','), { ...body, token_type: 'bearer', scope: 'a,b,c' })
  assert.deepEqual(tokenResponse(body, ' '), { ...body, token_type: 'bearer' })
  assert.equal(tokenResponse({ ...body, token_type: 'DPoP' }, ',').token_type, 'DPoP')
  assert.ok(!('scope' in tokenResponse({ access_token: 't' }, ',')))
})

test('the form is given only to who asks for it, and for no JSON', () => {
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
