/** A mutation → one write for each of its fields. */
import { idOf } from '../../../model/fields/integer.ts'
import type { MutationField } from '../schema/directory.ts'
import { planLogic } from './action-plan.ts'
import {
  argumentsOf,
  type FieldRequest,
  fieldRequestOf,
  type RootField,
  replyFieldBase,
  typenameField,
} from './field-request.ts'
import { type Cost, createGetter, PlanParameters, sumOfCosts } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField } from './reply-fields.ts'
import { planSelection } from './selection.ts'
import { inputsByField } from './values.ts'
import type { MutationStep, MutationVariant, WriteStep } from './variant.ts'

/** Points for a write, in addition to its selection. */
const writeCost = 10

export function planMutation(
  context: PlanContext,
  fields: readonly RootField[],
  isAtomic: boolean,
): MutationVariant {
  const costs: Cost[] = []
  const steps = fields.map((field): MutationStep => {
    const { key, nodes, type } = field
    if (nodes[0].name.value === '__typename') {
      return { kind: 'constant', replyField: typenameField(key, nodes, type), value: type.name }
    }
    const { step, cost } = planField(context, fieldRequestOf(field))
    costs.push(cost)
    return step
  })
  const getters = steps.flatMap(step => (step.kind === 'constant' ? [] : step.getters))
  return { operation: 'mutation', isAtomic, steps, cost: sumOfCosts(costs), getters }
}

function planField(context: PlanContext, request: FieldRequest) {
  const entry = context.directory.mutations.get(request.definition.name)
  if (!entry) throw new Error(`there is no mutation ${request.definition.name}`)
  if (entry.kind === 'logic') return planLogic(context, request, entry.action)
  return planWrite(context, request, entry)
}

function planWrite(
  outer: PlanContext,
  request: FieldRequest,
  { kind, collection }: Exclude<MutationField, { readonly kind: 'logic' }>,
): { readonly step: WriteStep; readonly cost: Cost } {
  // Every write is a separate plan with its own arguments.
  const context = { ...outer, parameters: new PlanParameters() }
  const inputs = argumentsOf(context, request)
  const idInput = inputs.get('id')
  const field = { ...replyFieldBase(request), place: undefined }
  const step = {
    kind,
    collection,
    id: kind !== 'create' && idInput ? createGetter(idInput, idOf) : undefined,
    values: inputsByField(collection, inputs),
  }
  if (kind === 'delete') {
    const replyField: ReplyField = { ...field, kind: 'leaf' }
    return { step: { ...step, replyField, select: [], getters: [] }, cost: () => writeCost }
  }
  const selection = planSelection(context, collection, request.nodes, undefined)
  const replyField: ReplyField = { ...field, kind: 'object', children: selection.replyFields }
  const { getters } = context.parameters
  return {
    step: { ...step, replyField, select: selection.select, getters },
    cost: variables => writeCost + 1 + selection.cost(variables),
  }
}
