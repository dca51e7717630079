/** No credential makes an API key outlive it, or prolongs one with more rights than its own. */

import { then } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import { hasScope, type Principal } from '../../base/principal.ts'
import type { Plan, WriteShape } from '../../engine/plan/plan.ts'
import type { Run, WriteRule } from '../../engine/plan/run.ts'
import { itemShape, readItem } from '../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { KeyExpiry } from './user-keys.ts'

interface KeyRights {
  readonly scopes: readonly string[] | null
  readonly third_party: boolean | null
}

const keyById = itemShape('api_keys', ['user_id', 'expires_at', 'scopes', 'third_party'])

function expiryOf(value: JsonValue | undefined): number {
  return typeof value === 'string' ? Date.parse(value) : Number.POSITIVE_INFINITY
}

/** When the key would expire after the write; undefined if the write does not change that. */
function newExpiry({ shape, args }: Plan<WriteShape>): number | undefined {
  if (shape.kind === 'delete') return undefined
  const computed = shape.kind === 'create' ? shape.computed : []
  const assigned = [...shape.set, ...computed].find(({ field }) => field === 'expires_at')
  if (assigned) return expiryOf(args[assigned.param])
  const keeps = shape.kind === 'update' && shape.mode === 'merge'
  return keeps ? undefined : Number.POSITIVE_INFINITY
}

function refuse({ expiresAt }: Principal): never {
  const end = new Date(expiresAt).toISOString()
  throw new ApiError(
    'FORBIDDEN',
    `A key cannot outlive the credential that creates or changes it: \`expires_at\` must be ${end} or earlier.`,
  )
}

/** Throws unless the caller could have created the key: only then may it prolong the key. */
function requireRights({ scopes, third_party }: KeyRights, { access }: Principal): void {
  if (access.thirdParty && third_party !== true) {
    throw new ApiError('FORBIDDEN', 'An app cannot prolong a key that no app has made.')
  }
  const missing = (scopes ?? ['*']).find(scope => !hasScope(access.scopes, scope))
  if (missing === undefined) return
  throw new ApiError(
    'FORBIDDEN',
    `This key has the scope ${missing}. Only a credential that has this scope too may prolong it.`,
  )
}

/**
 * For writes of `api_keys`. Throws FORBIDDEN if the key would expire after the caller's credential, or if the caller prolongs a
 * key with more rights than its own. Any credential may shorten a key.
 */
export function keyRule(run: Run): WriteRule {
  return (plan, principal) => {
    const { shape, args } = plan
    const end = newExpiry(plan)
    if (end === undefined) return undefined
    if (shape.kind !== 'update') return end > principal.expiresAt ? refuse(principal) : undefined
    return then(readItem<KeyExpiry & KeyRights>(run, keyById, Number(args[shape.id])), key => {
      // The guard refuses a key of another user as if it did not exist.
      if (key?.user_id !== principal.userId || end <= expiryOf(key.expires_at)) return undefined
      if (end > principal.expiresAt) refuse(principal)
      requireRights(key, principal)
      return undefined
    })
  }
}
