/** Errors from before OAuth’s own checks have OAuth’s format too, so that its clients understand them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as client from 'openid-client'
import { post, withFixture } from '../../conformance/server.ts'

const large = { token: 'x'.repeat(70_000) }

test('a client library understands the error of a rate-limited app', () =>
  withFixture({ rateLimit: { user: 'off', address: 'off', token: 1 } }, async ({ url, app }) => {
    const { client_id } = await app()
    const config = await client.discovery(new URL(url), client_id, 'ps_guess', undefined, {
      execute: [client.allowInsecureRequests],
    })
    const grantError = async () => {
      const error = await client.clientCredentialsGrant(config).then(
        () => assert.fail('granted'),
        (cause: unknown) => cause,
      )
      assert.ok(error instanceof client.ResponseBodyError, String(error))
      return error
    }
    const answers = [await grantError(), await grantError(), await grantError()]
    const limited = answers.find(({ status }) => status === 429)
    assert.equal(limited?.error, 'temporarily_unavailable')
    assert.match(String(limited.error_description), /^The limit of 1 requests per minute is used up/)
    assert.match(limited.response.headers.get('retry-after') ?? '', /^\d+$/)
  }))

for (const path of ['token', 'par', 'device', 'revoke', 'introspect']) {
  test(`/oauth/${path}: a body that is too large gets invalid_request`, () =>
    withFixture({}, async ({ url }) => {
      const answer = await post(`${url}/oauth/${path}`, large, { Accept: 'application/problem+json' })
      assert.equal(answer.status, 413)
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      assert.deepEqual(Object.keys(answer.json), ['error', 'error_description'])
      assert.equal(answer.json.error, 'invalid_request')
      assert.match(String(answer.json.error_description), /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
    }))
}

test('a wrong method gets invalid_request, and the right one in Allow', () =>
  withFixture({}, async ({ url }) => {
    const answer = await fetch(`${url}/oauth/token`)
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST'])
    assert.deepEqual(await answer.json(), {
      error: 'invalid_request',
      error_description: '/oauth/token accepts POST.',
    })
  }))

test('an endpoint that accepts GET has HEAD in Allow', () =>
  withFixture({}, async ({ url }) => {
    for (const path of [
      '/oauth/jwks',
      '/.well-known/openid-configuration',
      '/.well-known/oauth-protected-resource',
    ]) {
      const refused = await fetch(`${url}${path}`, { method: 'DELETE' })
      assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'], path)
      assert.equal((await fetch(`${url}${path}`, { method: 'HEAD' })).status, 200, path)
    }
    const authorize = await fetch(`${url}/oauth/authorize`, { method: 'DELETE' })
    assert.equal(authorize.headers.get('allow'), 'GET, HEAD, POST')
  }))

test('other paths have errors in the format of the API', () =>
  withFixture({}, async ({ url }) => {
    for (const path of ['/oauth/jwks', '/oauth/nothing', '/oauth/register']) {
      const { error } = await (await fetch(`${url}${path}`, { method: 'DELETE' })).json()
      assert.equal(typeof error.code, 'string', path)
    }
  }))
