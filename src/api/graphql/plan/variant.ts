/** One operation, planned for variables of one structure. */

import type { CompositeShape, ItemRoot, LoggedRow, Param, Selected } from '../../../engine/plan/plan.ts'
import type { Action, Collection, Query } from '../../../model/model.ts'
import type { SubscriptionField } from '../schema/directory.ts'
import type { Input, Variables } from './input.ts'
import type { Cost, Getter } from './parameters.ts'
import type { ReplyField } from './reply-fields.ts'

export type Variant = QueryVariant | MutationVariant | SubscriptionVariant

interface VariantBase {
  readonly cost: Cost
  readonly getters: readonly Getter[]
}

export interface QueryVariant extends VariantBase {
  readonly operation: 'query'
  readonly shape: CompositeShape
  readonly roots: readonly QueryRoot[]
  /** Those of the roots. */
  readonly replyFields: readonly ReplyField[]
  /** The roots that are queries of the model. */
  readonly declaredQueries: readonly LogicStep[]
  /** Whether equal answers of the plan can lead to different replies. */
  readonly isVolatile: boolean
  /** Whether the reply has exactly the values of the plan's answer, with the same keys. */
  readonly isVerbatim: boolean
  /** The targets of to-one relations that the schema declares non-null. */
  readonly requiredTargets: readonly Collection[]
  /** The parameters for the caller's id. */
  readonly callerIds: readonly Param[]
}

/** `introspection`: answered by graphql-js. `rateLimit`: from the execution context. `nothing`: null. */
export type QueryRoot =
  | {
      readonly from: 'plan' | 'introspection' | 'rateLimit' | 'constant' | 'nothing'
      readonly replyField: ReplyField
    }
  | { readonly from: 'query'; readonly replyField: ReplyField; readonly step: LogicStep }

export interface MutationVariant extends VariantBase {
  readonly operation: 'mutation'
  /** `@atomic`. */
  readonly isAtomic: boolean
  readonly steps: readonly MutationStep[]
}

export type MutationStep = ConstantStep | WriteStep | LogicStep

export interface ConstantStep {
  readonly kind: 'constant'
  readonly replyField: ReplyField
  readonly value: string
}

export interface WriteStep {
  readonly kind: 'create' | 'update' | 'delete'
  readonly collection: Collection
  readonly replyField: ReplyField
  /** The id of the item to change; undefined for a create. */
  readonly id: Getter | undefined
  /** The values to set, by the field's name. */
  readonly values: ReadonlyMap<string, Input>
  readonly select: readonly Selected[]
  readonly getters: readonly Getter[]
}

/** `value`: the name of the output value that contains the item; undefined if the item is the whole output. */
export interface OutputItem {
  readonly root: ItemRoot
  readonly value: string | undefined
}

/** An action or a query of the model. */
export interface LogicStep {
  readonly kind: 'logic'
  readonly operation: Action | Query
  readonly replyField: ReplyField
  /** The id of the item that it acts on; undefined without one. */
  readonly id: Getter | undefined
  /** The input, by the value's name. */
  readonly values: ReadonlyMap<string, Input>
  /** The items of the output that are selected. */
  readonly items: readonly OutputItem[]
  /** Reads these items. */
  readonly shape: CompositeShape
  readonly getters: readonly Getter[]
}

export interface SubscriptionVariant extends VariantBase {
  readonly operation: 'subscription'
  readonly entry: SubscriptionField
  readonly shape: CompositeShape
  readonly replyField: ReplyField
  readonly id: Param
  readonly event: LoggedRow
  /** The number of the event after which the client resumes. Undefined where it does not resume. */
  readonly after: ((variables: Variables) => number) | undefined
}
