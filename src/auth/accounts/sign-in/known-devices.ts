/**
 * Browsers in which a user has signed in before. Failed attempts of strangers must not lock the owner out, so such a browser
 * has its own budget of attempts, for that account only.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Records, StoredRecord } from '../../../records.ts'

const kind = 'KnownDevice'
const dayMs = 24 * 60 * 60 * 1000
/** The longest that browsers keep a cookie (RFC 6265bis, 5.5). */
export const deviceLifetimeMs = 400 * dayMs
const renewalThresholdMs = 370 * dayMs
const maxDevices = 20
/** In one browser: each account that has signed in there has a secret. */
const maxSecrets = 5
const secretBytes = 32
const form = /^[A-Za-z0-9_-]{43}$/

interface StoredDevice {
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface Devices {
  /** The device's id if the account knows one of the secrets. */
  find(secrets: readonly string[], userId: number): Promise<string | undefined>
  /** The device's id if any account knows one of the secrets. */
  findAny(secrets: readonly string[]): Promise<string | undefined>
  /** To be called after a sign-in. Returns the secrets for the browser's cookie; undefined if the cookie need not change. */
  remember(secrets: readonly string[], userId: number): Promise<readonly string[] | undefined>
}

/** The secrets in a cookie's value, which may be anything. */
export function secretsIn(value: string | undefined): readonly string[] {
  const parts = value === undefined || value.length > maxSecrets * 44 ? [] : value.split('.')
  return [...new Set(parts.filter(part => form.test(part)))].slice(0, maxSecrets)
}

function idOf(secret: string): string {
  return hash('sha256', `device:${secret}`, 'base64url')
}

export function createDevices(records: Records, now: () => number = Date.now): Devices {
  const stored = async (secrets: readonly string[]): Promise<readonly StoredRecord[]> => {
    const found = await Promise.all(secrets.map(secret => records.get(kind, idOf(secret))))
    return found.filter(record => record !== undefined)
  }
  const ofUser = async (secrets: readonly string[], userId: number) =>
    (await stored(secrets)).find(({ owner }) => owner === String(userId))
  const keep = (id: string, userId: number) => {
    const payload: StoredDevice = { createdAt: now() }
    const expiresAt = now() + deviceLifetimeMs
    return records.put({ kind, id, payload: JSON.stringify(payload), expiresAt, owner: String(userId) })
  }
  /** Deletes the oldest devices if there are too many. */
  const removeOldest = async (userId: number) => {
    const all = await records.byOwner(kind, String(userId))
    const age = ({ payload }: StoredRecord) => (JSON.parse(payload) as StoredDevice).createdAt
    const surplus = [...all].sort((one, other) => age(other) - age(one)).slice(maxDevices)
    await Promise.all(surplus.map(({ id }) => records.delete(kind, id)))
  }
  return {
    find: async (secrets, userId) => (await ofUser(secrets, userId))?.id,
    findAny: async secrets => (await stored(secrets))[0]?.id,
    async remember(secrets, userId) {
      const known = await ofUser(secrets, userId)
      if (known) {
        if ((known.expiresAt ?? 0) - now() >= renewalThresholdMs) return undefined
        await keep(known.id, userId)
        return secrets
      }
      // Always a new secret: somebody else may have planted the one that the browser has sent.
      const secret = randomBytes(secretBytes).toString('base64url')
      await keep(idOf(secret), userId)
      // Afterwards, so that concurrent sign-ins count each other's devices.
      await removeOldest(userId)
      return [secret, ...secrets].slice(0, maxSecrets)
    },
  }
}
