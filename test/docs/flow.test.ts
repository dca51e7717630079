import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorizationUrlIn, storeCredentials } from './flow.ts'

test('values of a response are kept under the names that the pages use', () => {
  const values: Record<string, string> = { KEY: 'k' }
  storeCredentials({ client_id: 'a', access_token: 'b', expires_in: 3600, other: 'x' }, values)
  storeCredentials({ access_token: 'c' }, values)
  storeCredentials(null, values)
  assert.deepEqual(values, { KEY: 'k', CLIENT_ID: 'a', ACCESS_TOKEN: 'c' })
})

test('the authorization URL of a page is completed; a page without one is an error', () => {
  const page = 'Send it to\n\nhttp://localhost:3000/oauth/authorize?client_id=$CLIENT_ID&state=xyz\n'
  const address = authorizationUrlIn(page, 'http://127.0.0.1:5', { CLIENT_ID: 'app_1' })
  assert.equal(address, 'http://127.0.0.1:5/oauth/authorize?client_id=app_1&state=xyz')
  assert.throws(() => authorizationUrlIn('nothing', 'http://127.0.0.1:5', {}), /shows no address/)
})
