/** One operation → its variant: the plan, what the reply is made of, what it costs. */
import { type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import type { Root } from '../plan/plan.ts'
import { askedOf, type Planning, type RootField } from './asked.ts'
import { collectFields, type Fragments } from './fields.ts'
import type { Ground } from './filter.ts'
import type { Variables } from './input.ts'
import { limitError } from './limits.ts'
import { planMutation } from './mutation-plan.ts'
import { Parameters } from './parameters.ts'
import { planItem, planQuery } from './query-plan.ts'
import { planSelection } from './selection.ts'
import type { SubscriptionVariant, Variant } from './variant.ts'

export interface VariantParts {
  readonly ground: Ground
  readonly operation: OperationDefinitionNode
  readonly fragments: Fragments
  readonly listBound: number
}

/** Throws a `GraphQLError` where an argument cannot be taken. */
export function planVariant(parts: VariantParts, variables: Variables): Variant {
  const { ground, operation, fragments, listBound } = parts
  const parameters = new Parameters()
  const planning = { ground, fragments, variables, listBound, parameters, select: planSelection }
  const type = ground.schema.getRootType(operation.operation)
  if (!type) throw new Error(`there are no ${operation.operation} fields`)
  const fields = [...collectFields(type, [operation.selectionSet], fragments, variables)].map(
    ([key, nodes]) => ({
      key,
      nodes,
      type,
    }),
  )
  if (operation.operation === OperationTypeNode.QUERY) return planQuery(planning, fields)
  if (operation.operation === OperationTypeNode.MUTATION) return planMutation(planning, fields)
  return planSubscription(planning, fields)
}

function planSubscription(planning: Planning, fields: readonly RootField[]): SubscriptionVariant {
  const [field] = fields
  const meaning = field && planning.ground.directory.subscriptions.get(field.nodes[0].name.value)
  if (!field || !meaning) throw noField()
  const asked = askedOf(field)
  const { kind, collection } = meaning
  const id = planning.parameters.hole()
  const event = planning.parameters.hole()
  const { root, plan, cost } = planItem(planning, asked, collection, id)
  const item: Root | undefined = plan?.kind === 'item' ? { ...plan, event } : plan
  return {
    operation: 'subscription',
    kind,
    collection,
    shape: { kind: 'composite', roots: item ? [item] : [] },
    picked: root.picked,
    id,
    event,
    cost,
    getters: planning.parameters.getters,
  }
}

/** All fields are skipped: there is nothing to wait for. */
function noField(): Error {
  return limitError('The subscription selects no field that can be waited for.')
}
