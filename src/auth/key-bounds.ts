/** API keys outlive no credential that makes or changes them: whoever borrows one cannot keep it for longer. */
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import { type Awaitable, type ItemAnswer, then } from '../plan/answer.ts'
import type { ItemShape, Plan, WriteShape } from '../plan/plan.ts'
import type { Run, WriteRule } from '../plan/run.ts'
import { type Principal, system } from '../principal.ts'

const stored: ItemShape = {
  kind: 'item',
  collection: 'api_keys',
  id: 0,
  select: ['user_id', 'expires_at'].map(field => ({ kind: 'field', key: field, field })),
}

interface StoredKey {
  readonly user_id: number
  readonly expires_at: string | null
}

function endOf(value: JsonValue | undefined): number {
  return typeof value === 'string' ? Date.parse(value) : Number.POSITIVE_INFINITY
}

/** When the key of a write would end; undefined where the write leaves that as it is. */
function newEnd({ shape, args }: Plan<WriteShape>): number | undefined {
  if (shape.kind === 'delete') return undefined
  const computed = shape.kind === 'create' ? shape.computed : []
  const assigned = [...shape.set, ...computed].find(({ field }) => field === 'expires_at')
  if (assigned) return endOf(args[assigned.param])
  const keeps = shape.kind === 'update' && shape.mode === 'merge'
  return keeps ? undefined : Number.POSITIVE_INFINITY
}

function refuse({ expiresAt }: Principal): never {
  const end = new Date(expiresAt).toISOString()
  throw new ApiError(
    'FORBIDDEN',
    `A key cannot outlive the credential that makes or changes it: \`expires_at\` must be ${end} or earlier.`,
  )
}

/** What of a key's life is allowed already: to shorten it, or to leave it, is nobody's loss. */
function knownEnd(run: Run, { shape, args }: Plan<WriteShape>, principal: Principal): Awaitable<number> {
  if (shape.kind !== 'update') return principal.expiresAt
  const found = run.item({ shape: stored, args: [args[shape.id] ?? 0] }, system)
  return then(found, ({ text }: ItemAnswer) => {
    const key: StoredKey | undefined = text === null ? undefined : JSON.parse(text)
    // What is not the caller's own is refused by the guard, as if it did not exist.
    if (key?.user_id !== principal.userId) return Number.POSITIVE_INFINITY
    return Math.max(endOf(key.expires_at), principal.expiresAt)
  })
}

/** For writes of `api_keys`: FORBIDDEN where the key would end after the credential of whoever writes it. */
export function keyRule(run: Run): WriteRule {
  return (plan, principal) => {
    const end = newEnd(plan)
    if (end === undefined || end <= principal.expiresAt) return
    return then(knownEnd(run, plan, principal), known => {
      if (end > known) refuse(principal)
    })
  }
}
