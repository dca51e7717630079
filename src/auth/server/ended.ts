/**
 * Sessions that ended early, one by one or all of an account. A request under way stores its session again when it is
 * answered, and perhaps a code: each checks here afterwards, so that neither outlives the end.
 */
import type { NewRecord, Records } from '../../records.ts'

const KIND = 'EndedSession'
/** Longer than any request takes, in milliseconds. */
const KEPT = 10 * 60 * 1000

/** To be called before anything of the session is deleted. `uid`: what it is called whatever its cookie is. */
export function noteEnd(records: Records, uid: string, owner: string | undefined): Promise<void> {
  return records.put({ kind: KIND, id: uid, payload: '{}', expiresAt: Date.now() + KEPT, owner })
}

/** An account whose sign-ins of before count no more: what is stored of it. */
interface AccountEnd {
  /** Seconds since 1970. */
  readonly at: number
  /** The `uid` of the session that stays. */
  readonly except: string | undefined
}

const ACCOUNT_KIND = 'AccountEnd'
/** Longer than a request for authorization waits for its user, in milliseconds. */
const ACCOUNT_KEPT = 24 * 60 * 60 * 1000

async function accountEnd(records: Records, owner: string): Promise<AccountEnd | undefined> {
  const found = await records.get(ACCOUNT_KIND, owner)
  return found && (JSON.parse(found.payload) as AccountEnd)
}

/**
 * When somebody signs in who proves it now, in seconds since 1970; later than any end of the account that is known,
 * even within its second. To be asked for before the proof is checked: an end after that is later.
 */
export async function signInTime(records: Records, userId: number, nowMs: number): Promise<number> {
  const end = await accountEnd(records, String(userId))
  return Math.max(Math.floor(nowMs / 1000), (end?.at ?? 0) + 1)
}

/**
 * The record by which every sign-in of before is over, also one that is under way. To be stored with what makes the
 * old proof worthless. The clocks of nodes must agree to the second.
 */
export async function accountEndRecord(
  records: Records,
  userId: number,
  nowMs: number,
  except: string | undefined,
): Promise<NewRecord> {
  const owner = String(userId)
  const end: AccountEnd = { at: await signInTime(records, userId, nowMs), except }
  const expiresAt = nowMs + ACCOUNT_KEPT
  return { kind: ACCOUNT_KIND, id: owner, payload: JSON.stringify(end), expiresAt, owner }
}

/** How long ago everything of the account was ended, in milliseconds; undefined: not within a day. */
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
  return (await records.get(KIND, uid)) !== undefined
}
