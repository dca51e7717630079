/** Time-based one-time passwords (RFC 6238) and the recovery codes beside them. */
import type { Records } from '../../records.ts'
import { sameHash } from '../server/secret.ts'
import { newCode, recoveryHash, recoveryRecord } from './recovery-codes.ts'

const secrets = 'Totp'
const used = 'TotpUsed'
const recovery = 'RecoveryCode'

/** Seconds; a clock may be one period behind or ahead. */
const PERIOD = 30
const WINDOW = 1
const CODES = 10

interface Stored {
  /** Base32. */
  readonly secret: string
  /** Until a first code has proved that the app knows it. */
  readonly confirmed: boolean
  /** Milliseconds since 1970; missing where it was made before this was kept. */
  readonly createdAt?: number
  /** In which they were turned on. */
  readonly session?: string | undefined
}

export interface Enrolment {
  readonly secret: string
  /** `otpauth://…`, for the picture. */
  readonly uri: string
}

export interface OneTimeCodes {
  isOn(userId: number): Promise<boolean>
  /** Whether they were turned on, or begun, less than so many milliseconds ago. */
  isYoungerThan(userId: number, ageMs: number): Promise<boolean>
  /** A new secret, which does nothing until `confirm`. */
  start(userId: number, email: string, issuer: string): Promise<Enrolment>
  /** The secret that waits to be confirmed, with its picture's address. */
  waiting(userId: number, email: string, issuer: string): Promise<Enrolment | undefined>
  /** Turns codes on, where `code` fits. Returns the recovery codes, shown once; undefined where it does not. */
  confirm(userId: number, code: string, session?: string): Promise<readonly string[] | undefined>
  /** Whether the code is right: of a device, once in its time; or a recovery code, once ever. */
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
    period: PERIOD,
    secret: secret === undefined ? new Secret() : Secret.fromBase32(secret),
  })
}

export function createOneTimeCodes(records: Records, now: () => number = Date.now): OneTimeCodes {
  const find = async (userId: number): Promise<Stored | undefined> => {
    const record = await records.get(secrets, String(userId))
    return record && JSON.parse(record.payload)
  }
  const store = (userId: number, stored: Stored) => {
    const owner = String(userId)
    return records.put({ kind: secrets, id: owner, payload: JSON.stringify(stored), expiresAt: null, owner })
  }
  const fits = async (userId: number, secret: string, code: string): Promise<boolean> => {
    const token = code.replace(/\s/g, '')
    if (!/^\d{6}$/.test(token)) return false
    const made = await totp(secret)
    const at = now()
    const delta = made.validate({ token, timestamp: at, window: WINDOW })
    if (delta === null) return false
    // RFC 6238, 5.2: a code must not be taken a second time.
    const counter = Math.floor(at / 1000 / PERIOD) + delta
    const expiresAt = at + (2 * WINDOW + 2) * PERIOD * 1000
    return records.add({
      kind: used,
      id: `${userId}:${counter}`,
      payload: '{}',
      expiresAt,
      owner: String(userId),
    })
  }
  const newRecoveryCodes = async (userId: number) => {
    const owner = String(userId)
    await records.deleteOwned(owner, [recovery])
    const codes = Array.from({ length: CODES }, newCode)
    await Promise.all(codes.map(code => records.put(recoveryRecord(userId, recoveryHash(userId, code)))))
    return codes
  }
  const useRecoveryCode = async (userId: number, code: string): Promise<boolean> => {
    const typed = recoveryHash(userId, code)
    const kept = await records.byOwner(recovery, String(userId))
    const found = kept.filter(({ payload }) => sameHash(JSON.parse(payload).hash, typed))
    return found[0] !== undefined && records.consume(recovery, found[0].id)
  }
  const enrolment = async (secret: string | undefined, email: string, issuer: string): Promise<Enrolment> => {
    const made = await totp(secret, email, issuer)
    return { secret: made.secret.base32, uri: made.toString() }
  }
  return {
    newRecoveryCodes,
    async isOn(userId) {
      return (await find(userId))?.confirmed === true
    },
    async isYoungerThan(userId, ageMs) {
      const createdAt = (await find(userId))?.createdAt
      return createdAt !== undefined && now() - createdAt < ageMs
    },
    async start(userId, email, issuer) {
      const made = await enrolment(undefined, email, issuer)
      await store(userId, { secret: made.secret, confirmed: false, createdAt: now() })
      return made
    },
    async waiting(userId, email, issuer) {
      const stored = await find(userId)
      return stored && !stored.confirmed ? enrolment(stored.secret, email, issuer) : undefined
    },
    async confirm(userId, code, session) {
      const stored = await find(userId)
      if (!stored || stored.confirmed || !(await fits(userId, stored.secret, code))) return undefined
      await store(userId, { ...stored, confirmed: true, createdAt: now(), session })
      return newRecoveryCodes(userId)
    },
    async check(userId, code) {
      const stored = await find(userId)
      if (!stored?.confirmed) return false
      if (await fits(userId, stored.secret, code)) return true
      return useRecoveryCode(userId, code)
    },
    async recoveryCodesLeft(userId) {
      const codes = await records.byOwner(recovery, String(userId))
      return codes.filter(({ consumedAt }) => consumedAt === null).length
    },
    async turnOff(userId) {
      await records.deleteOwned(String(userId), [secrets, recovery])
    },
  }
}
