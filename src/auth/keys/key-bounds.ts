/** A credential that expires can only create or change API keys that expire no later. */
import { ApiError } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { type Awaitable, then } from '../../plan/answer.ts'
import type { Plan, WriteShape } from '../../plan/plan.ts'
import type { Run, WriteRule } from '../../plan/run.ts'
import { readItem } from '../../plan/system-plans.ts'
import type { Principal } from '../../principal.ts'
import { type KeyExpiry, keyExpiryById } from './user-keys.ts'

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

/** The latest expiry that the caller may set: shortening or keeping the present one is always allowed. */
function latestExpiry(run: Run, { shape, args }: Plan<WriteShape>, principal: Principal): Awaitable<number> {
  if (shape.kind !== 'update') return principal.expiresAt
  return then(readItem<KeyExpiry>(run, keyExpiryById, Number(args[shape.id])), key => {
    // The guard refuses a key of another user as if it did not exist.
    if (key?.user_id !== principal.userId) return Number.POSITIVE_INFINITY
    return Math.max(expiryOf(key.expires_at), principal.expiresAt)
  })
}

/** For writes of `api_keys`. Throws FORBIDDEN if the key would expire after the caller's credential. */
export function keyRule(run: Run): WriteRule {
  return (plan, principal) => {
    const end = newExpiry(plan)
    if (end === undefined || end <= principal.expiresAt) return undefined
    return then(latestExpiry(run, plan, principal), latest => {
      if (end > latest) refuse(principal)
      return undefined
    })
  }
}
