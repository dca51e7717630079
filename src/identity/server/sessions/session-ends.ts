/**
 * Sessions that were ended early, singly or for a whole account. A concurrent request may store its session again, and
 * perhaps a code. Both are checked here after they are stored, so that neither outlives the end of the session.
 */
import type { NewRecord, Records } from '../../../base/records.ts'

const sessionEndKind = 'EndedSession'
/** Longer than any request takes. */
const sessionEndRetentionMs = 10 * 60 * 1000

/** Call it before anything of the session is deleted. `uid`: the session's id, which does not change with its cookie. */
export function noteEnd(records: Records, uid: string, owner: string | undefined): Promise<void> {
  return records.put({
    kind: sessionEndKind,
    id: uid,
    payload: '{}',
    expiresAt: Date.now() + sessionEndRetentionMs,
    owner,
  })
}

/** A stored record that all sign-ins of an account have ended. */
interface AccountEnd {
  /** Seconds since 1970. */
  readonly at: number
  /** The `uid` of the session that does not end. */
  readonly except: string | undefined
}

const accountEndKind = 'AccountEnd'
/** Longer than an interaction lives. */
const accountEndRetentionMs = 24 * 60 * 60 * 1000

async function readAccountEnd(records: Records, owner: string): Promise<AccountEnd | undefined> {
  const record = await records.get(accountEndKind, owner)
  return record && (JSON.parse(record.payload) as AccountEnd)
}

/**
 * The time of a sign-in, in seconds since 1970: after every known end of the account, even one in the same second. Take
 * it before the credential is checked, so that an end during the check counts as later.
 */
export async function signInTime(records: Records, userId: number, nowMs: number): Promise<number> {
  const end = await readAccountEnd(records, String(userId))
  return Math.max(Math.floor(nowMs / 1000), (end?.at ?? 0) + 1)
}

/**
 * The record that ends every earlier sign-in, including one in progress. Store it together with the new credential. The
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
  const expiresAt = nowMs + accountEndRetentionMs
  return { kind: accountEndKind, id: owner, payload: JSON.stringify(end), expiresAt, owner }
}

/** How long ago the account's sign-ins were ended, in milliseconds; undefined if more than a day ago, or never. */
export async function msSinceAccountEnd(
  records: Records,
  userId: number,
  nowMs: number,
): Promise<number | undefined> {
  const end = await readAccountEnd(records, String(userId))
  return end && nowMs - end.at * 1000
}

/** Whether the account of a session was ended after the session's sign-in, at `signedInAt` (seconds since 1970). */
export async function isEndedWithAccount(
  records: Records,
  owner: string,
  uid: string,
  signedInAt: number,
): Promise<boolean> {
  const end = await readAccountEnd(records, owner)
  return end !== undefined && end.except !== uid && signedInAt <= end.at
}

/** Whether a session was ended early. `uid`: the session’s id. */
export async function isEnded(records: Records, uid: string): Promise<boolean> {
  return (await records.get(sessionEndKind, uid)) !== undefined
}
