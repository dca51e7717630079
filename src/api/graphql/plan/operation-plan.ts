/** One operation → its variant: the plan, the fields of the reply, and the cost. */
import { type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import type { Fragments } from '../documents/fragments.ts'
import { atomicDirective } from '../schema/directives.ts'
import type { ModelSchema } from '../schema/schema.ts'
import { collectFields } from './collect-fields.ts'
import type { Variables } from './input.ts'
import { planMutation } from './mutation-plan.ts'
import { PlanParameters } from './parameters.ts'
import { planQuery } from './query-plan.ts'
import { planSelection } from './selection.ts'
import { planSubscription } from './subscription-plan.ts'
import type { Variant } from './variant.ts'

export interface VariantParts {
  readonly modelSchema: ModelSchema
  readonly operation: OperationDefinitionNode
  readonly fragments: Fragments
  readonly listBound: number
}

/** Throws a `GraphQLError` for an invalid argument. */
export function planVariant(parts: VariantParts, variables: Variables): Variant {
  const { modelSchema, operation, fragments, listBound } = parts
  const parameters = new PlanParameters()
  const context = { ...modelSchema, fragments, variables, listBound, parameters, select: planSelection }
  const type = modelSchema.schema.getRootType(operation.operation)
  if (!type) throw new Error(`there are no ${operation.operation} fields`)
  const fields = [...collectFields(type, [operation.selectionSet], fragments, variables)].map(
    ([key, nodes]) => ({
      key,
      nodes,
      type,
    }),
  )
  if (operation.operation === OperationTypeNode.QUERY) return planQuery(context, fields)
  if (operation.operation === OperationTypeNode.MUTATION)
    return planMutation(context, fields, isAtomic(operation))
  return planSubscription(context, fields)
}

function isAtomic({ directives = [] }: OperationDefinitionNode): boolean {
  return directives.some(({ name }) => name.value === atomicDirective.name)
}
