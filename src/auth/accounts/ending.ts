/**
 * What an account gives away: counted, and ended when its owner takes it back. A new password is stored with
 * everything that the old one may have let somebody plant: passkeys, keys, consents, tokens, links.
 */
import type { ListShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import { system } from '../../principal.ts'
import type { Records } from '../../records.ts'
import { keysOf, removeKey } from '../keys-of.ts'
import { accountEndRecord } from '../server/ended.ts'
import type { AccountBase } from './accounts.ts'
import { storePasswordHash } from './users.ts'

/** How many there are of each. */
export interface Holdings {
  readonly sessions: number
  /** Apps of others that the user has allowed something. */
  readonly apps: number
  readonly keys: number
  readonly passkeys: number
  /** Whether signing in by password takes a one-time code. */
  readonly codes: boolean
}

/** What an end has ended, and what is there after it. */
export interface Ended {
  readonly ended: Holdings
  readonly left: Holdings
  /** The names of the user's own apps, which stay, with their secrets. */
  readonly ownApps: readonly string[]
}

const ownApps: ListShape = {
  kind: 'list',
  collection: 'oauth_apps',
  within: undefined,
  filter: { kind: 'compare', field: 'user_id', operator: 'eq', param: 2 },
  search: undefined,
  sort: [],
  window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
  select: [{ kind: 'field', key: 'name', field: 'name' }],
}

const MAX_NAMED_APPS = 50

async function ownAppsOf(run: Run, userId: number): Promise<readonly string[]> {
  const { text } = await run.list({ shape: ownApps, args: [0, MAX_NAMED_APPS, userId] }, system)
  return (JSON.parse(text ?? '[]') as readonly { readonly name: string }[]).map(({ name }) => name)
}

async function count(records: Records, kind: string, userId: number): Promise<number> {
  return (await records.byOwner(kind, String(userId))).length
}

async function holdingsOf({ records, run, codes }: AccountBase, userId: number): Promise<Holdings> {
  const [sessions, apps, passkeys] = await Promise.all(
    ['Session', 'Consent', 'Passkey'].map(kind => count(records, kind, userId)),
  )
  return {
    sessions: sessions ?? 0,
    apps: apps ?? 0,
    passkeys: passkeys ?? 0,
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
    codes: before.codes && !left.codes,
  }
}

/** Devices, links and half-done sign-ins that the old password, or the old owner of the address, may have begun. */
const begun = [
  'KnownDevice',
  'PasswordReset',
  'SecondFactor',
  'AddressVerification',
  'PendingAddress',
  'PasskeyChallenge',
]
const codeKinds = ['Totp', 'RecoveryCode']

/** What goes beside the sessions, the consents and the tokens, which always go. */
export interface Extent {
  /** The session that stays. */
  readonly except?: string
  readonly keys: boolean
  readonly passkeys: boolean
  readonly codes: boolean
}

/**
 * Stores a new password, and ends what the old one was good for. Nothing of that outlives the password's commit, whenever
 * the process dies; what was under way meanwhile is ended after it.
 */
export async function replacePassword(
  base: AccountBase,
  userId: number,
  hashed: string,
  extent: Extent,
): Promise<Ended> {
  const { records, run, revokeAll, now } = base
  const owner = String(userId)
  const kinds = [...begun, ...(extent.passkeys ? ['Passkey'] : []), ...(extent.codes ? codeKinds : [])]
  const before = await holdingsOf(base, userId)
  await revokeAll(userId, extent.except)
  const keys = extent.keys ? await keysOf(run, userId) : []
  const end = await accountEndRecord(records, userId, now(), extent.except)
  // Asked for in one turn, they share a commit.
  await Promise.all([
    storePasswordHash(run, userId, hashed),
    records.put(end),
    records.deleteOwned(owner, kinds),
    ...keys.map(id => removeKey(run, id)),
  ])
  await revokeAll(userId, extent.except)
  await records.deleteOwned(owner, kinds)
  if (extent.keys) await removeAll(run, userId)
  const left = await holdingsOf(base, userId)
  return { ended: difference(before, left), left, ownApps: await ownAppsOf(run, userId) }
}

/** What knows in which session it was made. */
const ofSessions = ['Passkey', 'Totp']

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
 * The address of an account that anybody may have made is proven to be its user's, in this session: what was made before
 * by anything else ends (Sudhodanan and Paverd, Pre-hijacked accounts, 2022). API keys belong to no session, so all end.
 */
export async function endBeforeProof(base: AccountBase, userId: number, session: string): Promise<void> {
  const { records, run, revokeOthers, now } = base
  const owner = String(userId)
  await records.put(await accountEndRecord(records, userId, now(), session))
  await revokeOthers(userId, session)
  await endMadeElsewhere(base, owner, session)
  await records.deleteOwned(owner, ['SecondFactor', 'PendingAddress', 'KnownDevice'])
  await removeAll(run, userId)
}

async function removeAll(run: Run, userId: number): Promise<void> {
  await Promise.all((await keysOf(run, userId)).map(id => removeKey(run, id)))
}
