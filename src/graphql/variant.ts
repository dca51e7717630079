/** One operation as it runs for variables of one structure: its plan, and what the reply is made of. */
import type { Collection } from '../model/model.ts'
import type { CompositeShape, Param, Selected } from '../plan/plan.ts'
import type { Input } from './input.ts'
import type { Cost, Getter } from './parameters.ts'
import type { Picked } from './picked.ts'
import type { MutationField, SubscriptionField } from './types.ts'

export type Variant = QueryVariant | MutationVariant | SubscriptionVariant

interface VariantBase {
  readonly cost: Cost
  readonly getters: readonly Getter[]
}

export interface QueryVariant extends VariantBase {
  readonly operation: 'query'
  readonly shape: CompositeShape
  readonly roots: readonly QueryRoot[]
  /** Whether something of the reply can be another each time, though the plan's answer is the same. */
  readonly fresh: boolean
  /** Whether the reply holds what the plan's answer holds, under the same keys, and nothing else. */
  readonly plain: boolean
  /** Where to-one relations lead to that the schema says are never null. */
  readonly needed: readonly Collection[]
  /** Where the plan takes the id of the user who asks. */
  readonly me: readonly Param[]
}

/** `introspection`: graphql-js answers. `rateLimit`: from the context, not from the plan. `nothing`: null. */
export interface QueryRoot {
  readonly from: 'plan' | 'introspection' | 'rateLimit' | 'constant' | 'nothing'
  readonly picked: Picked
}

export interface MutationVariant extends VariantBase {
  readonly operation: 'mutation'
  readonly steps: readonly MutationStep[]
}

export type MutationStep = ConstantStep | WriteStep

export interface ConstantStep {
  readonly kind: 'constant'
  readonly picked: Picked
  readonly value: string
}

export interface WriteStep {
  readonly kind: MutationField['kind']
  readonly collection: Collection
  readonly picked: Picked
  /** The id of the item that is changed; absent for a create. */
  readonly id: Getter | undefined
  /** The values that are set, by the field's name. */
  readonly values: ReadonlyMap<string, Input>
  readonly select: readonly Selected[]
  readonly getters: readonly Getter[]
}

export interface SubscriptionVariant extends VariantBase {
  readonly operation: 'subscription'
  readonly kind: SubscriptionField['kind']
  readonly collection: Collection
  readonly shape: CompositeShape
  readonly picked: Picked
  readonly id: Param
  readonly event: Param
}
