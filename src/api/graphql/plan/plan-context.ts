/** The context in which one variant of an operation is planned. */
import type { FieldNode } from 'graphql'
import type { Selected } from '../../../engine/plan/plan.ts'
import type { Collection } from '../../../model/model.ts'
import type { Fragments } from '../documents/fragments.ts'
import type { ModelSchema } from '../schema/schema.ts'
import type { Variables } from './input.ts'
import type { Cost, PlanParameters } from './parameters.ts'
import type { ReplyField } from './reply-fields.ts'

export interface PlanContext extends ModelSchema {
  readonly fragments: Fragments
  readonly variables: Variables
  readonly parameters: PlanParameters
  /** The most items of one list. */
  readonly listBound: number
  /** `planSelection`, passed along because selections contain lists, and lists contain selections. */
  readonly select: PlanSelection
}

/** All the nodes of the document that select one field. */
export type Nodes = readonly [FieldNode, ...FieldNode[]]

/** `place`: the place of the object in the plan. `prefix`: the prefix of the object's keys in the answer. */
export type PlanSelection = (
  context: PlanContext,
  collection: Collection,
  nodes: Nodes,
  place: string | undefined,
  prefix?: string,
) => PlannedSelection

export interface PlannedSelection {
  readonly select: readonly Selected[]
  readonly replyFields: readonly ReplyField[]
  readonly cost: Cost
}
