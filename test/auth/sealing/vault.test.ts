/** Sealing itself: only the right key opens, only under the right name, only what was not touched. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isSealed, newKeyText, SealError, secretKey, Vault } from '../../../src/auth/sealing/vault.ts'

function vaultOf(...texts: readonly string[]): Vault {
  const keys = texts.map(secretKey)
  return new Vault({ keys: () => keys })
}

test('whatever is sealed opens again, and never looks the same twice', () => {
  const vault = vaultOf(newKeyText())
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (name, text) => {
      const sealed = vault.seal(name, text)
      assert.equal(vault.open(name, sealed), text)
      assert.notEqual(vault.seal(name, text), sealed)
      assert.ok(isSealed(sealed))
      assert.equal(typeof JSON.parse(sealed), 'string')
    }),
  )
})

test('not under another name, nor with another key', () => {
  const text = newKeyText()
  const sealed = vaultOf(text).seal('Totp/1', 'a secret')
  assert.throws(() => vaultOf(text).open('Totp/2', sealed), SealError)
  assert.throws(() => vaultOf(newKeyText()).open('Totp/1', sealed), /sealed with the key .+ not there/)
  assert.throws(() => vaultOf(text).open('Totp/1', '{"secret":"plain"}'), /is not sealed/)
})

test('one character changed anywhere, or the end cut off, and it does not open', () => {
  const vault = vaultOf(newKeyText())
  const sealed = vault.seal('name', 'a secret of some length')
  for (let at = 0; at < sealed.length; at++) {
    const other = sealed[at] === 'A' ? 'B' : 'A'
    const changed = sealed.slice(0, at) + other + sealed.slice(at + 1)
    // base64url leaves bits unused at the end: another spelling of the same bytes is the same.
    if (
      Buffer.from(changed.slice(13, -1), 'base64url').equals(Buffer.from(sealed.slice(13, -1), 'base64url'))
    ) {
      if (changed.startsWith(sealed.slice(0, 13)) && changed.endsWith('"')) continue
    }
    assert.throws(() => vault.open('name', changed), SealError, `${at}`)
  }
  assert.throws(() => vault.open('name', `${sealed.slice(0, -5)}"`), SealError)
})

test('of several keys the first seals and all open', () => {
  const [old, young] = [newKeyText(), newKeyText()]
  const before = vaultOf(old).seal('n', 'x')
  const both = vaultOf(young, old)
  assert.equal(both.open('n', before), 'x')
  assert.equal(both.isCurrent(before), false)
  const after = both.seal('n', 'x')
  assert.equal(both.isCurrent(after), true)
  assert.throws(() => vaultOf(old).open('n', after), SealError)
  const [first, second] = both.pseudonyms('a code')
  assert.deepEqual(
    [first, second],
    [vaultOf(young).pseudonyms('a code')[0], vaultOf(old).pseudonyms('a code')[0]],
  )
  assert.notEqual(first, second)
})

test('without a key nothing is sealed', () => {
  assert.throws(() => vaultOf().seal('n', 'x'), SealError)
  assert.throws(() => vaultOf().pseudonyms('x'), SealError)
})
