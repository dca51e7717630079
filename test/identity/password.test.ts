import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import { hashPassword, verifyPassword } from '../../src/identity/password.ts'

test('a password is hashed by argon2id with OWASP’s parameters and a random salt', async () => {
  const [one, two] = await Promise.all([hashPassword('hunter2'), hashPassword('hunter2')])
  assert.notEqual(one, two)
  const [, name, version, parameters, salt = '', tag] = one.split('$')
  assert.deepEqual([name, version, parameters], ['argon2id', 'v=19', 'm=19456,t=2,p=1'])
  const nonce = Buffer.from(salt, 'base64')
  assert.equal(nonce.length, 16)
  const again = argon2Sync('argon2id', {
    message: 'hunter2',
    nonce,
    memory: 19_456,
    passes: 2,
    parallelism: 1,
    tagLength: 32,
  })
  assert.equal(again.toString('base64').replace(/=+$/, ''), tag)
})

test('a password in another Unicode normalization form is the same', async () => {
  const stored = await hashPassword('caf\u00e9')
  const salt = Buffer.from(stored.split('$')[4] ?? '', 'base64')
  const options = { nonce: salt, memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
  const composed = argon2Sync('argon2id', { message: 'cafe\u0301'.normalize('NFC'), ...options })
  assert.ok(stored.endsWith(composed.toString('base64').replace(/=+$/, '')))
})

test('the password that was hashed is verified, and no other', async () => {
  const stored = await hashPassword('caf\u00e9 au lait')
  assert.equal(await verifyPassword('caf\u00e9 au lait', stored), true)
  assert.equal(await verifyPassword('cafe\u0301 au lait', stored), true)
  for (const wrong of [
    '',
    'cafe au lait',
    'caf\u00e9 au lait ',
    'CAF\u00c9 AU LAIT',
    'caf\u00e9 au lait\0',
  ]) {
    assert.equal(await verifyPassword(wrong, stored), false, wrong)
  }
})

test('no password is verified without a hash or with a malformed one', async () => {
  const stored = await hashPassword('a password')
  const [head = ''] = stored.split('$m=')
  for (const hashed of [
    undefined,
    '',
    'a password',
    stored.replace('argon2id', 'argon2d'),
    stored.replace('m=19456', 'm=99999999'),
    stored.slice(0, -20),
    `${head}$`,
  ]) {
    assert.equal(await verifyPassword('a password', hashed), false, String(hashed))
  }
})

test('a hash with other parameters is verified with those', async () => {
  const nonce = Buffer.alloc(16, 7)
  const tag = argon2Sync('argon2id', {
    message: 'an old password',
    nonce,
    memory: 8192,
    passes: 3,
    parallelism: 2,
    tagLength: 24,
  })
  const plain = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const stored = `$argon2id$v=19$m=8192,t=3,p=2$${plain(nonce)}$${plain(tag)}`
  assert.equal(await verifyPassword('an old password', stored), true)
  assert.equal(await verifyPassword('another password', stored), false)
})

test('concurrent verifications all get a result', async () => {
  const stored = await hashPassword('a password')
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, at) => verifyPassword(at % 3 === 0 ? 'a password' : 'wrong', stored)),
  )
  assert.deepEqual(
    answers,
    Array.from({ length: 12 }, (_, at) => at % 3 === 0),
  )
})

test('verifications beyond the queue limit are refused, and the queued ones are completed', async () => {
  const stored = await hashPassword('a password')
  const short = stored.replace('m=19456,t=2', 'm=8,t=1')
  const results = await Promise.allSettled(Array.from({ length: 600 }, () => verifyPassword('x', short)))
  const refused = results.filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 600 - 202)
  for (const { reason } of refused as PromiseRejectedResult[]) assert.equal(reason.code, 'UNAVAILABLE')
  assert.equal(await verifyPassword('a password', stored), true)
})

test('a password of more than 256 characters is refused without hashing or normalizing it', async () => {
  const longest = '😀'.repeat(256)
  const stored = await hashPassword(longest)
  assert.equal(await verifyPassword(longest, stored), true)
  assert.equal(await verifyPassword(`${longest}x`, stored), false)
  await assert.rejects(hashPassword('x'.repeat(257)), {
    name: 'RangeError',
    message: /at most 256 characters/,
  })
  // The hash that a truncated or empty password would match.
  const ofNothing = await hashPassword('')
  assert.equal(await verifyPassword('x'.repeat(257), ofNothing), false)
  // Normalizing these marks would take minutes.
  const marks = `a${'\u0301\u0323'.repeat(300_000)}`
  assert.equal(await verifyPassword(marks, stored), false)
  await assert.rejects(hashPassword(marks), { name: 'RangeError' })
})
