/** Evaluates rules for stored and written items, in transactions that are rolled back. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { Guard } from '../../engine/plan/guard/guard.ts'
import type { RuleProbes } from '../../engine/plan/guard/probe.ts'
import type { GuardedRead, GuardedWrite } from '../../engine/plan/guarded.ts'
import { isWrite, type Plan, type WriteShape } from '../../engine/plan/plan.ts'
import type { Store } from '../../engine/store/store.ts'
import type { Collection, Model } from '../../model/model.ts'
import { anyoneRule, type Rule } from '../../model/rule/rule.ts'
import type { RulePart } from './explanation.ts'
import type { Attempt } from './rehearsal.ts'
import { type ItemPlace, isNull, mayShowStored, type ReadSteps, ruleTree } from './rule-tree.ts'

export interface ReasonParts {
  readonly model: Model
  readonly guard: Guard
  readonly probes: RuleProbes
  readonly store: Pick<Store, 'transaction'>
  /** The time for rules. */
  readonly now: () => EpochMs
  readonly principal: Principal
  /** The principal who reads the explanation; undefined for the operator. */
  readonly viewer: Principal | undefined
  readonly attempts: readonly Attempt[]
  /** The actions and queries whose code ran. */
  readonly operations: readonly string[]
}

/** Runs `write`, then `reads`, in a transaction that is rolled back. `id`: that of the written item. */
export async function readAndRollBack<T>(
  { store }: ReasonParts,
  reads: (id: number) => ReadSteps<T>,
  write?: GuardedWrite,
): Promise<T | undefined> {
  let result: { readonly value: T } | undefined
  try {
    await store.transaction({
      serial: {},
      *steps() {
        result = undefined
        const id = write ? ((yield write) as { readonly id: number }).id : 0
        const steps = reads(id)
        let step = steps.next()
        while (!step.done) step = steps.next((yield step.value as GuardedRead) as never)
        result = { value: step.value }
        throw new ApiError('BAD_REQUEST', 'This was only read.')
      },
    })
  } catch (error) {
    if (result === undefined && !(error instanceof ApiError)) throw error
  }
  return (result as { readonly value: T } | undefined)?.value
}

/** The item that a plan names. `root`: the key of the root field of a GraphQL operation; undefined: the first one. */
export function itemOf(
  { shape, args }: Plan,
  root?: string | number,
): { readonly collection: string; readonly id: number } | undefined {
  if (shape.kind === 'composite') {
    for (const field of shape.roots) {
      if (field.kind !== 'item' || (root !== undefined && field.key !== root)) continue
      return { collection: field.collection, id: Number(args[field.id]) }
    }
    return undefined
  }
  if (shape.kind === 'list' || shape.kind === 'aggregate') {
    return shape.within && { collection: shape.within.collection, id: Number(args[shape.within.id]) }
  }
  return shape.kind === 'create' ? undefined : { collection: shape.collection, id: Number(args[shape.id]) }
}

/** Evaluates the rule for the stored item. */
export function treeAt(
  parts: ReasonParts,
  rule: Rule,
  collection: Collection,
  id: number | undefined,
): Promise<RulePart | undefined> {
  if (id === undefined) return readAndRollBack(parts, () => ruleTree(parts, rule, undefined))
  return readAndRollBack(parts, function* () {
    const stored = yield parts.probes.holds(anyoneRule, collection, id, parts.principal)
    return yield* ruleTree(parts, rule, stored.text === null ? undefined : { collection, id })
  })
}

/**
 * Evaluates the rule for the item after the write; undefined if the write is impossible. The values that may be shown are
 * determined before the write: otherwise, a viewer could gain access to a value by the write that is explained.
 */
export async function treeAfter(
  parts: ReasonParts,
  rule: Rule,
  collection: Collection,
  { plan, principal }: Attempt,
): Promise<RulePart | undefined> {
  if (!isWrite(plan) || plan.shape.kind === 'delete') return undefined
  const guarded = guardedWrite(parts, plan, principal)
  if (guarded === undefined) return undefined
  const treeWith = (mayShow: ShowDecision) =>
    readAndRollBack(
      parts,
      id => ruleTree({ ...parts, mayShow: mayShow(id) }, rule, { collection, id }),
      guarded,
    )
  if (parts.viewer === undefined) return treeWith(() => undefined)
  const hiddenFields = new Map<string, FieldOfItem>()
  const fieldsInRequest = new Set(plan.shape.set.map(({ field }) => field))
  const isNew = plan.shape.kind === 'create'
  /** Whether the request contains the value, or creates the item without one. */
  function* isKnownFromRequest(place: ItemPlace, field: string, written: number): ReadSteps<boolean> {
    if (place.collection !== collection || place.id !== written) return false
    return fieldsInRequest.has(field) || (isNew && (yield* isNull(parts, place, field)))
  }
  await treeWith(
    written =>
      function* (place, field) {
        if (yield* isKnownFromRequest(place, field, written)) return true
        hiddenFields.set(keyOf(place, field), { place, field })
        return false
      },
  )
  const readableKeys = await readableBefore(parts, hiddenFields)
  return treeWith(
    written =>
      function* (place, field) {
        return readableKeys.has(keyOf(place, field)) || (yield* isKnownFromRequest(place, field, written))
      },
  )
}

/** `written`: the id of the item that the write has created or changed. */
type ShowDecision = (written: number) => ((place: ItemPlace, field: string) => ReadSteps<boolean>) | undefined

interface FieldOfItem {
  readonly place: ItemPlace
  readonly field: string
}

function keyOf({ collection, id }: ItemPlace, field: string): string {
  return `${collection.name} ${id} ${field}`
}

async function readableBefore(
  parts: ReasonParts,
  fields: ReadonlyMap<string, FieldOfItem>,
): Promise<ReadonlySet<string>> {
  const readableKeys = await readAndRollBack(parts, function* () {
    const keys = new Set<string>()
    for (const [key, { place, field }] of fields) {
      if (yield* mayShowStored(parts, place, field)) keys.add(key)
    }
    return keys
  })
  return readableKeys ?? new Set()
}

function guardedWrite(
  { guard, probes }: ReasonParts,
  plan: Plan<WriteShape>,
  principal: Principal,
): GuardedWrite | undefined {
  try {
    return probes.unchecked(guard(plan, principal) as never, principal) as GuardedWrite
  } catch {
    // The guard has refused the plan because of its values.
    return undefined
  }
}
