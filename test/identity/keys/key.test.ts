import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { generateKey, isKey, keyHash, keyPrefix } from '../../../src/identity/keys/key.ts'

test('a key has the prefix, 32 random characters and a checksum, and no two are equal', () => {
  const keys = Array.from({ length: 200 }, generateKey)
  for (const key of keys) {
    assert.match(key, /^pk_[0-9A-Za-z]{38}$/)
    assert.ok(isKey(key))
  }
  assert.equal(new Set(keys).size, keys.length)
})

test('the checksum is CRC-32 in base 62 of the text before it', () => {
  // Computed independently: CRC-32 of `pk_` and 32 zeros is 804917347, in base 62 0sTLlr.
  const text = `pk_${'0'.repeat(32)}`
  assert.equal(isKey(`${text}0sTLlr`), true)
  assert.equal(isKey(`${text}000000`), false)
})

test('a changed, missing or added character is detected', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  fc.assert(
    fc.property(fc.nat(37), fc.nat(61), (at, letter) => {
      const key = generateKey()
      const place = at + 3
      const changed = key.slice(0, place) + alphabet[letter] + key.slice(place + 1)
      assert.equal(isKey(changed), changed === key)
      assert.equal(isKey(key.slice(0, place) + key.slice(place + 1)), false)
    }),
  )
})

for (const text of [
  '',
  'pk_',
  'pk_abc',
  'sk_0123456789abcdef0123456789abcdef012345',
  `pk_${'0'.repeat(300)}`,
  'pk_ü'.padEnd(41, '0'),
]) {
  test(`${JSON.stringify(text.slice(0, 20))} is not a key`, () => assert.equal(isKey(text), false))
}

test('the displayed prefix and the hash reveal nothing of a key’s secret', () => {
  const key = generateKey()
  assert.equal(keyPrefix(key), key.slice(0, 10))
  assert.match(keyHash(key), /^[\w-]{43}$/)
  assert.ok(!keyHash(key).includes(key.slice(3, 12)))
})
