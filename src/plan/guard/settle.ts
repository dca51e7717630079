/**
 * Decides checks of a write by its values alone, without the database: the owner check of a create, a reference to the
 * caller's own user. The store gets the shape without these checks.
 */
import { ApiError } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Principal } from '../../principal.ts'
import { type Decision, decide } from '../decide.ts'
import type { Check, GuardedCreate, GuardedUpdate, ReferenceCheck } from '../guarded.ts'
import { mayNotSet } from './refusals.ts'

/** Returns the shape to run for these values. Throws FORBIDDEN when the values alone show that the write is not allowed. */
export type Settle<S> = (args: readonly JsonValue[], principal: Principal) => S

interface OpenCheck {
  readonly item: Check | ReferenceCheck
  decide(args: readonly JsonValue[], userId: number | null): Decision
}

/** Each doubles the number of shapes. The database decides any further checks. */
const maxOpenChecks = 5

/** Undefined if no check can be decided by values: then the shape itself runs. */
export function settleWrite<S extends GuardedCreate | GuardedUpdate>(shape: S): Settle<S> | undefined {
  // `prepare` may change the values.
  const after = shape.collection.prepare === undefined ? shape.after : []
  const open = [...after.map(check => openCheck(check, shape)), ...shape.references.flatMap(openReference)]
  const decidable = open.slice(0, maxOpenChecks)
  if (decidable.length === 0) return undefined
  const variants: S[] = []
  return (args, principal) => {
    let settled = 0
    for (let i = 0; i < decidable.length; i++) {
      const check = decidable[i] as OpenCheck
      const decision = check.decide(args, principal.userId)
      if (decision === true) settled |= 1 << i
      // An update of an item that does not exist is NOT_FOUND, so only a create can be refused here.
      else if (decision === false && shape.kind === 'create' && isCheck(check.item))
        throw refusal(check.item, shape)
    }
    const known = variants[settled]
    if (known) return known
    const variant = without(
      shape,
      new Set(decidable.filter((_, i) => settled & (1 << i)).map(one => one.item)),
    )
    variants[settled] = variant
    return variant
  }
}

function openCheck(check: Check, { set }: GuardedCreate | GuardedUpdate): OpenCheck {
  return { item: check, decide: (args, userId) => decide(check.condition, set, args, userId) }
}

function openReference(item: ReferenceCheck): OpenCheck[] {
  const { value, self } = item
  if (!self || value.kind !== 'param') return []
  return [{ item, decide: (args, userId) => (userId !== null && args[value.param] === userId) || undefined }]
}

function without<S extends GuardedCreate | GuardedUpdate>(
  shape: S,
  settled: ReadonlySet<OpenCheck['item']>,
): S {
  if (settled.size === 0) return shape
  return {
    ...shape,
    after: shape.after.filter(check => !settled.has(check)),
    references: shape.references.filter(check => !settled.has(check)),
  }
}

function isCheck(item: OpenCheck['item']): item is Check {
  return 'condition' in item
}

function refusal({ field }: Check, { collection, kind }: GuardedCreate | GuardedUpdate): ApiError {
  if (field) return mayNotSet([field], collection, kind)
  return new ApiError('FORBIDDEN', undefined, { refused: { collection: collection.name, operation: kind } })
}
