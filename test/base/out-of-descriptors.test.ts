import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOutOfDescriptors } from '../../src/base/errors.ts'

test('a lack of descriptors is known by its code, or by the text of the loader of modules', () => {
  const open = Object.assign(new Error('EMFILE: too many open files, open x'), { code: 'EMFILE' })
  assert.equal(isOutOfDescriptors(new Error('The page cannot be read.', { cause: open })), true)
  const text = 'Cannot read package config /x/package.json: too many open files.'
  const load = Object.assign(new Error(text), { code: 'ERR_INVALID_PACKAGE_CONFIG' })
  assert.equal(isOutOfDescriptors(load), true)
})

test('a text that a stranger chose is no lack of descriptors', () => {
  const text = "Host: one.example. is not in the cert's altnames: DNS:x: too many open files."
  const error = Object.assign(new Error(text), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  assert.equal(isOutOfDescriptors(new Error('cannot be reached', { cause: error })), false)
})
