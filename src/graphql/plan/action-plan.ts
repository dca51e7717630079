/** A root field that is an action or a query of the model → its input, and what is read of its answer. */
import { type GraphQLNamedType, getNamedType, isObjectType } from 'graphql'
import { inputShape } from '../../logic/operations/input.ts'
import { idOf } from '../../model/fields/integer.ts'
import type { Action, Collection, Operation, Query } from '../../model/model.ts'
import type { ItemRoot } from '../../plan/plan.ts'
import { camelCase } from '../schema/names.ts'
import {
  argumentsOf,
  type FieldRequest,
  replyFieldBase,
  requestOf,
  subfields,
  typenameField,
} from './field-request.ts'
import { type Cost, getterOf, Parameters, sum } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField } from './reply-fields.ts'
import { planSelection } from './selection.ts'
import { valuesOf } from './values.ts'
import type { ActStep } from './variant.ts'

/** Points for an action or a query, in addition to its selection: it may read and write many items. */
const actCost = 50

interface Planned {
  readonly step: ActStep
  readonly cost: Cost
}

export function planAct(outer: PlanContext, request: FieldRequest, operation: Action | Query): Planned {
  const context = { ...outer, parameters: new Parameters() }
  const inputs = argumentsOf(context, request)
  const idInput = operation.target === 'item' ? inputs.get('id') : undefined
  const roots: ItemRoot[] = []
  const costs: Cost[] = [() => actCost]
  const replyField = replyOf(context, request, operation, roots, costs)
  const step: ActStep = {
    kind: 'act',
    operation,
    replyField,
    id: idInput && getterOf(idInput, idOf),
    values: valuesOf(inputShape(operation), inputs),
    shape: { kind: 'composite', roots },
    getters: context.parameters.getters,
  }
  return { step, cost: sum(costs) }
}

function replyOf(
  context: PlanContext,
  request: FieldRequest,
  { output }: Operation,
  roots: ItemRoot[],
  costs: Cost[],
): ReplyField {
  const base = { ...replyFieldBase(request), at: undefined }
  if (output.kind === 'nothing') return { ...base, kind: 'leaf' }
  if (output.kind === 'item') return itemOf(context, request, output.collection, roots, costs)
  const payload: GraphQLNamedType = getNamedType(request.definition.type)
  if (!isObjectType(payload)) throw new Error(`${payload.name} is no object type`)
  const names = new Map([...output.values.keys()].map(name => [camelCase(name), name]))
  const children = [...subfields(context, payload, request.nodes)].map(([key, nodes]): ReplyField => {
    if (nodes[0].name.value === '__typename') return typenameField(key, nodes, payload)
    const child = requestOf({ key, nodes, type: payload })
    const value = output.values.get(names.get(nodes[0].name.value) ?? '')
    if (value?.kind === 'item') return itemOf(context, child, value.collection, roots, costs)
    // By the name of the value: the reply may have it under several keys.
    return { ...replyFieldBase(child), source: value?.field.name ?? '', at: undefined, kind: 'leaf' }
  })
  return { ...base, kind: 'object', children }
}

/** An item, which is a root of what is read afterwards. */
function itemOf(
  context: PlanContext,
  request: FieldRequest,
  name: string,
  roots: ItemRoot[],
  costs: Cost[],
): ReplyField {
  const collection = collectionOf(context, name)
  const { key } = request
  const inner = planSelection(context, collection, request.nodes, key)
  const id = context.parameters.placeholder()
  roots.push({ kind: 'item', key, collection: name, id, select: inner.select })
  costs.push(inner.cost, () => 1)
  return { ...replyFieldBase(request), kind: 'object', children: inner.replyFields }
}

function collectionOf({ model }: PlanContext, name: string): Collection {
  const found = model.collections.get(name)
  if (!found) throw new Error(`there is no collection ${name}`)
  return found
}
