/** What making an API key takes beyond the client's values. */
import { ApiError } from '../errors.ts'
import { openidScopes } from '../model/builtin.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { CreateHook, Creation } from '../plan/run.ts'
import { type AccessClass, hasScope, type Principal } from '../principal.ts'
import { generateKey, keyHash, keyPrefix } from './key.ts'

/** The scopes of a key that asks for none: the creator's own, but those that only a token of an app can have. */
function ownScopes({ scopes }: AccessClass): readonly string[] {
  return scopes === 'all' ? ['*'] : [...scopes].filter(scope => !openidScopes.has(scope)).sort()
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

/** For creates of `api_keys`, of which a user may have so many. */
export function newKeyHook(maxKeysPerUser: number): CreateHook {
  const refusal = `You may have ${maxKeysPerUser} API keys, and have as many: revoke one first.`
  const most = { field: 'user_id', count: maxKeysPerUser, refusal }
  return (values, principal) => {
    if (principal.userId === null) throw new ApiError('UNAUTHORIZED')
    const { scopes } = values
    if (Array.isArray(scopes)) checkScopes(scopes, principal.access)
    const { computed, revealed } = keyCreation()
    return { computed: { ...computed, ...inherited(values, principal) }, revealed, most }
  }
}
