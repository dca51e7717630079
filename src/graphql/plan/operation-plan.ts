/** One operation → its variant: the plan, the fields of the reply, and the cost. */
import { type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import { eventNumber } from '../../events/resume.ts'
import type { Root } from '../../plan/plan.ts'
import { badRequest } from '../bad-request.ts'
import type { Fragments } from '../documents/fragments.ts'
import { atomicDirective } from '../schema/directives.ts'
import type { ModelSchema } from '../schema/schema.ts'
import { collectFields } from './collect-fields.ts'
import { argumentsOf, type FieldRequest, type RootField, requestOf } from './field-request.ts'
import { readInput, type Variables } from './input.ts'
import { planMutation } from './mutation-plan.ts'
import { Parameters, unlessNull } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import { planItem, planQuery } from './query-plan.ts'
import { planSelection } from './selection.ts'
import type { SubscriptionVariant, Variant } from './variant.ts'

/** Points for a subscription that resumes: what it missed is read for it. */
const resumeCost = 100

export interface VariantParts {
  readonly modelSchema: ModelSchema
  readonly operation: OperationDefinitionNode
  readonly fragments: Fragments
  readonly listBound: number
}

/** Throws a `GraphQLError` for an invalid argument. */
export function planVariant(parts: VariantParts, variables: Variables): Variant {
  const { modelSchema, operation, fragments, listBound } = parts
  const parameters = new Parameters()
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

function planSubscription(context: PlanContext, fields: readonly RootField[]): SubscriptionVariant {
  const [field] = fields
  const meaning = field && context.directory.subscriptions.get(field.nodes[0].name.value)
  if (!field || !meaning) throw noField()
  const request = requestOf(field)
  const { kind, collection } = meaning
  const id = context.parameters.placeholder()
  const event = context.parameters.placeholder()
  const after = afterOf(context, request)
  const { root, plan, cost } = planItem(context, request, collection, id)
  const item: Root | undefined = plan?.kind === 'item' ? { ...plan, event } : plan
  return {
    operation: 'subscription',
    kind,
    collection,
    shape: { kind: 'composite', roots: item ? [item] : [] },
    replyField: root.replyField,
    id,
    event,
    after,
    cost: after ? variables => resumeCost + cost(variables) : cost,
    getters: context.parameters.getters,
  }
}

function afterOf(context: PlanContext, request: FieldRequest): SubscriptionVariant['after'] | undefined {
  const after = unlessNull(argumentsOf(context, request).get('after'))
  return (
    after &&
    (variables => {
      const number = eventNumber(String(readInput(after, variables)))
      if (number !== undefined) return number
      throw badRequest('"after" must be the `eventId` of a payload, e.g. "1042".', after.node)
    })
  )
}

/** `@skip` and `@include` may leave no field. */
function noField(): Error {
  return badRequest('The subscription selects no field that can be waited for.')
}
