/** Which address of an account is verified: the confirmed one, not the current one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Records } from '../../../../src/base/records.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { type Addresses, createAddresses } from '../../../../src/identity/accounts/addresses/addresses.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createUsers } from '../../../engine/store/blog.ts'
import blog from '../../../models/blog.ts'

async function withAddresses(use: (addresses: Addresses, records: Records) => Promise<void>): Promise<void> {
  const store = openSqlite(checkModel(blog), { file: ':memory:' })
  await createUsers(store, 1)
  try {
    await use(createAddresses(store.records), store.records)
  } finally {
    await store.close()
  }
}

const [own, other] = ['ann@example.com', 'mallory@example.com']

test('only the confirmed address is verified, not one that replaces it', () =>
  withAddresses(async addresses => {
    assert.equal(await addresses.isVerified(1, own), false)
    await addresses.confirm(1, own)
    assert.deepEqual(
      [await addresses.isVerified(1, own), await addresses.isVerified(1, other)],
      [true, false],
    )
    assert.deepEqual([await addresses.isTrusted(1, own), await addresses.isTrusted(1, other)], [true, false])
    await addresses.confirm(1, other)
    assert.deepEqual(
      [await addresses.isVerified(1, own), await addresses.isVerified(1, other)],
      [false, true],
    )
  }))

test('an account created by sign-up is unproven until its address is confirmed', () =>
  withAddresses(async (addresses, records) => {
    assert.equal(await addresses.isUnproven(1), false, 'created by an administrator')
    await records.put(addresses.signedUpRecord(1, own, false))
    assert.deepEqual([await addresses.isUnproven(1), await addresses.isVerified(1, own)], [true, false])
    await addresses.confirm(1, own)
    assert.deepEqual([await addresses.isUnproven(1), await addresses.isVerified(1, own)], [false, true])
  }))

test('a sign-in with another address does not replace the remembered one', () =>
  withAddresses(async addresses => {
    await addresses.remember(1, own)
    await addresses.remember(1, other)
    assert.deepEqual([await addresses.isTrusted(1, own), await addresses.isTrusted(1, other)], [true, false])
    assert.equal(await addresses.isVerified(1, own), false)
  }))
