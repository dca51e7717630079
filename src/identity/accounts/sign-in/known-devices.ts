/**
 * Browsers in which a user has signed in before. Each has its own budget of attempts for that account, so that failed attempts of
 * strangers do not lock the owner out.
 */

import { hash } from 'node:crypto'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'
import { isRandomSecret, randomSecret } from '../../server/secret.ts'

const recordKind = 'KnownDevice'
const dayMs = 24 * 60 * 60 * 1000
/** The longest that browsers keep a cookie (RFC 6265bis, 5.5). */
export const deviceLifetimeMs = 400 * dayMs
const renewalThresholdMs = 370 * dayMs
const maxDevices = 20
/** The secrets in one cookie: each account that has signed in with the browser has its own. */
const maxSecrets = 5

interface StoredDevice {
  readonly createdAt: EpochMs
}

export interface Devices {
  /** The device's id if the account knows one of the secrets. */
  find(secrets: readonly string[], userId: number): Promise<string | undefined>
  /** The device's id if any account knows one of the secrets. */
  findAny(secrets: readonly string[]): Promise<string | undefined>
  /** Call this after a sign-in. Returns the secrets for the browser's cookie; undefined if the cookie stays the same. */
  remember(secrets: readonly string[], userId: number): Promise<readonly string[] | undefined>
}

/** The secrets in the value of a cookie. Clients can send anything in it. */
export function secretsIn(value: string | undefined): readonly string[] {
  const parts = value === undefined || value.length > maxSecrets * 44 ? [] : value.split('.')
  return [...new Set(parts.filter(isRandomSecret))].slice(0, maxSecrets)
}

function idOf(secret: string): string {
  return hash('sha256', `device:${secret}`, 'base64url')
}

export function createDevices(records: Records, now: () => EpochMs = Date.now): Devices {
  const findRecords = async (secrets: readonly string[]): Promise<readonly StoredRecord[]> => {
    const devices = await Promise.all(secrets.map(secret => records.get(recordKind, idOf(secret))))
    return devices.filter(device => device !== undefined)
  }
  const findRecord = async (secrets: readonly string[], userId: number) =>
    (await findRecords(secrets)).find(({ owner }) => owner === String(userId))
  const store = (id: string, userId: number) => {
    const payload: StoredDevice = { createdAt: now() }
    const expiresAt = now() + deviceLifetimeMs
    return records.put({
      kind: recordKind,
      id,
      payload: JSON.stringify(payload),
      expiresAt,
      owner: String(userId),
    })
  }
  /** Deletes the oldest devices if there are too many. */
  const removeOldest = async (userId: number) => {
    const devices = await records.byOwner(recordKind, String(userId))
    const createdAt = ({ payload }: StoredRecord) => (JSON.parse(payload) as StoredDevice).createdAt
    const surplus = [...devices].sort((a, b) => createdAt(b) - createdAt(a)).slice(maxDevices)
    await Promise.all(surplus.map(({ id }) => records.delete(recordKind, id)))
  }
  return {
    find: async (secrets, userId) => (await findRecord(secrets, userId))?.id,
    findAny: async secrets => (await findRecords(secrets))[0]?.id,
    async remember(secrets, userId) {
      const device = await findRecord(secrets, userId)
      if (device) {
        if ((device.expiresAt ?? 0) - now() >= renewalThresholdMs) return undefined
        await store(device.id, userId)
        return secrets
      }
      // Always a new secret: an attacker may have planted the one that the browser sent.
      const secret = randomSecret()
      await store(idOf(secret), userId)
      // Afterwards, so that concurrent sign-ins count each other's devices.
      await removeOldest(userId)
      return [secret, ...secrets].slice(0, maxSecrets)
    },
  }
}
