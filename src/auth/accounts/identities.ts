/**
 * Identities: the accounts at other providers by which users sign in here. Issuer and subject name an identity. Addresses and
 * names do not: they change, and are given to other people.
 */
import { hash } from 'node:crypto'
import type { NewRecord, Records, StoredRecord } from '../../records.ts'
import { signInTime } from '../server/sessions/session-ends.ts'
import { addBounded } from './bounded-records.ts'
import type { Profile } from './providers/provider.ts'

export const identityKind = 'Identity'
const maxIdentities = 20

interface StoredIdentity {
  readonly provider: string
  readonly issuer: string
  readonly subject: string
  /** By which users recognise it: the address or name at the provider when it was linked. */
  readonly label: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The session in which it was linked; undefined if the account was created with it. */
  readonly session?: string | undefined
}

export interface Identity {
  /** A hash, which may be part of a form. */
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

export interface IdentityMaker {
  readonly userId: number
  readonly session: string
}

/** An account at a provider that is linked, or to be linked. */
export interface Linked {
  readonly provider: string
  readonly profile: Profile
}

export interface Identities {
  list(userId: number): Promise<readonly Identity[]>
  /** The user whose identity it is, and the time of the sign-in. */
  find(profile: Profile): Promise<IdentityProof | undefined>
  /** `full`: the user has as many identities as are allowed; `taken`: it is linked already, to this user or another one. */
  add(maker: IdentityMaker, linked: Linked): Promise<'added' | 'taken' | 'full'>
  /** The record of a new account's identity, for the transaction that creates the account. */
  recordOf(userId: number, linked: Linked): NewRecord
  /** Removes an identity whose user no longer exists. */
  forget(profile: Profile): Promise<void>
}

/** The hash of JSON: no separator is possible, since both texts can contain any character. */
function idOf({ issuer, subject }: Profile): string {
  return hash('sha256', JSON.stringify([issuer, subject]), 'base64url')
}

function recordOf(
  userId: number,
  { provider, profile }: Linked,
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

export function createIdentities(records: Records, now: () => number): Identities {
  const owned = (userId: number) => records.byOwner(identityKind, String(userId))
  return {
    async list(userId) {
      const found = (await owned(userId)).map(({ id, payload }) => ({
        id,
        ...(JSON.parse(payload) as StoredIdentity),
      }))
      return found
        .map(({ id, provider, label, createdAt }) => ({ id, provider, label, createdAt }))
        .sort((one, other) => one.createdAt - other.createdAt)
    },
    async find(profile) {
      const owner = (await records.get(identityKind, idOf(profile)))?.owner
      if (!owner) return undefined
      const at = await signInTime(records, Number(owner), now())
      // Read again: an account recovery may have removed it in the meantime.
      const record = await records.get(identityKind, idOf(profile))
      return record?.owner === owner ? { userId: Number(owner), at } : undefined
    },
    async add({ userId, session }, linked) {
      return addBounded(records, recordOf(userId, linked, now(), session), maxIdentities)
    },
    recordOf: (userId, linked) => recordOf(userId, linked, now()),
    async forget(profile) {
      await records.delete(identityKind, idOf(profile))
    },
  }
}
