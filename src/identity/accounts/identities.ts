/**
 * Identities: the accounts at other providers with which users sign in here. Issuer and subject identify an account. Addresses and
 * names do not, because they change and can be reassigned to other people.
 */

import { hash } from 'node:crypto'
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { NewRecord, Records, StoredRecord } from '../../base/records.ts'
import { signInTime } from '../server/sessions/session-ends.ts'
import { addBounded } from './bounded-records.ts'
import type { Profile } from './providers/provider.ts'

export const identityKind = 'Identity'
const maxIdentities = 20

interface StoredIdentity {
  readonly provider: string
  readonly issuer: string
  readonly subject: string
  /** The text by which users recognise it: their address or name at the provider when it was linked. */
  readonly label: string
  readonly createdAt: EpochMs
  /** The session in which it was linked; undefined if the account was created with it. */
  readonly session?: string | undefined
}

export interface Identity {
  /** A hash, which forms may contain. */
  readonly id: string
  /** The id of the provider in the settings. */
  readonly provider: string
  readonly label: string
  readonly createdAt: number
}

export interface IdentityProof {
  readonly userId: number
  /** Seconds since 1970: see `signInTime`. */
  readonly at: number
}

/** The user who links an identity, and their session. */
export interface IdentityCreator {
  readonly userId: number
  readonly session: string
}

/** An identity and the provider that has authenticated it. */
export interface ProviderIdentity {
  readonly provider: string
  readonly profile: Profile
}

export interface Identities {
  list(userId: number): Promise<readonly Identity[]>
  /** The user who has the identity, and the time of the sign-in. */
  find(profile: Profile): Promise<IdentityProof | undefined>
  /** `full`: the user has as many identities as are allowed; `taken`: it is linked already, to this user or another one. */
  add(creator: IdentityCreator, identity: ProviderIdentity): Promise<'added' | 'taken' | 'full'>
  /** The record of a new account's identity, for the transaction that creates the account. */
  recordOf(userId: number, identity: ProviderIdentity): NewRecord
  /** Removes an identity whose user no longer exists. */
  forget(profile: Profile): Promise<void>
}

/** A hash of JSON, because no separator is safe: both texts can contain any character. */
function idOf({ issuer, subject }: Profile): string {
  return hash('sha256', JSON.stringify([issuer, subject]), 'base64url')
}

function recordOf(
  userId: number,
  { provider, profile }: ProviderIdentity,
  createdAt: number,
  session?: string,
): NewRecord & { readonly owner: string } {
  const { issuer, subject, email, name } = profile
  const stored: StoredIdentity = {
    provider,
    issuer,
    subject,
    label: email ?? name ?? subject,
    createdAt,
    session,
  }
  const payload = JSON.stringify(stored)
  return { kind: identityKind, id: idOf(profile), payload, expiresAt: null, owner: String(userId) }
}

/** The id of the provider of a stored identity. */
export function providerOfRecord({ payload }: Pick<StoredRecord, 'payload'>): string {
  return (JSON.parse(payload) as StoredIdentity).provider
}

export function createIdentities(records: Records, now: () => EpochMs): Identities {
  return {
    async list(userId) {
      const identities = (await records.byOwner(identityKind, String(userId))).map(({ id, payload }) => {
        const { provider, label, createdAt } = JSON.parse(payload) as StoredIdentity
        return { id, provider, label, createdAt }
      })
      return identities.sort((a, b) => a.createdAt - b.createdAt)
    },
    async find(profile) {
      const owner = (await records.get(identityKind, idOf(profile)))?.owner
      if (!owner) return undefined
      const at = await signInTime(records, Number(owner), now())
      // Read again: an account recovery may have removed it in the meantime.
      const record = await records.get(identityKind, idOf(profile))
      return record?.owner === owner ? { userId: Number(owner), at } : undefined
    },
    async add({ userId, session }, identity) {
      return addBounded(records, recordOf(userId, identity, now(), session), maxIdentities)
    },
    recordOf: (userId, identity) => recordOf(userId, identity, now()),
    async forget(profile) {
      await records.delete(identityKind, idOf(profile))
    },
  }
}
