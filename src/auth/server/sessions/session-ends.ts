/**
 * Sessions that were ended early, one by one or all of an account. A request that is under way then stores its session
 * again, and perhaps a code. Both are checked here after they are stored, so that neither survives the end.
 */
import type { NewRecord, Records } from '../../../records.ts'

const sessionEndKind = 'EndedSession'
/** Longer than any request takes. */
const sessionEndKeptMs = 10 * 60 * 1000

/** To be called before anything of the session is deleted. `uid`: its name, which does not change with its cookie. */
export function noteEnd(records: Records, uid: string, owner: string | undefined): Promise<void> {
  return records.put({
    kind: sessionEndKind,
    id: uid,
    payload: '{}',
    expiresAt: Date.now() + sessionEndKeptMs,
    owner,
  })
}

/** The stored end of all sign-ins of an account. */
interface AccountEnd {
  /** Seconds since 1970. */
  readonly at: number
  /** The `uid` of the session that stays. */
  readonly except: string | undefined
}

const accountEndKind = 'AccountEnd'
/** Longer than an authorization request waits for its user. */
const accountEndKeptMs = 24 * 60 * 60 * 1000

async function accountEnd(records: Records, owner: string): Promise<AccountEnd | undefined> {
  const found = await records.get(accountEndKind, owner)
  return found && (JSON.parse(found.payload) as AccountEnd)
}

/**
 * The time of a sign-in, in seconds since 1970: after every known end of the account, even one in the same second. To be
 * taken before the credential is checked, so that an end during the check counts as later.
 */
export async function signInTime(records: Records, userId: number, nowMs: number): Promise<number> {
  const end = await accountEnd(records, String(userId))
  return Math.max(Math.floor(nowMs / 1000), (end?.at ?? 0) + 1)
}

/**
 * The record that ends every earlier sign-in, including one under way. To be stored together with the new credential. The
 * clocks of the nodes must agree to the second.
 */
export async function accountEndRecord(
  records: Records,
  userId: number,
  nowMs: number,
  except: string | undefined,
): Promise<NewRecord> {
  const owner = String(userId)
  const end: AccountEnd = { at: await signInTime(records, userId, nowMs), except }
  const expiresAt = nowMs + accountEndKeptMs
  return { kind: accountEndKind, id: owner, payload: JSON.stringify(end), expiresAt, owner }
}

/** How long ago the account's sign-ins were ended, in milliseconds; undefined where not within a day. */
export async function sinceAccountEnd(
  records: Records,
  userId: number,
  nowMs: number,
): Promise<number | undefined> {
  const end = await accountEnd(records, String(userId))
  return end && nowMs - end.at * 1000
}

/** Whether the account of a session was ended after the session's sign-in, at `signedInAt` (seconds since 1970). */
export async function isEndedWithAccount(
  records: Records,
  owner: string,
  uid: string,
  signedInAt: number,
): Promise<boolean> {
  const end = await accountEnd(records, owner)
  return end !== undefined && end.except !== uid && signedInAt <= end.at
}

export async function isEnded(records: Records, uid: string): Promise<boolean> {
  return (await records.get(sessionEndKind, uid)) !== undefined
}
