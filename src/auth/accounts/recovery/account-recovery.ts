/**
 * Counts everything that gives access to an account, and revokes it when the owner recovers the account. One commit stores a
 * new password and ends what an intruder could have left behind: passkeys, keys, consents, tokens, links.
 */
import type { Run } from '../../../plan/run.ts'
import { listShape, where } from '../../../plan/system-plans.ts'
import { system } from '../../../principal.ts'
import type { Records } from '../../../records.ts'
import { accountEndRecord } from '../../server/sessions/session-ends.ts'
import { keysOf, removeKey, removeKeysSteps } from '../../user-keys.ts'
import { pauseMadeInSessions } from '../../webhooks/grants.ts'
import type { AccountBase } from '../accounts.ts'
import { identityKind } from '../identities.ts'
import { replacePasswordHash, type UserRow } from '../users.ts'
import type { Holdings } from './holdings.ts'

export type RecoveryParts = Pick<AccountBase, 'records' | 'run' | 'revokeAll' | 'now' | 'codes'>

/** What was revoked, and what is left. */
export interface Ended {
  readonly ended: Holdings
  readonly left: Holdings
  /** The names of the user's own apps. They keep their secrets. */
  readonly ownApps: readonly string[]
}

const ownApps = listShape('oauth_apps', ['name'], where('user_id'))

const maxNamedApps = 50

async function ownAppsOf(run: Run, userId: number): Promise<readonly string[]> {
  const { text } = await run.list({ shape: ownApps, args: [0, maxNamedApps, userId] }, system)
  return (JSON.parse(text ?? '[]') as readonly { readonly name: string }[]).map(({ name }) => name)
}

async function count(records: Records, kind: string, userId: number): Promise<number> {
  return (await records.byOwner(kind, String(userId))).length
}

async function holdingsOf({ records, run, codes }: RecoveryParts, userId: number): Promise<Holdings> {
  const [sessions, apps, passkeys, identities] = await Promise.all(
    ['Session', 'Consent', 'Passkey', identityKind].map(kind => count(records, kind, userId)),
  )
  return {
    sessions: sessions ?? 0,
    apps: apps ?? 0,
    passkeys: passkeys ?? 0,
    identities: identities ?? 0,
    keys: (await keysOf(run, userId)).length,
    codes: await codes.isOn(userId),
  }
}

function difference(before: Holdings, left: Holdings): Holdings {
  return {
    sessions: before.sessions - left.sessions,
    apps: before.apps - left.apps,
    keys: before.keys - left.keys,
    passkeys: before.passkeys - left.passkeys,
    identities: before.identities - left.identities,
    codes: before.codes && !left.codes,
  }
}

/** Known devices, links and unfinished sign-ins that an intruder may have started. */
const unfinishedKinds = [
  'KnownDevice',
  'PasswordReset',
  'SecondFactor',
  'AddressVerification',
  'PendingAddress',
  'PasskeyChallenge',
  'ProviderSignIn',
  'IdentityOffer',
]
const codeKinds = ['Totp', 'RecoveryCode']

/** What is revoked besides sessions, consents and tokens, which always are. */
export interface Extent {
  /** The session that stays. */
  readonly except?: string
  readonly keys: boolean
  /** Passkeys and identities at other providers: an intruder could have added either. */
  readonly passkeys: boolean
  readonly codes: boolean
}

/**
 * Stores a new password and revokes everything obtained with the old one, in one transaction, so that nothing survives if
 * the process dies. What concurrent requests have created is revoked afterwards. Undefined if `isExpected` refuses the
 * account at the time of the transaction: then the password stays.
 */
export async function replacePassword(
  base: RecoveryParts,
  userId: number,
  hashed: string,
  extent: Extent,
  isExpected: (user: UserRow) => boolean = () => true,
): Promise<Ended | undefined> {
  const { records, run, revokeAll, now } = base
  const owner = String(userId)
  const kinds = [
    ...unfinishedKinds,
    ...(extent.passkeys ? ['Passkey', identityKind] : []),
    ...(extent.codes ? codeKinds : []),
  ]
  const before = await holdingsOf(base, userId)
  await revokeAll(userId, extent.except)
  const end = await accountEndRecord(records, userId, now(), extent.except)
  const isStored = await replacePasswordHash(run, userId, hashed, isExpected, {
    collections: extent.keys ? ['api_keys'] : [],
    *steps() {
      yield { kind: 'put', record: end }
      yield { kind: 'deleteOwned', owner, kinds }
      if (extent.keys) yield* removeKeysSteps(userId)
    },
  })
  if (!isStored) return undefined
  // Again: a sign-in with the old password may have begun after the first end, if storing the new one has taken long.
  await records.put(await accountEndRecord(records, userId, now(), extent.except))
  await revokeAll(userId, extent.except)
  await records.deleteOwned(owner, kinds)
  if (extent.keys) await removeKeysAndWebhooks(run, userId)
  const left = await holdingsOf(base, userId)
  return { ended: difference(before, left), left, ownApps: await ownAppsOf(run, userId) }
}

/** Kinds whose records name the session in which they were created. */
const ofSessions = ['Passkey', 'Totp', identityKind]

async function endMadeElsewhere({ records }: AccountBase, owner: string, session: string): Promise<void> {
  for (const kind of ofSessions) {
    for (const { id, payload } of await records.byOwner(kind, owner)) {
      if (JSON.parse(payload).session === session) continue
      await records.delete(kind, id)
      if (kind === 'Totp') await records.deleteOwned(owner, codeKinds)
    }
  }
}

/**
 * For the first confirmation of the address of an account that anybody may have created. Revokes everything created outside
 * of this session (Sudhodanan and Paverd, Pre-hijacked accounts, 2022). API keys belong to no session, so all are revoked.
 */
export async function revokeBeforeProof(base: AccountBase, userId: number, session: string): Promise<void> {
  const { records, run, revokeOthers, now } = base
  const owner = String(userId)
  await records.put(await accountEndRecord(records, userId, now(), session))
  await revokeOthers(userId, session)
  await endMadeElsewhere(base, owner, session)
  await records.deleteOwned(owner, [
    'SecondFactor',
    'PendingAddress',
    'KnownDevice',
    'ProviderSignIn',
    'IdentityOffer',
  ])
  await removeKeysAndWebhooks(run, userId)
}

/** Deletes API keys, and pauses webhooks made in sessions, which end with no credential. */
async function removeKeysAndWebhooks(run: Run, userId: number): Promise<void> {
  await Promise.all((await keysOf(run, userId)).map(id => removeKey(run, id)))
  await pauseMadeInSessions(run, userId)
}
