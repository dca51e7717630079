import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorReply } from '../../../src/api/rest/reply/error-reply.ts'
import { ApiError, catalogue, type ErrorCode } from '../../../src/base/errors.ts'
import { toCall } from '../contract/rest/harness.ts'

function reply(error: unknown, headers = {}, keyInQuery = false) {
  const created = errorReply(error, { ...toCall({ url: '/api/v1/posts', headers }), keyInQuery })
  const header = (name: string) => created.headers[created.headers.indexOf(name) + 1]
  return { status: created.status, header, names: created.headers, body: JSON.parse(String(created.body)) }
}

test('every error in the catalogue has both formats', () => {
  for (const [code, { status, message }] of Object.entries(catalogue)) {
    const error = new ApiError(code as ErrorCode)
    assert.deepEqual(reply(error).body, { error: { code, message } })
    assert.equal(reply(error).status, status)
    const problem = reply(error, { accept: 'application/problem+json' })
    assert.equal(problem.header('Content-Type'), 'application/problem+json')
    assert.equal(problem.body.status, status)
    assert.equal(problem.body.code, code)
    assert.equal(problem.body.detail, message)
  }
})

test('an unexpected error reveals nothing about itself', () => {
  for (const thrown of [new Error('SQLITE: secret'), 'secret', undefined, null, { code: 'NOT_FOUND' }]) {
    const { status, body } = reply(thrown)
    assert.equal(status, 500)
    assert.deepEqual(body, { error: { code: 'INTERNAL_ERROR', message: catalogue.INTERNAL_ERROR.message } })
  }
})

test('a refused credential is reported as invalid, a missing one is not', () => {
  const error = new ApiError('UNAUTHORIZED')
  const invalid = 'Bearer realm="api", error="invalid_token"'
  assert.equal(reply(error).header('WWW-Authenticate'), 'Bearer realm="api"')
  assert.equal(reply(error, { authorization: 'Bearer x' }).header('WWW-Authenticate'), invalid)
  assert.equal(reply(error, { 'x-api-key': 'x' }).header('WWW-Authenticate'), invalid)
  assert.equal(reply(error, {}, true).header('WWW-Authenticate'), invalid)
})

test('a missing scope is named', () => {
  const error = new ApiError('INSUFFICIENT_SCOPE', undefined, { scope: 'write:post' })
  assert.equal(
    reply(error).header('WWW-Authenticate'),
    'Bearer realm="api", error="insufficient_scope", scope="write:post"',
  )
})

test('headers of the error itself override the defaults', () => {
  assert.equal(
    reply(new ApiError('RATE_LIMITED', undefined, { headers: { 'Retry-After': '7' } })).header('Retry-After'),
    '7',
  )
  assert.equal(reply(new ApiError('UNAVAILABLE')).header('Retry-After'), '1')
  const { names } = reply(new ApiError('RATE_LIMITED', undefined, { headers: { 'Retry-After': '7' } }))
  assert.equal(names.filter(name => name === 'Retry-After').length, 1)
})

test('validation details are in both formats', () => {
  const details = [{ field: 'title', code: 'required', message: 'title is required.' }]
  const error = new ApiError('VALIDATION_FAILED', undefined, { details })
  assert.deepEqual(reply(error).body.error.details, details)
  assert.deepEqual(reply(error, { accept: 'application/problem+json' }).body.errors, details)
})

test('a change that may have been stored has no Retry-After', () => {
  const { status, names, body } = reply(new ApiError('UNAVAILABLE', 'Perhaps.', { isUnconfirmed: true }))
  assert.equal(status, 503)
  assert.ok(!names.includes('Retry-After'))
  assert.deepEqual(body, { error: { code: 'UNAVAILABLE', message: 'Perhaps.' } })
})
