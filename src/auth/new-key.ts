/** What making an API key takes beyond the client's values. */
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import { then } from '../plan/answer.ts'
import type { CreateHook, Creation, Run } from '../plan/run.ts'
import { type AccessClass, hasScope, type Principal } from '../principal.ts'
import { generateKey, keyHash, keyPrefix } from './key.ts'
import { countKeys } from './keys-of.ts'

/** The scopes of a key that asks for none: the creator's own. */
function ownScopes({ scopes }: AccessClass): readonly string[] {
  return scopes === 'all' ? ['*'] : [...scopes].sort()
}

/** What a key has of the credential that makes it, where nothing else is asked for: its scopes, and its end. */
function inherited(values: Readonly<Record<string, JsonValue>>, { access, expiresAt }: Principal) {
  return {
    ...(!Array.isArray(values.scopes) && { scopes: ownScopes(access) }),
    ...(values.expires_at === undefined &&
      Number.isFinite(expiresAt) && { expires_at: new Date(expiresAt).toISOString() }),
  }
}

/** FORBIDDEN when the caller's credential lacks one of the scopes. */
function checkScopes(asked: readonly JsonValue[], { scopes }: AccessClass): void {
  const missing = asked.filter(scope => !hasScope(scopes, String(scope)))
  if (missing.length === 0) return
  throw new ApiError(
    'FORBIDDEN',
    `A key cannot have more scopes than the credential that makes it: ${missing.join(', ')}.`,
  )
}

/** What is stored of a key beside its owner, name, scopes and end, and the key itself. */
export function keyCreation(key = generateKey()): Creation {
  return { computed: { prefix: keyPrefix(key), hash: keyHash(key) }, revealed: { key } }
}

/** Keys that are being stored: made for a user since the store counted `base`. */
interface UnderWay {
  readonly base: number
  readonly since: number
  made: number
}

/** In milliseconds. A key that is not stored by then was refused for another reason. */
const LONGEST_WRITE = 1000
const MOST_USERS = 1000

/** Counts the keys that are made at the same time, which the store cannot see yet. */
class Making {
  readonly #byUser = new Map<number, UnderWay>()

  /** One more key for a user who has `stored`: how many there are, with those that are under way. */
  add(userId: number, stored: number, most: number): number {
    const known = this.#byUser.get(userId)
    const current = known?.base === stored && Date.now() - known.since < LONGEST_WRITE
    const entry = current ? known : { base: stored, since: Date.now(), made: 0 }
    if (!current && this.#byUser.size >= MOST_USERS) this.#byUser.clear()
    this.#byUser.set(userId, entry)
    const count = stored + entry.made
    if (count < most) entry.made++
    return count
  }
}

/** For creates of `api_keys`. CONFLICT when the user has as many keys as one may. */
export function newKeyHook(run: Run, maxKeysPerUser: number): CreateHook {
  const making = new Making()
  return (values, principal) => {
    const { userId } = principal
    if (userId === null) throw new ApiError('UNAUTHORIZED')
    const { scopes } = values
    if (Array.isArray(scopes)) checkScopes(scopes, principal.access)
    return then(countKeys(run, userId), stored => {
      const count = making.add(userId, stored, maxKeysPerUser)
      if (count < maxKeysPerUser) {
        const { computed, revealed } = keyCreation()
        return { computed: { ...computed, ...inherited(values, principal) }, revealed }
      }
      throw new ApiError(
        'CONFLICT',
        `You have ${count} API keys, and may have ${maxKeysPerUser}: revoke one first.`,
      )
    })
  }
}
