/**
 * Counts everything that gives access to an account, and revokes it when the owner recovers the account. One commit stores the
 * new password and revokes what an attacker could have left behind: passkeys, keys, consents, tokens, links.
 */

import { system } from '../../../base/principal.ts'
import type { Records } from '../../../base/records.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { listShape, where } from '../../../engine/plan/system-plans.ts'
import type { CollectionUses, ProgramSteps } from '../../../engine/plan/transaction.ts'
import { keysOf, removeKey, removeKeysSteps } from '../../keys/user-keys.ts'
import { accountEndRecord } from '../../server/sessions/session-ends.ts'
import { pauseSessionWebhooks } from '../../webhooks/grants.ts'
import type { AccountBase } from '../accounts.ts'
import { identityKind } from '../identities.ts'
import { passwordHashSteps, type UserRow } from '../users.ts'
import type { AccessInventory } from './access-inventory.ts'

export type RecoveryParts = Pick<AccountBase, 'records' | 'run' | 'revokeAll' | 'now' | 'codes'>

/** The number of revoked and of remaining credentials. */
export interface RecoveryOutcome {
  readonly ended: AccessInventory
  readonly left: AccessInventory
  /** The names of the user's own apps. They keep their secrets. */
  readonly ownApps: readonly string[]
}

const appsOfUser = listShape('oauth_apps', ['name'], where('user_id'))

const maxNamedApps = 50

async function readOwnApps(run: Run, userId: number): Promise<readonly string[]> {
  const { text } = await run.list({ shape: appsOfUser, args: [0, maxNamedApps, userId] }, system)
  return (JSON.parse(text ?? '[]') as readonly { readonly name: string }[]).map(({ name }) => name)
}

async function count(records: Records, kind: string, userId: number): Promise<number> {
  return (await records.byOwner(kind, String(userId))).length
}

async function takeAccessInventory(
  { records, run, codes }: RecoveryParts,
  userId: number,
): Promise<AccessInventory> {
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

/** The number of each that was revoked in between. */
function difference(before: AccessInventory, after: AccessInventory): AccessInventory {
  return {
    sessions: before.sessions - after.sessions,
    apps: before.apps - after.apps,
    keys: before.keys - after.keys,
    passkeys: before.passkeys - after.passkeys,
    identities: before.identities - after.identities,
    codes: before.codes && !after.codes,
  }
}

/** Known devices, links and unfinished sign-ins that an attacker may have started. */
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

/** The extent of a recovery. Sessions, consents and tokens are always revoked. */
export interface Extent {
  /** The session that stays. */
  readonly exceptSession?: string
  readonly keys: boolean
  /** Passkeys and identities at other providers: an attacker could have added either. */
  readonly passkeys: boolean
  readonly codes: boolean
}

/** The replacement of a password: what its transaction does, and what follows. */
export interface Replacement {
  /** See `Program.serial`. */
  readonly serial: CollectionUses
  /** Store the new password. They return false, and keep the old one, if `isExpected` refuses the account. */
  readonly steps: () => ProgramSteps<boolean>
  /** After the commit: revokes what concurrent requests have created. */
  readonly finish: () => Promise<RecoveryOutcome>
}

/**
 * Stores a new password and revokes everything obtained with the old one, in one transaction, so that nothing survives if
 * the process dies. Afterwards revokes what concurrent requests have created. Returns undefined, and keeps the password, if
 * `isExpected` refuses the account at the time of the transaction.
 */
export async function replacePassword(
  base: RecoveryParts,
  userId: number,
  passwordHash: string,
  extent: Extent,
  isExpected?: (user: UserRow) => boolean,
): Promise<RecoveryOutcome | undefined> {
  const { serial, steps, finish } = await beginReplacement(base, userId, passwordHash, extent, isExpected)
  const isStored = await base.run.transaction({ principal: system, serial, steps })
  return isStored ? finish() : undefined
}

/** As `replacePassword`, for a caller that has a transaction of its own. Revokes sessions and tokens at once. */
export async function beginReplacement(
  base: RecoveryParts,
  userId: number,
  passwordHash: string,
  extent: Extent,
  isExpected: (user: UserRow) => boolean = () => true,
): Promise<Replacement> {
  const { records, run, revokeAll, now } = base
  const owner = String(userId)
  const kinds = [
    ...unfinishedKinds,
    ...(extent.passkeys ? ['Passkey', identityKind] : []),
    ...(extent.codes ? codeKinds : []),
  ]
  const before = await takeAccessInventory(base, userId)
  await revokeAll(userId, extent.exceptSession)
  const end = await accountEndRecord(records, userId, now(), extent.exceptSession)
  const revokeSteps = function* (): ProgramSteps<void> {
    yield { kind: 'put', record: end }
    yield { kind: 'deleteOwned', owner, kinds }
    if (extent.keys) yield* removeKeysSteps(userId)
  }
  return {
    serial: { writes: ['users'], ...(extent.keys && { deletes: ['api_keys'] }) },
    steps: () => passwordHashSteps(userId, passwordHash, isExpected, revokeSteps),
    async finish() {
      // Again: while the new password was being stored, a sign-in with the old one may have begun.
      await records.put(await accountEndRecord(records, userId, now(), extent.exceptSession))
      await revokeAll(userId, extent.exceptSession)
      await records.deleteOwned(owner, kinds)
      if (extent.keys) await removeKeysAndWebhooks(run, userId)
      const after = await takeAccessInventory(base, userId)
      return { ended: difference(before, after), left: after, ownApps: await readOwnApps(run, userId) }
    },
  }
}

/** Kinds whose records name the session in which they were created. */
const sessionKinds = ['Passkey', 'Totp', identityKind]

/** Deletes the passkeys, one-time codes and identities that other sessions have created. */
async function deleteFromOtherSessions(
  { records }: AccountBase,
  owner: string,
  session: string,
): Promise<void> {
  for (const kind of sessionKinds) {
    for (const { id, payload } of await records.byOwner(kind, owner)) {
      if (JSON.parse(payload).session === session) continue
      await records.delete(kind, id)
      if (kind === 'Totp') await records.deleteOwned(owner, codeKinds)
    }
  }
}

/**
 * For the first confirmation of an account's address: until then, anybody may have created the account. Revokes everything created
 * outside of this session (Sudhodanan and Paverd, Pre-hijacked accounts, 2022). API keys belong to no session, so all are revoked.
 */
export async function revokeBeforeProof(base: AccountBase, userId: number, session: string): Promise<void> {
  const { records, run, revokeOthers, now } = base
  const owner = String(userId)
  await records.put(await accountEndRecord(records, userId, now(), session))
  await revokeOthers(userId, session)
  await deleteFromOtherSessions(base, owner, session)
  await records.deleteOwned(owner, [
    'SecondFactor',
    'PendingAddress',
    'KnownDevice',
    'ProviderSignIn',
    'IdentityOffer',
  ])
  await removeKeysAndWebhooks(run, userId)
}

/** Deletes API keys, and pauses webhooks that were created in sessions: no credential ends them. */
async function removeKeysAndWebhooks(run: Run, userId: number): Promise<void> {
  await Promise.all((await keysOf(run, userId)).map(id => removeKey(run, id)))
  await pauseSessionWebhooks(run, userId)
}
