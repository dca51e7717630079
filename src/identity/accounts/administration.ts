/** Operations of administrators and operators on the accounts of users, also while a service runs. */
import { ApiError } from '../../base/errors.ts'
import { system } from '../../base/principal.ts'
import type { Records } from '../../base/records.ts'
import type { Run } from '../../engine/plan/run.ts'
import { updateShape } from '../../engine/plan/system-plans.ts'
import type { CollectionUses, ProgramSteps, RecordChange } from '../../engine/plan/transaction.ts'
import { hashPassword } from '../password.ts'
import { type Consent, Consents } from '../server/consent/consents.ts'
import type { SessionInfo } from '../server/server.ts'
import { accountEndRecord } from '../server/sessions/session-ends.ts'
import { Sessions } from '../server/sessions/sessions.ts'
import { pauseWebhooksOfUser } from '../webhooks/grants.ts'
import { type NoticeParts, notifyOfDisabling, notifyOfPassword } from './notifications.ts'
import { beginReplacement } from './recovery/account-recovery.ts'
import { requireNoDeletion } from './self-service/deletion.ts'
import { createOneTimeCodes } from './sign-in/one-time-codes.ts'
import { findUser, type UserRow } from './users.ts'

export interface AdministrationParts {
  readonly run: Run
  /** Sends the mails that notify users; omitted: none are sent. */
  readonly notices?: NoticeParts | undefined
  /** Records that deny the JWTs of ended grants: see `withDenials`. */
  readonly records: Records
  /** The lifetime of sessions, in seconds. */
  readonly sessionSeconds: number
}

const setDisabled = updateShape('users', ['disabled'])

/**
 * Suspends the account's sessions and tokens, pauses its webhooks, and notifies its user. Throws CONFLICT for the last enabled
 * administrator. Returns false if the account was disabled already.
 */
export async function disableUser({ run, notices }: AdministrationParts, userId: number): Promise<boolean> {
  const user = await findUser(run, userId)
  await run.write({ shape: setDisabled, args: [userId, true] }, system)
  await pauseWebhooksOfUser(run, userId)
  if (user === undefined || user.disabled) return false
  if (notices) notifyOfDisabling(notices, user)
  return true
}

/** Everything works again except webhooks, which their owner has to enable. Throws CONFLICT if the account is being deleted. */
export async function enableUser({ run, records }: AdministrationParts, userId: number): Promise<void> {
  await requireNoDeletion(records, userId)
  await run.write({ shape: setDisabled, args: [userId, false] }, system)
}

function sessionStore({ records, sessionSeconds }: AdministrationParts): Sessions {
  return new Sessions(records, sessionSeconds)
}

/** The sessions of a user, the newest first. */
export function sessionsOf(parts: AdministrationParts, userId: number): Promise<readonly SessionInfo[]> {
  return sessionStore(parts).all(userId, undefined)
}

/** See `Sessions.beginEnd`. */
export function beginSessionEnd(
  parts: AdministrationParts,
  userId: number,
  id: string,
): Promise<readonly RecordChange[] | undefined> {
  return sessionStore(parts).beginEnd(userId, id)
}

/** Commits the changes that complete an end. Returns false if there was nothing to end. */
async function finishEnd(
  { run }: AdministrationParts,
  changes: readonly RecordChange[] | undefined,
): Promise<boolean> {
  if (changes === undefined) return false
  await run.transaction({
    principal: system,
    serial: undefined,
    *steps() {
      for (const change of changes) yield change
    },
  })
  return true
}

/** Returns whether the user had such a session. */
export async function endSession(parts: AdministrationParts, userId: number, id: string): Promise<boolean> {
  return finishEnd(parts, await beginSessionEnd(parts, userId, id))
}

/** Ends every sign-in, including pending ones. Grants of apps stay. Returns the number of sessions that ended. */
export async function endSessions(parts: AdministrationParts, userId: number): Promise<number> {
  const { records } = parts
  const sessions = await sessionsOf(parts, userId)
  await records.put(await accountEndRecord(records, userId, Date.now(), undefined))
  await sessionStore(parts).revokeAll(userId, undefined)
  return sessions.length
}

/** The user's consents, and the grants of first-party apps, which need no consent. The newest first. */
export async function grantsOf(
  { records }: AdministrationParts,
  userId: number,
): Promise<readonly Consent[]> {
  const consents = new Consents(records)
  const [consented, unasked] = await Promise.all([consents.all(userId), consents.withoutConsent(userId)])
  return [...consented, ...unasked].sort((a, b) => b.at - a.at)
}

/** See `Consents.beginRevocation`. Undefined if the app has no access to the user's data. */
export async function beginRevocation(
  parts: AdministrationParts,
  userId: number,
  clientId: string,
): Promise<readonly RecordChange[] | undefined> {
  const consents = new Consents(parts.records)
  const hasAccess =
    (await grantsOf(parts, userId)).some(grant => grant.clientId === clientId) ||
    (await consents.isUser(userId, clientId))
  return hasAccess ? consents.beginRevocation(userId, clientId) : undefined
}

/** Revokes an app's access to the user's data. Returns whether it had any. */
export async function revokeGrant(
  parts: AdministrationParts,
  userId: number,
  clientId: string,
): Promise<boolean> {
  return finishEnd(parts, await beginRevocation(parts, userId, clientId))
}

/** Revokes the access of all apps to the user's data. */
export function revokeGrants({ records }: AdministrationParts, userId: number): Promise<void> {
  return new Consents(records).endAll(userId)
}

/**
 * Ends sessions, tokens, consents and API keys, as a reset does. Passkeys, identities at other providers and one-time codes
 * end only if the password is to be the only sign-in method. Notifies the user.
 */
export async function setPassword(
  parts: AdministrationParts,
  user: Pick<UserRow, 'id' | 'email'>,
  password: string,
  isOnlyWay = false,
): Promise<void> {
  const { serial, steps, finish } = await beginSettingPassword(parts, user, password, isOnlyWay)
  await parts.run.transaction({ principal: system, serial, steps })
  await finish()
}

/** As `setPassword`, for a caller that has a transaction of its own. The steps throw NOT_FOUND. */
export async function beginSettingPassword(
  parts: AdministrationParts,
  user: Pick<UserRow, 'id' | 'email'>,
  password: string,
  isOnlyWay: boolean,
): Promise<SettingPassword> {
  const { run, records, notices } = parts
  const base = {
    run,
    records,
    now: Date.now,
    codes: createOneTimeCodes(records, Date.now),
    revokeAll: async (id: number, exceptSession?: string) => {
      await sessionStore(parts).revokeAll(id, exceptSession)
      await new Consents(records).endAll(id)
    },
  }
  const passwordHash = await hashPassword(password)
  const extent = { keys: true, passkeys: isOnlyWay, codes: isOnlyWay }
  const { serial, steps, finish } = await beginReplacement(base, user.id, passwordHash, extent)
  return {
    serial,
    *steps() {
      const isStored = yield* steps()
      if (!isStored) throw new ApiError('NOT_FOUND', 'The account was deleted in the meantime.')
    },
    async finish() {
      const result = await finish()
      if (notices) notifyOfPassword(notices, user, 'administrator', result)
    },
  }
}

/** See `Replacement`. */
interface SettingPassword {
  readonly serial: CollectionUses
  readonly steps: () => ProgramSteps<void>
  readonly finish: () => Promise<void>
}
