/** Time-based one-time passwords (RFC 6238), and recovery codes for users who have lost their device. */

import type { Awaitable } from '../../../base/awaitable.ts'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'
import { countRecoveryCodes, recoveryKind, replaceRecoveryCodes, useRecoveryCode } from './recovery-codes.ts'

const secretKind = 'Totp'
const usedKind = 'TotpUsed'

const periodSeconds = 30
/** The number of periods by which the device's clock may be behind or ahead. */
const clockPeriods = 1

interface StoredSecret {
  /** Base32. */
  readonly secret: string
  /** Whether a first code has proven that the device has the secret. */
  readonly confirmed: boolean
  readonly createdAt: EpochMs
  /** The session in which codes were turned on. */
  readonly session?: string | undefined
}

export interface Enrolment {
  readonly secret: string
  /** `otpauth://…`, for the QR code. */
  readonly uri: string
}

export interface OneTimeCodes {
  isOn(userId: number): Promise<boolean>
  /** Whether enrolment began, or was confirmed, less than `ageMs` ago. */
  isYoungerThan(userId: number, ageMs: number): Promise<boolean>
  /** Starts an enrolment with a new secret, which has no effect until `confirm`. Throws CONFLICT if codes are on. */
  start(userId: number, email: string, issuer: string): Promise<Enrolment>
  /** The pending enrolment, if there is one. */
  pending(userId: number, email: string, issuer: string): Promise<Enrolment | undefined>
  /** Turns codes on if `code` is right, and returns the recovery codes, which are shown once. */
  confirm(userId: number, code: string, session?: string): Promise<readonly string[] | undefined>
  /** Whether the code is right: a code of the device, or a recovery code. Each works once. */
  check(userId: number, code: string): Promise<boolean>
  recoveryCodesLeft(userId: number): Promise<number>
  newRecoveryCodes(userId: number): Promise<readonly string[]>
  turnOff(userId: number): Promise<void>
}

async function totp(secret: string | undefined, email = '', issuer = 'Portico') {
  const { Secret, TOTP } = await import('otpauth')
  return new TOTP({
    issuer,
    label: email,
    period: periodSeconds,
    secret: secret === undefined ? new Secret() : Secret.fromBase32(secret),
  })
}

async function enrolment(secret: string | undefined, email: string, issuer: string): Promise<Enrolment> {
  const generator = await totp(secret, email, issuer)
  return { secret: generator.secret.base32, uri: generator.toString() }
}

function findRecord(records: Records, userId: number): Awaitable<StoredRecord | undefined> {
  return records.get(secretKind, String(userId))
}

function secretIn({ payload }: StoredRecord): StoredSecret {
  return JSON.parse(payload)
}

/** Stores an unconfirmed secret, and replaces another unconfirmed one. Throws CONFLICT if codes are on. */
async function putUnconfirmed(records: Records, userId: number, stored: StoredSecret): Promise<void> {
  const owner = String(userId)
  const payload = JSON.stringify(stored)
  for (let isStored = false; !isStored; ) {
    const record = await findRecord(records, userId)
    if (record && secretIn(record).confirmed) throw new ApiError('CONFLICT', 'Codes are turned on already.')
    isStored = record
      ? await records.swap(record, record.payload, payload)
      : await records.add({ kind: secretKind, id: owner, payload, expiresAt: null, owner })
  }
}

/** Whether the code is valid at `nowMs` and unused. Marks it as used. */
async function useCode(
  records: Records,
  userId: number,
  secret: string,
  code: string,
  nowMs: number,
): Promise<boolean> {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return false
  const delta = (await totp(secret)).validate({ token, timestamp: nowMs, window: clockPeriods })
  if (delta === null) return false
  // RFC 6238, 5.2: a code must not be accepted a second time.
  const counter = Math.floor(nowMs / 1000 / periodSeconds) + delta
  const expiresAt = nowMs + (2 * clockPeriods + 2) * periodSeconds * 1000
  const owner = String(userId)
  return records.add({ kind: usedKind, id: `${userId}:${counter}`, payload: '{}', expiresAt, owner })
}

/** One-time codes by RFC 6238. */
export function createOneTimeCodes(records: Records, now: () => EpochMs = Date.now): OneTimeCodes {
  const find = async (userId: number): Promise<StoredSecret | undefined> => {
    const record = await findRecord(records, userId)
    return record && secretIn(record)
  }
  return {
    newRecoveryCodes: userId => replaceRecoveryCodes(records, userId),
    async isOn(userId) {
      return (await find(userId))?.confirmed === true
    },
    async isYoungerThan(userId, ageMs) {
      const createdAt = (await find(userId))?.createdAt
      return createdAt !== undefined && now() - createdAt < ageMs
    },
    async start(userId, email, issuer) {
      const { secret, uri } = await enrolment(undefined, email, issuer)
      await putUnconfirmed(records, userId, { secret, confirmed: false, createdAt: now() })
      return { secret, uri }
    },
    async pending(userId, email, issuer) {
      const stored = await find(userId)
      return stored && !stored.confirmed ? enrolment(stored.secret, email, issuer) : undefined
    },
    async confirm(userId, code, session) {
      const record = await findRecord(records, userId)
      const stored = record && secretIn(record)
      if (!stored || stored.confirmed) return undefined
      if (!(await useCode(records, userId, stored.secret, code, now()))) return undefined
      const confirmed: StoredSecret = { ...stored, confirmed: true, createdAt: now(), session }
      // An account recovery, or another enrolment, may have removed the secret in the meantime.
      if (!(await records.swap(record, record.payload, JSON.stringify(confirmed)))) return undefined
      return replaceRecoveryCodes(records, userId)
    },
    async check(userId, code) {
      const stored = await find(userId)
      if (!stored?.confirmed) return false
      if (await useCode(records, userId, stored.secret, code, now())) return true
      return useRecoveryCode(records, userId, code)
    },
    recoveryCodesLeft: userId => countRecoveryCodes(records, userId),
    async turnOff(userId) {
      await records.deleteOwned(String(userId), [secretKind, recoveryKind])
    },
  }
}
