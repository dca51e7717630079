/** A subscription → the plan that reads the item of one event, and where each field of the reply comes from. */

import type { ItemRoot, LoggedRow, Param } from '../../../engine/plan/plan.ts'
import { selected } from '../../../engine/plan/system-plans.ts'
import type { Collection, EmittedEvent } from '../../../model/model.ts'
import { eventNumber } from '../../events/resume.ts'
import { badRequest } from '../bad-request.ts'
import { camelCase } from '../schema/names.ts'
import {
  argumentsOf,
  type FieldRequest,
  fieldRequestOf,
  planMembers,
  type RootField,
  replyFieldBase,
} from './field-request.ts'
import { readInput } from './input.ts'
import { type Cost, sumOfCosts, unlessNull } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField } from './reply-fields.ts'
import { planSelection } from './selection.ts'
import type { SubscriptionVariant } from './variant.ts'

/** Points for a subscription that resumes, because the events that it missed are read for it. */
const resumeCost = 100

/** The keys of the event's values, and of the item whose access rule decides who receives the event. No alias can equal them. */
export const valuesKey = 'event:values'
export const accessItemKey = 'event:item'

type PlannedSubscription = Pick<SubscriptionVariant, 'replyField' | 'cost'> & {
  readonly roots: readonly ItemRoot[]
}

/** The parameters of the event's item and row. */
interface EventParams {
  readonly id: Param
  readonly event: LoggedRow
}

export function planSubscription(context: PlanContext, fields: readonly RootField[]): SubscriptionVariant {
  const [field] = fields
  const entry = field && context.directory.subscriptions.get(field.nodes[0].name.value)
  if (!field || !entry) throw noFieldError()
  const request = fieldRequestOf(field)
  const placeholder = () => context.parameters.placeholder()
  const params = { id: placeholder(), event: { row: placeholder(), facts: placeholder(), at: placeholder() } }
  const after = planAfter(context, request)
  const { collection } = entry
  const { roots, replyField, cost } =
    entry.kind === 'emitted'
      ? planEmitted(context, request, { collection, event: entry.event, params })
      : planChange(context, request, collection, params)
  return {
    operation: 'subscription',
    entry,
    shape: { kind: 'composite', roots },
    replyField,
    ...params,
    after,
    cost: after ? variables => resumeCost + cost(variables) : cost,
    getters: context.parameters.getters,
  }
}

function planChange(
  context: PlanContext,
  request: FieldRequest,
  collection: Collection,
  params: EventParams,
): PlannedSubscription {
  const base = replyFieldBase(request)
  const { select, replyFields, cost } = planSelection(context, collection, request.nodes, base.place)
  return {
    roots: [{ kind: 'item', key: request.key, collection: collection.name, ...params, select }],
    replyField: { ...base, kind: 'object', children: replyFields },
    cost: sumOfCosts([() => 1, cost]),
  }
}

interface EmittedRequest {
  readonly collection: Collection
  readonly event: EmittedEvent
  readonly params: EventParams
}

/** The item is read once for the rule, and once for each time that it is selected. */
function planEmitted(
  context: PlanContext,
  request: FieldRequest,
  emitted: EmittedRequest,
): PlannedSubscription {
  const { collection, event, params } = emitted
  const { access } = event
  const rule = access.kind === 'anyone' ? {} : { rule: access }
  const itemRoot = (key: string, select: ItemRoot['select']): ItemRoot => {
    return { kind: 'item', key, collection: collection.name, ...params, select, ...rule }
  }
  const roots = [itemRoot(accessItemKey, selected(['id']))]
  const costs: Cost[] = [() => 1]
  const children = planMembers(context, request, (child): ReplyField => {
    if (child.definition.name === 'values') return planEventValues(context, child, event)
    const { select, replyFields, cost } = planSelection(context, collection, child.nodes, child.key)
    roots.push(itemRoot(child.key, select))
    costs.push(cost)
    return { ...replyFieldBase(child), kind: 'object', children: replyFields }
  })
  const replyField: ReplyField = {
    ...replyFieldBase(request),
    place: accessItemKey,
    kind: 'object',
    children,
  }
  return { roots, replyField, cost: sumOfCosts(costs) }
}

function planEventValues(context: PlanContext, request: FieldRequest, { fields }: EmittedEvent): ReplyField {
  const names = new Map([...fields.keys()].map(name => [camelCase(name), name]))
  const children = planMembers(context, request, child => {
    const source = names.get(child.definition.name) ?? ''
    return { ...replyFieldBase(child), source, place: undefined, kind: 'leaf' }
  })
  return { ...replyFieldBase(request), source: valuesKey, place: undefined, kind: 'object', children }
}

function planAfter(context: PlanContext, request: FieldRequest): SubscriptionVariant['after'] | undefined {
  const after = unlessNull(argumentsOf(context, request).get('after'))
  return (
    after &&
    (variables => {
      const eventId = eventNumber(String(readInput(after, variables)))
      if (eventId !== undefined) return eventId
      throw badRequest('"after" must be the `eventId` of a payload, e.g. "1042".', after.node)
    })
  )
}

/** `@skip` and `@include` can remove every field. */
function noFieldError(): Error {
  return badRequest('The subscription selects no subscription field.')
}
