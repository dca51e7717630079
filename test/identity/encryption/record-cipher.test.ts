/** The cipher: a text is decrypted only with the right key, under the right name, and unchanged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  EncryptionError,
  newKeyText,
  RecordCipher,
  secretKey,
} from '../../../src/identity/encryption/record-cipher.ts'
import { isEncrypted } from './is-encrypted.ts'

function cipherOf(...texts: readonly string[]): RecordCipher {
  const keys = texts.map(secretKey)
  return new RecordCipher({ keys: () => keys })
}

test('every text can be decrypted, and its ciphertexts differ', () => {
  const recordCipher = cipherOf(newKeyText())
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (name, text) => {
      const encrypted = recordCipher.encrypt(name, text)
      assert.equal(recordCipher.decrypt(name, encrypted), text)
      assert.notEqual(recordCipher.encrypt(name, text), encrypted)
      assert.ok(isEncrypted(encrypted))
      assert.equal(typeof JSON.parse(encrypted), 'string')
    }),
  )
})

test('a text is not decrypted under another name or with another key', () => {
  const text = newKeyText()
  const encrypted = cipherOf(text).encrypt('Totp/1', 'a secret')
  assert.throws(() => cipherOf(text).decrypt('Totp/2', encrypted), EncryptionError)
  assert.throws(
    () => cipherOf(newKeyText()).decrypt('Totp/1', encrypted),
    /encrypted with the key .+ not among the keys/,
  )
  assert.throws(() => cipherOf(text).decrypt('Totp/1', '{"secret":"plain"}'), /is not encrypted/)
})

test('a text with a changed character or a missing end is not decrypted', () => {
  const recordCipher = cipherOf(newKeyText())
  const encrypted = recordCipher.encrypt('name', 'a secret of some length')
  for (let at = 0; at < encrypted.length; at++) {
    const other = encrypted[at] === 'A' ? 'B' : 'A'
    const changed = encrypted.slice(0, at) + other + encrypted.slice(at + 1)
    // base64url leaves bits unused at the end: another spelling of the same bytes is valid.
    if (
      Buffer.from(changed.slice(13, -1), 'base64url').equals(
        Buffer.from(encrypted.slice(13, -1), 'base64url'),
      )
    ) {
      if (changed.startsWith(encrypted.slice(0, 13)) && changed.endsWith('"')) continue
    }
    assert.throws(() => recordCipher.decrypt('name', changed), EncryptionError, `${at}`)
  }
  assert.throws(() => recordCipher.decrypt('name', `${encrypted.slice(0, -5)}"`), EncryptionError)
})

test('the first of several keys encrypts, and all of them decrypt', () => {
  const [old, young] = [newKeyText(), newKeyText()]
  const before = cipherOf(old).encrypt('n', 'x')
  const both = cipherOf(young, old)
  assert.equal(both.decrypt('n', before), 'x')
  assert.equal(both.isCurrent(before), false)
  const after = both.encrypt('n', 'x')
  assert.equal(both.isCurrent(after), true)
  assert.throws(() => cipherOf(old).decrypt('n', after), EncryptionError)
  const [first, second] = both.pseudonyms('a code')
  assert.deepEqual(
    [first, second],
    [cipherOf(young).pseudonyms('a code')[0], cipherOf(old).pseudonyms('a code')[0]],
  )
  assert.notEqual(first, second)
})

test('encryption without a key fails', () => {
  assert.throws(() => cipherOf().encrypt('n', 'x'), EncryptionError)
  assert.throws(() => cipherOf().pseudonyms('x'), EncryptionError)
})
