/** What administrators and operators do to accounts of others, beside a service that may be running. */
import type { Run } from '../../plan/run.ts'
import { updateShape } from '../../plan/system-plans.ts'
import { system } from '../../principal.ts'
import type { Records } from '../../records.ts'
import { hashPassword } from '../password.ts'
import { type Consent, Consents } from '../server/consent/consents.ts'
import type { SessionInfo } from '../server/server.ts'
import { accountEndRecord } from '../server/sessions/session-ends.ts'
import { Sessions } from '../server/sessions/sessions.ts'
import { pauseOfUser } from '../webhooks/grants.ts'
import { replacePassword } from './account-recovery.ts'
import { createOneTimeCodes } from './one-time-codes.ts'

export interface AdministrationParts {
  readonly run: Run
  /** Those that deny the JWTs of ended grants: see `withDenials`. */
  readonly records: Records
  /** How long sessions live, in seconds. */
  readonly sessionLife: number
}

const setDisabled = updateShape('users', ['disabled'])

/** Throws CONFLICT for the last enabled administrator. Sessions and tokens are suspended, and webhooks paused. */
export async function disableUser({ run }: AdministrationParts, userId: number): Promise<void> {
  await run.write({ shape: setDisabled, args: [userId, true] }, system)
  await pauseOfUser(run, userId)
}

/** What the account had before works again, but its webhooks, which their owner enables. */
export async function enableUser({ run }: AdministrationParts, userId: number): Promise<void> {
  await run.write({ shape: setDisabled, args: [userId, false] }, system)
}

function sessionsIn({ records, sessionLife }: AdministrationParts): Sessions {
  return new Sessions(records, sessionLife)
}

/** The newest first. */
export function sessionsOf(parts: AdministrationParts, userId: number): Promise<readonly SessionInfo[]> {
  return sessionsIn(parts).all(userId, undefined)
}

/** Returns whether the user had such a session. */
export function endSession(parts: AdministrationParts, userId: number, id: string): Promise<boolean> {
  return sessionsIn(parts).revoke(userId, id)
}

/** Ends every sign-in, also one that is under way. What apps were granted stays. Returns how many sessions there were. */
export async function endSessions(parts: AdministrationParts, userId: number): Promise<number> {
  const { records } = parts
  const { length } = await sessionsOf(parts, userId)
  await records.put(await accountEndRecord(records, userId, Date.now(), undefined))
  await sessionsIn(parts).revokeAll(userId, undefined)
  return length
}

/** What the user has allowed apps. */
export function grantsOf({ records }: AdministrationParts, userId: number): Promise<readonly Consent[]> {
  return new Consents(records).all(userId)
}

/** Ends everything that the user has allowed an app. Returns whether it was allowed anything. */
export async function revokeGrant(
  { records }: AdministrationParts,
  userId: number,
  clientId: string,
): Promise<boolean> {
  const consents = new Consents(records)
  if (!(await consents.find(userId, clientId))) return false
  await consents.revoke(userId, clientId)
  return true
}

/** As a reset does, but passkeys and one-time codes stay: sessions, tokens, consents and API keys end. */
export async function setPassword(
  parts: AdministrationParts,
  userId: number,
  password: string,
): Promise<void> {
  const { run, records } = parts
  const base = {
    run,
    records,
    now: Date.now,
    codes: createOneTimeCodes(records, Date.now),
    revokeAll: async (id: number, except?: string) => {
      await sessionsIn(parts).revokeAll(id, except)
      await new Consents(records).endAll(id)
    },
  }
  const hashed = await hashPassword(password)
  await replacePassword(base, userId, hashed, { keys: true, passkeys: false, codes: false })
}
