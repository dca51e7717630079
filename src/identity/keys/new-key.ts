/** Creating an API key: its defaults, and its generated values. */

import { then } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import { type AccessClass, hasScope, type Principal } from '../../base/principal.ts'
import type { CreateHook, Creation, Run } from '../../engine/plan/run.ts'
import { openidScopes } from '../../model/builtin/builtin.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { generateKey, keyHash, keyPrefix } from './key.ts'
import { originOf } from './origin.ts'

/** The default scopes of a key: the creator's, without those that only tokens of apps can have. */
function inheritableScopes({ scopes }: AccessClass): readonly string[] {
  return scopes === 'all' ? ['*'] : [...scopes].filter(scope => !openidScopes.has(scope)).sort()
}

/** The default scopes and expiry of a key: those of the credential that creates it. */
function inheritedValues(values: Readonly<Record<string, JsonValue>>, { access, expiresAt }: Principal) {
  return {
    ...(!Array.isArray(values.scopes) && { scopes: inheritableScopes(access) }),
    ...(values.expires_at === undefined &&
      Number.isFinite(expiresAt) && { expires_at: new Date(expiresAt).toISOString() }),
  }
}

/** Throws FORBIDDEN if the caller's credential lacks one of the scopes. */
function checkScopes(requested: readonly JsonValue[], { scopes }: AccessClass): void {
  const missing = requested.filter(scope => !hasScope(scopes, String(scope)))
  if (missing.length === 0) return
  throw new ApiError(
    'FORBIDDEN',
    `A key cannot have more scopes than the credential that creates it: ${missing.join(', ')}.`,
  )
}

/** The generated values of a key: the key itself, its hash and its prefix. */
export function keyCreation(key = generateKey()): Creation {
  return { computed: { prefix: keyPrefix(key), hash: keyHash(key) }, revealed: { key } }
}

/** For creates of `api_keys`. */
export function newKeyHook(run: Run, maxKeysPerUser: number): CreateHook {
  const refusal = `You may have at most ${maxKeysPerUser} API keys. Revoke one first.`
  const limit = { field: 'user_id', count: maxKeysPerUser, refusal }
  return (values, principal) => {
    if (principal.userId === null) throw new ApiError('UNAUTHORIZED')
    const { scopes } = values
    if (Array.isArray(scopes)) checkScopes(scopes, principal.access)
    return then(originOf(run, principal), origin => {
      const { computed, revealed } = keyCreation()
      return { computed: { ...computed, ...origin, ...inheritedValues(values, principal) }, revealed, limit }
    })
  }
}
