import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressIn, keep } from './flow.ts'

test('values of an answer are kept under the names that the pages give them', () => {
  const values: Record<string, string> = { KEY: 'k' }
  keep({ client_id: 'a', access_token: 'b', expires_in: 3600, other: 'x' }, values)
  keep({ access_token: 'c' }, values)
  keep(null, values)
  assert.deepEqual(values, { KEY: 'k', CLIENT_ID: 'a', ACCESS_TOKEN: 'c' })
})

test('the address of a page is filled in; a page without one is a fault', () => {
  const page = 'Send it to\n\nhttp://localhost:3000/oauth/authorize?client_id=$CLIENT_ID&state=xyz\n'
  const address = addressIn(page, 'http://127.0.0.1:5', { CLIENT_ID: 'app_1' })
  assert.equal(address, 'http://127.0.0.1:5/oauth/authorize?client_id=app_1&state=xyz')
  assert.throws(() => addressIn('nothing', 'http://127.0.0.1:5', {}), /shows no address/)
})
