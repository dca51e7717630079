/**
 * The guard: the only place where permission is decided. It turns a plan and a principal into a guarded plan, which
 * contains every scope, row rule and field rule of every collection in it. The store runs nothing else.
 *
 * Decisions that depend on neither a row nor a value are made once per shape and access class.
 */

import type { AccessClass, Principal } from '../../../base/principal.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, CrudOperation, Model } from '../../../model/model.ts'
import type {
  AnyGuardedRead,
  GuardedAggregate,
  GuardedComposite,
  GuardedCreate,
  GuardedDelete,
  GuardedItem,
  GuardedList,
  GuardedPlan,
  GuardedShape,
  GuardedUpdate,
  GuardedWrite,
} from '../guarded.ts'
import type {
  AggregateShape,
  CompositeShape,
  CreateShape,
  DeleteShape,
  ItemShape,
  ListShape,
  Plan,
  Shape,
  UpdateShape,
  WriteShape,
} from '../plan.ts'
import type { ProgramPlan } from '../transaction.ts'
import { guardAggregate } from './aggregate.ts'
import { guardComposite } from './composite.ts'
import { type ModelView, viewOf } from './model-view.ts'
import { type BrandPlan, createProbes, type RuleProbes } from './probe.ts'
import { guardItem, guardList } from './read.ts'
import { requirePossible, requireReadable, requireScope } from './refusals.ts'
import { type StaticChecks, staticChecks } from './static-checks.ts'
import { guardCreate, guardDelete, guardUpdate } from './write.ts'

export { groupFault, hasZone, measureFault, relationsFault, toManyFault } from './aggregate.ts'
export { namesFor, type Reach, reachOf, readsEveryRow, staticRule } from './model-view.ts'

/**
 * Throws an `ApiError`: UNAUTHORIZED, FORBIDDEN or INSUFFICIENT_SCOPE where the caller may not,
 * BAD_REQUEST where the plan names something that does not exist for the caller, or asks for something impossible,
 * VALIDATION_FAILED where a write sets a field that cannot be set, or omits a required one.
 */
export interface Guard {
  (plan: Plan<ItemShape>, principal: Principal): GuardedPlan<GuardedItem>
  (plan: Plan<ListShape>, principal: Principal): GuardedPlan<GuardedList>
  (plan: Plan<AggregateShape>, principal: Principal): GuardedPlan<GuardedAggregate>
  (plan: Plan<CompositeShape>, principal: Principal): GuardedPlan<GuardedComposite>
  (plan: Plan<CreateShape>, principal: Principal): GuardedPlan<GuardedCreate>
  (plan: Plan<UpdateShape>, principal: Principal): GuardedPlan<GuardedUpdate>
  (plan: Plan<DeleteShape>, principal: Principal): GuardedPlan<GuardedDelete>
  (plan: Plan<WriteShape>, principal: Principal): GuardedWrite
  (plan: ProgramPlan, principal: Principal): AnyGuardedRead | GuardedWrite
  (
    plan: Plan<CompositeShape | CreateShape | UpdateShape>,
    principal: Principal,
  ): GuardedPlan<GuardedComposite | GuardedCreate | GuardedUpdate>
}

/**
 * For transports, before they read the rest of a request: throws the guard's error (UNAUTHORIZED, FORBIDDEN,
 * INSUFFICIENT_SCOPE) if the caller may do this to no item at all.
 */
export function admit(
  model: Model,
  collection: Collection,
  operation: CrudOperation,
  access: AccessClass,
): void {
  const view = viewOf(model, access)
  if (operation === 'read') {
    requireReadable(view, collection)
    return
  }
  requireScope(view, 'write', collection)
  requirePossible(view, view.writable(collection, operation), collection, operation)
}

/** The decision for a shape and an access class. */
interface AccessDecision {
  readonly shape: GuardedShape
  readonly checkStatically: StaticChecks<GuardedShape> | undefined
}

interface AccessDecisions {
  lastAccess: AccessClass
  last: AccessDecision
  readonly byAccess: Map<string, AccessDecision>
}

/** Per shape. A service has few roles and few sets of scopes. */
const maxAccessClasses = 256

export function createGuard(model: Model): Guard {
  const decisions = new WeakMap<Shape, AccessDecisions>()

  function decisionFor(shape: Shape, access: AccessClass): AccessDecision {
    const cached = decisions.get(shape)
    if (cached?.lastAccess === access) return cached.last
    const decision = cached?.byAccess.get(access.key) ?? toDecision(guardShape(shape, viewOf(model, access)))
    if (cached) {
      if (cached.byAccess.size >= maxAccessClasses) cached.byAccess.clear()
      cached.byAccess.set(access.key, decision)
      cached.lastAccess = access
      cached.last = decision
    } else {
      decisions.set(shape, {
        lastAccess: access,
        last: decision,
        byAccess: new Map([[access.key, decision]]),
      })
    }
    return decision
  }

  function guard({ shape, args }: Plan, principal: Principal): GuardedPlan {
    const { shape: guarded, checkStatically } = decisionFor(shape, principal.access)
    return brand(checkStatically ? checkStatically(args, principal) : guarded, args, principal)
  }
  return guard as Guard
}

function toDecision(shape: GuardedShape): AccessDecision {
  const checkStatically = shape.kind === 'create' || shape.kind === 'update' ? staticChecks(shape) : undefined
  return { shape, checkStatically }
}

function guardShape(shape: Shape, view: ModelView): GuardedShape {
  switch (shape.kind) {
    case 'item':
      return guardItem(shape, view)
    case 'list':
      return guardList(shape, view)
    case 'aggregate':
      return guardAggregate(shape, view)
    case 'composite':
      return guardComposite(shape, view)
    case 'create':
      return guardCreate(shape, view)
    case 'update':
      return guardUpdate(shape, view)
    case 'delete':
      return guardDelete(shape, view)
  }
}

/** For explanations: see `RuleProbes`. */
export function probesOf(model: Model): RuleProbes {
  return createProbes(model, brand as BrandPlan)
}

/** The only place where the brand is given. */
function brand(shape: GuardedShape, args: readonly JsonValue[], principal: Principal): GuardedPlan {
  return { shape, args, principal } as GuardedPlan
}
