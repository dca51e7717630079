/**
 * Browsers in which somebody has signed in before. What others try at an account must not keep its owner out, so such a
 * browser has attempts of its own at that account, and at no other.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Records, StoredRecord } from '../../records.ts'

const kind = 'KnownDevice'
const DAY = 24 * 60 * 60 * 1000
/** As long as browsers keep a cookie at most (RFC 6265bis, 5.5). */
export const DEVICE_LIFETIME = 400 * DAY
const RENEWED_BELOW = 370 * DAY
const MAX_DEVICES = 20
/** Of one browser: each account that signs in there has one of its own. */
const MAX_SECRETS = 5
const BYTES = 32
const form = /^[A-Za-z0-9_-]{43}$/

interface Stored {
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface Devices {
  /** The name of the device, where one of the secrets is known to the account. */
  find(secrets: readonly string[], userId: number): Promise<string | undefined>
  /** The name of the device, where one of the secrets is known to any account. */
  findAny(secrets: readonly string[]): Promise<string | undefined>
  /** After a sign-in. The secrets that the browser is to keep; undefined: those that it has. */
  remember(secrets: readonly string[], userId: number): Promise<readonly string[] | undefined>
}

/** The secrets in a cookie's value, whatever it holds. */
export function secretsIn(value: string | undefined): readonly string[] {
  const parts = value === undefined || value.length > MAX_SECRETS * 44 ? [] : value.split('.')
  return [...new Set(parts.filter(part => form.test(part)))].slice(0, MAX_SECRETS)
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
    const payload: Stored = { createdAt: now() }
    const expiresAt = now() + DEVICE_LIFETIME
    return records.put({ kind, id, payload: JSON.stringify(payload), expiresAt, owner: String(userId) })
  }
  /** The oldest go where there are too many. */
  const makeRoom = async (userId: number) => {
    const all = await records.byOwner(kind, String(userId))
    const age = ({ payload }: StoredRecord) => (JSON.parse(payload) as Stored).createdAt
    const surplus = [...all].sort((one, other) => age(other) - age(one)).slice(MAX_DEVICES - 1)
    await Promise.all(surplus.map(({ id }) => records.delete(kind, id)))
  }
  return {
    find: async (secrets, userId) => (await ofUser(secrets, userId))?.id,
    findAny: async secrets => (await stored(secrets))[0]?.id,
    async remember(secrets, userId) {
      const known = await ofUser(secrets, userId)
      if (known) {
        if ((known.expiresAt ?? 0) - now() >= RENEWED_BELOW) return undefined
        await keep(known.id, userId)
        return secrets
      }
      await makeRoom(userId)
      // Never one that the browser brought: somebody else may have put it there.
      const secret = randomBytes(BYTES).toString('base64url')
      await keep(idOf(secret), userId)
      return [secret, ...secrets].slice(0, MAX_SECRETS)
    },
  }
}
