/** A root field that is an action or a query of the model → its input, and the selection of its output. */
import { inputShape } from '../../../engine/logic/operations/input.ts'
import { idOf } from '../../../model/fields/integer.ts'
import type { Action, Collection, Operation, Query } from '../../../model/model.ts'
import { camelCase } from '../schema/names.ts'
import { argumentsOf, type FieldRequest, planMembers, replyFieldBase } from './field-request.ts'
import { type Cost, createGetter, PlanParameters, sumOfCosts } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField } from './reply-fields.ts'
import { planSelection } from './selection.ts'
import { inputsByField } from './values.ts'
import type { LogicStep, OutputItem } from './variant.ts'

/** Points for an action or a query, in addition to its selection: it may read and write many items. */
const actCost = 50

/** The prefix of the keys of a payload's items in the answer: with it, no alias equals the name of another value. */
const itemPrefix = 'item:'

interface PlannedLogic {
  readonly step: LogicStep
  readonly cost: Cost
}

export function planLogic(
  outer: PlanContext,
  request: FieldRequest,
  operation: Action | Query,
): PlannedLogic {
  const context = { ...outer, parameters: new PlanParameters() }
  const inputs = argumentsOf(context, request)
  const idInput = operation.target === 'item' ? inputs.get('id') : undefined
  const items: OutputItem[] = []
  const costs: Cost[] = [() => actCost]
  const replyField = planReply(context, request, operation, items, costs)
  const step: LogicStep = {
    kind: 'logic',
    operation,
    replyField,
    id: idInput && createGetter(idInput, idOf),
    values: inputsByField(inputShape(operation), inputs),
    items,
    shape: { kind: 'composite', roots: items.map(({ root }) => root) },
    getters: context.parameters.getters,
  }
  return { step, cost: sumOfCosts(costs) }
}

function planReply(
  context: PlanContext,
  request: FieldRequest,
  { output }: Operation,
  items: OutputItem[],
  costs: Cost[],
): ReplyField {
  const base = { ...replyFieldBase(request), place: undefined }
  if (output.kind === 'nothing') return { ...base, kind: 'leaf' }
  const planOutputItem = (itemRequest: FieldRequest, collection: string, value?: string): ReplyField => {
    const { replyField, item, cost } = planItem(context, itemRequest, collection, value)
    items.push(item)
    costs.push(cost, () => 1)
    return replyField
  }
  if (output.kind === 'item') return planOutputItem(request, output.collection)
  const names = new Map([...output.values.keys()].map(name => [camelCase(name), name]))
  const children = planMembers(context, request, (child): ReplyField => {
    const name = names.get(child.definition.name) ?? ''
    const value = output.values.get(name)
    if (value?.kind === 'item')
      return planOutputItem({ ...child, prefix: itemPrefix }, value.collection, name)
    // The source is the value's name: the reply may contain the value under several keys.
    return { ...replyFieldBase(child), source: name, place: undefined, kind: 'leaf' }
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
  const { select, replyFields, cost } = planSelection(context, collection, request.nodes, base.place)
  const id = context.parameters.placeholder()
  return {
    replyField: { ...base, kind: 'object', children: replyFields },
    item: { root: { kind: 'item', key: base.source, collection: name, id, select, isOutput: true }, value },
    cost,
  }
}

function collectionOf({ model }: PlanContext, name: string): Collection {
  const collection = model.collections.get(name)
  if (!collection) throw new Error(`there is no collection ${name}`)
  return collection
}
