/**
 * What a write's own values settle without the database: an owner check of a create, a reference to
 * the caller's own user. The checks that are settled are left out of the shape that the store gets.
 */
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Principal } from '../principal.ts'
import { type Decision, decide } from './decide.ts'
import { mayNotSet } from './guard-refuse.ts'
import type { Check, GuardedCreate, GuardedUpdate, ReferenceCheck } from './guarded.ts'

/** Gives the shape to run for these values. Throws FORBIDDEN when they settle that the write is not allowed. */
export type Settle<S> = (args: readonly JsonValue[], principal: Principal) => S

interface Open {
  readonly item: Check | ReferenceCheck
  decide(args: readonly JsonValue[], userId: number | null): Decision
}

/** More open questions than this are left to the database: every one doubles the number of shapes. */
const MAX_OPEN = 5

/** Undefined when nothing can be settled: the shape itself is what runs. */
export function settleWrite<S extends GuardedCreate | GuardedUpdate>(shape: S): Settle<S> | undefined {
  const open = [
    ...shape.after.map(check => openCheck(check, shape)),
    ...shape.references.flatMap(openReference),
  ]
  const asked = open.slice(0, MAX_OPEN)
  if (asked.length === 0) return undefined
  const variants: S[] = []
  return (args, principal) => {
    let settled = 0
    for (let i = 0; i < asked.length; i++) {
      const question = asked[i] as Open
      const decision = question.decide(args, principal.userId)
      if (decision === true) settled |= 1 << i
      // A change of an item that is not there is NOT_FOUND, so only a create is refused at once.
      else if (decision === false && shape.kind === 'create' && isCheck(question.item))
        throw refusal(question.item)
    }
    const known = variants[settled]
    if (known) return known
    const variant = without(shape, new Set(asked.filter((_, i) => settled & (1 << i)).map(one => one.item)))
    variants[settled] = variant
    return variant
  }
}

function openCheck(check: Check, { set }: GuardedCreate | GuardedUpdate): Open {
  return { item: check, decide: (args, userId) => decide(check.condition, set, args, userId) }
}

function openReference(item: ReferenceCheck): Open[] {
  const { value, self } = item
  if (!self || value.kind !== 'param') return []
  return [{ item, decide: (args, userId) => (userId !== null && args[value.param] === userId) || undefined }]
}

function without<S extends GuardedCreate | GuardedUpdate>(shape: S, settled: ReadonlySet<Open['item']>): S {
  if (settled.size === 0) return shape
  return {
    ...shape,
    after: shape.after.filter(check => !settled.has(check)),
    references: shape.references.filter(check => !settled.has(check)),
  }
}

function isCheck(item: Open['item']): item is Check {
  return 'condition' in item
}

function refusal({ field }: Check): ApiError {
  return field ? mayNotSet([field]) : new ApiError('FORBIDDEN')
}
