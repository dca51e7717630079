/**
 * Identities: accounts of users at other providers, by which they sign in here. One is its issuer and subject, whatever
 * address or name it has there: those change, and are given to others.
 */
import { hash } from 'node:crypto'
import type { NewRecord, Records, StoredRecord } from '../../records.ts'
import { signInTime } from '../server/sessions/session-ends.ts'
import type { Profile } from './providers/provider.ts'

export const identityKind = 'Identity'
const maxIdentities = 20

interface StoredIdentity {
  readonly provider: string
  readonly issuer: string
  readonly subject: string
  /** To recognise it by: the address or name at the provider when it was linked. */
  readonly label: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** In which it was linked; undefined where it has made the account. */
  readonly session?: string | undefined
}

export interface Identity {
  /** Safe in a form: a hash. */
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

/** The account at a provider that is linked. */
export interface Linked {
  readonly provider: string
  readonly profile: Profile
}

export interface Identities {
  list(userId: number): Promise<readonly Identity[]>
  /** Whose identity it is, and the time of the sign-in. */
  find(profile: Profile): Promise<IdentityProof | undefined>
  /** `full`: the user has as many as there may be; `taken`: it is linked already, to this user or another. */
  add(maker: IdentityMaker, linked: Linked): Promise<'added' | 'taken' | 'full'>
  /** That of a new account, for the transaction that creates it. */
  recordOf(userId: number, linked: Linked): NewRecord
  /** The identity that was removed. */
  remove(userId: number, id: string): Promise<StoredRecord | undefined>
  /** Removes one that no user has any more. */
  forget(profile: Profile): Promise<void>
}

/** JSON, because an issuer and a subject can have any character between them. */
function idOf({ issuer, subject }: Profile): string {
  return hash('sha256', JSON.stringify([issuer, subject]), 'base64url')
}

function recordOf(
  userId: number,
  { provider, profile }: Linked,
  createdAt: number,
  session?: string,
): NewRecord {
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
      // Looked up again: an end of the account's sign-ins since then has removed it.
      const record = await records.get(identityKind, idOf(profile))
      return record?.owner === owner ? { userId: Number(owner), at } : undefined
    },
    async add({ userId, session }, linked) {
      if ((await owned(userId)).length >= maxIdentities) return 'full'
      return (await records.add(recordOf(userId, linked, now(), session))) ? 'added' : 'taken'
    },
    recordOf: (userId, linked) => recordOf(userId, linked, now()),
    async remove(userId, id) {
      const record = await records.get(identityKind, id)
      if (record?.owner !== String(userId) || !(await records.delete(identityKind, id))) return undefined
      return record
    },
    async forget(profile) {
      await records.delete(identityKind, idOf(profile))
    },
  }
}
