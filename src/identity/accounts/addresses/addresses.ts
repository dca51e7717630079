/**
 * The e-mail addresses that users have proven to be theirs. The record contains the address, so an address that has changed
 * since then is not confirmed, however it was changed.
 */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { addressRecord, type NewRecord, type Records } from '../../../base/records.ts'

const pendingKind = 'PendingAddress'
const dayMs = 24 * 60 * 60 * 1000

/** Rules also read it in SQL: see `engine/store/sql/condition.ts`. */
interface StoredAddress {
  readonly email: string
  readonly verified: boolean
  /** Whether the account was created by sign-up, not by an administrator. */
  readonly signedUp: boolean
}

export interface Addresses {
  isVerified(userId: number, email: string): Promise<boolean>
  /** Whether a link sent to this address may change the account: not if the user has changed the address without proof. */
  isTrusted(userId: number, email: string): Promise<boolean>
  /** Stores the address of a user who has just signed in, unless one is stored. */
  remember(userId: number, email: string): Promise<void>
  /** Whether the account was created by sign-up and its address is unconfirmed: the address may be someone else's. */
  isUnproven(userId: number): Promise<boolean>
  /** The record of an account that is created by sign-up, for the transaction that creates it. */
  signedUpRecord(userId: number, email: string, verified: boolean): NewRecord
  /** Stores that the user has proven the address. */
  confirm(userId: number, email: string): Promise<void>
  /** The record of a new address that is trusted, but not proven yet, for the transaction that stores the address. */
  assignedRecord(userId: number, email: string): Promise<NewRecord>
  /** Stores an address that the account gets once it is proven. An account has one at a time, for a day. */
  setPending(userId: number, email: string): Promise<void>
  /** The address that the account gets once it is proven. */
  pending(userId: number): Promise<string | undefined>
  /** Drops the pending address. Returns whether there was one. */
  dropPending(userId: number): Promise<boolean>
}

export function createAddresses(records: Records, now: () => EpochMs = Date.now): Addresses {
  const find = async (userId: number): Promise<StoredAddress | undefined> => {
    const record = await records.get(addressRecord, String(userId))
    return record && JSON.parse(record.payload)
  }
  const recordOf = (userId: number, stored: StoredAddress) => {
    const owner = String(userId)
    return { kind: addressRecord, id: owner, payload: JSON.stringify(stored), expiresAt: null, owner }
  }
  return {
    async remember(userId, email) {
      if (!(await find(userId)))
        await records.add(recordOf(userId, { email, verified: false, signedUp: false }))
    },
    async isVerified(userId, email) {
      const stored = await find(userId)
      return stored?.verified === true && stored.email === email
    },
    async isTrusted(userId, email) {
      const stored = await find(userId)
      return stored === undefined || stored.email === email
    },
    async isUnproven(userId) {
      const stored = await find(userId)
      return stored?.signedUp === true && !stored.verified
    },
    signedUpRecord: (userId, email, verified) => recordOf(userId, { email, verified, signedUp: true }),
    async confirm(userId, email) {
      const signedUp = (await find(userId))?.signedUp === true
      await records.put(recordOf(userId, { email, verified: true, signedUp }))
    },
    async assignedRecord(userId, email) {
      const signedUp = (await find(userId))?.signedUp === true
      return recordOf(userId, { email, verified: false, signedUp })
    },
    setPending(userId, email) {
      const owner = String(userId)
      const payload = JSON.stringify({ email })
      return records.put({ kind: pendingKind, id: owner, payload, expiresAt: now() + dayMs, owner })
    },
    async pending(userId) {
      const record = await records.get(pendingKind, String(userId))
      return record && JSON.parse(record.payload).email
    },
    dropPending: userId => records.delete(pendingKind, String(userId)),
  }
}
