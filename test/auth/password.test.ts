import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import { hashPassword } from '../../src/auth/password.ts'

test('a password is hashed by argon2id with OWASP’s parameters and a salt of its own', async () => {
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

test('the same password typed in another Unicode form is the same', async () => {
  const stored = await hashPassword('caf\u00e9')
  const salt = Buffer.from(stored.split('$')[4] ?? '', 'base64')
  const options = { nonce: salt, memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
  const composed = argon2Sync('argon2id', { message: 'cafe\u0301'.normalize('NFC'), ...options })
  assert.ok(stored.endsWith(composed.toString('base64').replace(/=+$/, '')))
})
