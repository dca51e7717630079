/** The interface of the transports: they create plans, and see neither the guard nor the store. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Principal } from '../../base/principal.ts'
import type { JsonObject } from '../../model/fields/type.ts'
import type { CompositeAnswer, ItemAnswer, ListAnswer, WriteAnswer } from './answer.ts'
import type { Refusal } from './guarded.ts'
import type {
  AggregateShape,
  CardinalityLimit,
  CompositeShape,
  CreateShape,
  ItemShape,
  ListShape,
  Plan,
  UpdateShape,
  WriteShape,
} from './plan.ts'
import type { Program, ProgramSteps } from './transaction.ts'

export interface Run {
  item(plan: Plan<ItemShape>, principal: Principal): Awaitable<ItemAnswer>
  list(plan: Plan<ListShape>, principal: Principal): Awaitable<ListAnswer>
  /** The groups, as a list. */
  aggregate(plan: Plan<AggregateShape>, principal: Principal): Awaitable<ListAnswer>
  composite(plan: Plan<CompositeShape>, principal: Principal): Awaitable<CompositeAnswer>
  /** The parts that the guard omits from the answer to a plan; the same list for the same access class. */
  refusals(plan: Plan<CompositeShape | CreateShape | UpdateShape>, principal: Principal): readonly Refusal[]
  /** `steps`: of the write's transaction, if it has others besides the write. */
  write(plan: Plan<WriteShape>, principal: Principal, steps?: WriteSteps): Promise<WriteAnswer>
  /** Guards each plan that the program yields, and runs all of it in one transaction. */
  transaction<T>(program: Program<T>): Promise<T>
}

/** The steps of one write's transaction: yields the plan, which may differ from the one that was passed, and returns its answer. */
export type WriteSteps = (plan: Plan<WriteShape>) => ProgramSteps<WriteAnswer>

/** A write followed by further steps in its transaction. `steps`: runs the write itself. */
export function writeWith(
  following: (id: number) => ProgramSteps<void>,
  steps: WriteSteps = writeStep,
): WriteSteps {
  return function* (plan) {
    const answer = yield* steps(plan)
    yield* following(answer.id)
    return answer
  }
}

/** A write as a step of a program. */
export function* writeStep(plan: Plan<WriteShape>): ProgramSteps<WriteAnswer> {
  // The answer to a write is a `WriteAnswer`.
  return (yield plan) as WriteAnswer
}

/** Additions to the client's values of a new item, e.g. the hash of a new API key. */
export interface Creation {
  /** Set in addition to the client's values; may include internal and read-only fields. */
  readonly computed: JsonObject
  /** Added to the response of this create, and never shown again. */
  readonly revealed: JsonObject
  /** The same for every item of a collection. */
  readonly limit?: CardinalityLimit
  /** Further steps of the create's transaction, once the item is stored. */
  readonly afterwards?: (id: number) => ProgramSteps<void>
}

export const emptyCreation: Creation = { computed: {}, revealed: {} }

/** Fails with an `ApiError` when the principal may not create an item with these values. */
export type CreateHook = (values: JsonObject, principal: Principal) => Awaitable<Creation>

/**
 * A requirement of writes beyond the rules of the model. Throws an `ApiError`. The returned function is called once the
 * write is stored, before the client gets its response.
 */
export type WriteRule = (
  plan: Plan<WriteShape>,
  principal: Principal,
) => Awaitable<undefined | (() => Promise<void>)>

/** By collection name. */
export type CreateHooks = ReadonlyMap<string, CreateHook>
