/** What the transports get: they make plans, and see neither the guard nor the store. */
import type { JsonValue } from '../model/fields/type.ts'
import type { Principal } from '../principal.ts'
import type { Awaitable, CompositeAnswer, ItemAnswer, ListAnswer, WriteAnswer } from './answer.ts'
import type { Refusal } from './guarded.ts'
import type {
  CompositeShape,
  CreateShape,
  ItemShape,
  ListShape,
  Most,
  Plan,
  UpdateShape,
  WriteShape,
} from './plan.ts'
import type { Program } from './transaction.ts'

export interface Run {
  item(plan: Plan<ItemShape>, principal: Principal): Awaitable<ItemAnswer>
  list(plan: Plan<ListShape>, principal: Principal): Awaitable<ListAnswer>
  composite(plan: Plan<CompositeShape>, principal: Principal): Awaitable<CompositeAnswer>
  /** What the guard leaves out of the answer to a plan; the same list for the same access class. */
  refusals(plan: Plan<CompositeShape | CreateShape | UpdateShape>, principal: Principal): readonly Refusal[]
  write(plan: Plan<WriteShape>, principal: Principal): Promise<WriteAnswer>
  /** Guards each plan that the program yields, and runs all of it in one transaction. */
  transaction<T>(program: Program<T>): Promise<T>
}

/** What a new item needs beyond the client's values, e.g. the hash of a new API key. */
export interface Creation {
  /** Set besides the client's values; may include internal and read-only fields. */
  readonly computed: Readonly<Record<string, JsonValue>>
  /** Added to the response of this create, and never shown again. */
  readonly revealed: Readonly<Record<string, JsonValue>>
  /** The same for every item of a collection. */
  readonly most?: Most
  /** Runs when the item is stored, before the client gets its response. When it fails, the create fails. */
  readonly afterwards?: (id: number) => Promise<void>
}

/** Fails with an `ApiError` when the principal may not create an item with these values. */
export type CreateHook = (
  values: Readonly<Record<string, JsonValue>>,
  principal: Principal,
) => Awaitable<Creation>

/** What a write must fulfil beyond the rules of the model. Throws an `ApiError`. */
export type WriteRule = (plan: Plan<WriteShape>, principal: Principal) => Awaitable<void>

/** By collection name. */
export type CreateHooks = ReadonlyMap<string, CreateHook>
