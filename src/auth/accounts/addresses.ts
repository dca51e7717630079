/**
 * Which e-mail address of a user is known to be theirs. The record names the address, so that one that was
 * changed since then, by whatever way, does not count as confirmed.
 */
import type { Records } from '../../records.ts'

const kind = 'AccountAddress'
const waitingKind = 'PendingAddress'
const DAY = 24 * 60 * 60 * 1000

interface Stored {
  readonly email: string
  readonly verified: boolean
  /** Whether the account was made by whoever asked for it, not by an administrator. */
  readonly signedUp: boolean
}

export interface Addresses {
  isVerified(userId: number, email: string): Promise<boolean>
  /** Whether a link sent to this address may decide over the account: not one that was only just put there. */
  isTrusted(userId: number, email: string): Promise<boolean>
  /** Remembers the address of who has just signed in, unless one is known. */
  remember(userId: number, email: string): Promise<void>
  /** Whether somebody signed up with an address that nobody has confirmed: it may be another's. */
  isUnproven(userId: number): Promise<boolean>
  /** Remembers the address of a new account, made by whoever asked for it. */
  signedUp(userId: number, email: string, verified: boolean): Promise<void>
  /** Remembers that the address is the user's. */
  confirm(userId: number, email: string): Promise<void>
  /** Remembers an address that an administrator has given the account: nobody has proven it, but links may go there. */
  assign(userId: number, email: string): Promise<void>
  /** Remembers an address that is to be the account's once it is proven. One at a time, for a day. */
  wait(userId: number, email: string): Promise<void>
  /** The address that waits. */
  waiting(userId: number): Promise<string | undefined>
  /** Whether one was waiting. */
  drop(userId: number): Promise<boolean>
}

export function createAddresses(records: Records, now: () => number = Date.now): Addresses {
  const find = async (userId: number): Promise<Stored | undefined> => {
    const record = await records.get(kind, String(userId))
    return record && JSON.parse(record.payload)
  }
  const recordOf = (userId: number, stored: Stored) => {
    const owner = String(userId)
    return { kind, id: owner, payload: JSON.stringify(stored), expiresAt: null, owner }
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
    signedUp: (userId, email, verified) => records.put(recordOf(userId, { email, verified, signedUp: true })),
    async confirm(userId, email) {
      const signedUp = (await find(userId))?.signedUp === true
      await records.put(recordOf(userId, { email, verified: true, signedUp }))
    },
    async assign(userId, email) {
      const signedUp = (await find(userId))?.signedUp === true
      await records.put(recordOf(userId, { email, verified: false, signedUp }))
    },
    wait(userId, email) {
      const owner = String(userId)
      const payload = JSON.stringify({ email })
      return records.put({ kind: waitingKind, id: owner, payload, expiresAt: now() + DAY, owner })
    },
    async waiting(userId) {
      const record = await records.get(waitingKind, String(userId))
      return record && JSON.parse(record.payload).email
    },
    drop: userId => records.delete(waitingKind, String(userId)),
  }
}
