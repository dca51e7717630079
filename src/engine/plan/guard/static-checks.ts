/**
 * Decides checks of a write from its values alone, without the database: the owner check of a create, a reference to the
 * caller's own user. The store gets the shape without the decided checks.
 */
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { type Decision, decide } from '../decide.ts'
import type { Check, GuardedCreate, GuardedUpdate, ReferenceCheck } from '../guarded.ts'
import { mayNotSet } from './refusals.ts'

/** Returns the shape to run for these values. Throws FORBIDDEN when the values alone show that the write is not allowed. */
export type StaticChecks<S> = (args: readonly JsonValue[], principal: Principal) => S

interface DecidableCheck {
  readonly item: Check | ReferenceCheck
  decide(args: readonly JsonValue[], userId: number | null): Decision
}

/** Each check doubles the number of shapes. The database decides further checks. */
const maxDecidedChecks = 5

/** Undefined if no check can be decided from the values: the shape itself runs. */
export function staticChecks<S extends GuardedCreate | GuardedUpdate>(shape: S): StaticChecks<S> | undefined {
  // `prepare` may change the values.
  const after = shape.collection.prepare === undefined ? shape.after : []
  const checks = [
    ...after.map(check => decidableCheck(check, shape)),
    ...shape.references.flatMap(decidableReference),
  ]
  const decidable = checks.slice(0, maxDecidedChecks)
  if (decidable.length === 0) return undefined
  const variants: S[] = []
  return (args, principal) => {
    let decided = 0
    for (let i = 0; i < decidable.length; i++) {
      const check = decidable[i] as DecidableCheck
      const decision = check.decide(args, principal.userId)
      if (decision === true) decided |= 1 << i
      // An update of an item that does not exist is NOT_FOUND, so only a create can be refused here.
      else if (decision === false && shape.kind === 'create' && isCheck(check.item))
        throw refusal(check.item, shape)
    }
    const cached = variants[decided]
    if (cached) return cached
    const variant = without(
      shape,
      new Set(decidable.filter((_, i) => decided & (1 << i)).map(check => check.item)),
    )
    variants[decided] = variant
    return variant
  }
}

function decidableCheck(check: Check, { set }: GuardedCreate | GuardedUpdate): DecidableCheck {
  return { item: check, decide: (args, userId) => decide(check.condition, set, args, userId) }
}

function decidableReference(item: ReferenceCheck): DecidableCheck[] {
  const { value, self } = item
  if (self !== 'userId' || value.kind !== 'param') return []
  return [{ item, decide: (args, userId) => (userId !== null && args[value.param] === userId) || undefined }]
}

function without<S extends GuardedCreate | GuardedUpdate>(
  shape: S,
  decided: ReadonlySet<DecidableCheck['item']>,
): S {
  if (decided.size === 0) return shape
  return {
    ...shape,
    after: shape.after.filter(check => !decided.has(check)),
    references: shape.references.filter(check => !decided.has(check)),
  }
}

function isCheck(item: DecidableCheck['item']): item is Check {
  return 'condition' in item
}

function refusal({ field }: Check, { collection, kind }: GuardedCreate | GuardedUpdate): ApiError {
  if (field) return mayNotSet([field], collection, kind)
  return new ApiError('FORBIDDEN', undefined, { refused: { collection: collection.name, operation: kind } })
}
