/** A mutation → one write for each of its fields. */
import { idOf } from '../../model/fields/integer.ts'
import type { MutationField } from '../schema/directory.ts'
import { planAct } from './action-plan.ts'
import {
  argumentsOf,
  type FieldRequest,
  type RootField,
  replyFieldBase,
  requestOf,
  typenameField,
} from './field-request.ts'
import { type Cost, getterOf, Parameters, sum } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField } from './reply-fields.ts'
import { planSelection } from './selection.ts'
import { valuesOf } from './values.ts'
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
    const { step, cost } = planField(context, requestOf(field))
    costs.push(cost)
    return step
  })
  const getters = steps.flatMap(step => (step.kind === 'constant' ? [] : step.getters))
  return { operation: 'mutation', isAtomic, steps, cost: sum(costs), getters }
}

function planField(context: PlanContext, request: FieldRequest) {
  const meaning = context.directory.mutations.get(request.definition.name)
  if (!meaning) throw new Error(`nothing answers ${request.definition.name}`)
  if (meaning.kind === 'act') return planAct(context, request, meaning.action)
  return planWrite(context, request, meaning)
}

function planWrite(
  outer: PlanContext,
  request: FieldRequest,
  { kind, collection }: Exclude<MutationField, { readonly kind: 'act' }>,
): { readonly step: WriteStep; readonly cost: Cost } {
  // Every write is a plan of its own, with its own arguments.
  const context = { ...outer, parameters: new Parameters() }
  const inputs = argumentsOf(context, request)
  const idInput = inputs.get('id')
  const field = { ...replyFieldBase(request), at: undefined }
  const step = {
    kind,
    collection,
    id: kind !== 'create' && idInput ? getterOf(idInput, idOf) : undefined,
    values: valuesOf(collection, inputs),
  }
  if (kind === 'delete') {
    const replyField: ReplyField = { ...field, kind: 'leaf' }
    return { step: { ...step, replyField, select: [], getters: [] }, cost: () => writeCost }
  }
  const inner = planSelection(context, collection, request.nodes, undefined)
  const replyField: ReplyField = { ...field, kind: 'object', children: inner.replyFields }
  const { getters } = context.parameters
  return {
    step: { ...step, replyField, select: inner.select, getters },
    cost: variables => writeCost + 1 + inner.cost(variables),
  }
}
