/** A root field that is an action or a query of the model → its input, and the selection of its output. */
import { type GraphQLNamedType, getNamedType, isObjectType } from 'graphql'
import { inputShape } from '../../logic/operations/input.ts'
import { idOf } from '../../model/fields/integer.ts'
import type { Action, Collection, Operation, Query } from '../../model/model.ts'
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
import type { ActStep, OutputItem } from './variant.ts'

/** Points for an action or a query, in addition to its selection: it may read and write many items. */
const actCost = 50

/** Precedes the keys of a payload's items in the answer, where no alias can equal the name of another value. */
const itemPrefix = 'item:'

interface Planned {
  readonly step: ActStep
  readonly cost: Cost
}

export function planAct(outer: PlanContext, request: FieldRequest, operation: Action | Query): Planned {
  const context = { ...outer, parameters: new Parameters() }
  const inputs = argumentsOf(context, request)
  const idInput = operation.target === 'item' ? inputs.get('id') : undefined
  const items: OutputItem[] = []
  const costs: Cost[] = [() => actCost]
  const replyField = replyOf(context, request, operation, items, costs)
  const step: ActStep = {
    kind: 'act',
    operation,
    replyField,
    id: idInput && getterOf(idInput, idOf),
    values: valuesOf(inputShape(operation), inputs),
    items,
    shape: { kind: 'composite', roots: items.map(({ root }) => root) },
    getters: context.parameters.getters,
  }
  return { step, cost: sum(costs) }
}

function replyOf(
  context: PlanContext,
  request: FieldRequest,
  { output }: Operation,
  items: OutputItem[],
  costs: Cost[],
): ReplyField {
  const base = { ...replyFieldBase(request), at: undefined }
  if (output.kind === 'nothing') return { ...base, kind: 'leaf' }
  const itemOf = (of: FieldRequest, collection: string, value?: string): ReplyField => {
    const { replyField, item, cost } = planItem(context, of, collection, value)
    items.push(item)
    costs.push(cost, () => 1)
    return replyField
  }
  if (output.kind === 'item') return itemOf(request, output.collection)
  const payload: GraphQLNamedType = getNamedType(request.definition.type)
  if (!isObjectType(payload)) throw new Error(`${payload.name} is no object type`)
  const names = new Map([...output.values.keys()].map(name => [camelCase(name), name]))
  const children = [...subfields(context, payload, request.nodes)].map(([key, nodes]): ReplyField => {
    if (nodes[0].name.value === '__typename') return typenameField(key, nodes, payload)
    const child = requestOf({ key, nodes, type: payload })
    const name = names.get(nodes[0].name.value) ?? ''
    const value = output.values.get(name)
    if (value?.kind === 'item') return itemOf({ ...child, prefix: itemPrefix }, value.collection, name)
    // By the name of the value: the reply may have it under several keys.
    return { ...replyFieldBase(child), source: name, at: undefined, kind: 'leaf' }
  })
  return { ...base, kind: 'object', children }
}

interface PlannedItem {
  readonly replyField: ReplyField
  readonly item: OutputItem
  readonly cost: Cost
}

/** An item of the output, which is read after the operation. */
function planItem(
  context: PlanContext,
  request: FieldRequest,
  name: string,
  value: string | undefined,
): PlannedItem {
  const collection = collectionOf(context, name)
  const base = replyFieldBase(request)
  const { select, replyFields, cost } = planSelection(context, collection, request.nodes, base.at)
  const id = context.parameters.placeholder()
  return {
    replyField: { ...base, kind: 'object', children: replyFields },
    item: { root: { kind: 'item', key: base.source, collection: name, id, select }, value },
    cost,
  }
}

function collectionOf({ model }: PlanContext, name: string): Collection {
  const found = model.collections.get(name)
  if (!found) throw new Error(`there is no collection ${name}`)
  return found
}
