/** A subscription → the plan that reads the item of one event, and where each field of the reply comes from. */
import { getNamedType, isObjectType } from 'graphql'
import { eventNumber } from '../../events/resume.ts'
import type { Collection, EmittedEvent } from '../../model/model.ts'
import type { ItemRoot, Param } from '../../plan/plan.ts'
import { selected } from '../../plan/system-plans.ts'
import { badRequest } from '../bad-request.ts'
import { camelCase } from '../schema/names.ts'
import {
  argumentsOf,
  type FieldRequest,
  type RootField,
  replyFieldBase,
  requestOf,
  subfields,
  typenameField,
} from './field-request.ts'
import { readInput } from './input.ts'
import { type Cost, sum, unlessNull } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField } from './reply-fields.ts'
import { planSelection } from './selection.ts'
import type { SubscriptionVariant } from './variant.ts'

/** Points for a subscription that resumes, because the events that it missed are read for it. */
const resumeCost = 100

/** The keys of the event's values, and of the item that decides who receives the event. No alias can equal them. */
export const valuesKey = 'event:values'
export const judgedKey = 'event:item'

type Planned = Pick<SubscriptionVariant, 'replyField' | 'cost'> & { readonly roots: readonly ItemRoot[] }

/** The parameters of the event's item and row. */
interface Places {
  readonly id: Param
  readonly event: Param
}

export function planSubscription(context: PlanContext, fields: readonly RootField[]): SubscriptionVariant {
  const [field] = fields
  const meaning = field && context.directory.subscriptions.get(field.nodes[0].name.value)
  if (!field || !meaning) throw noField()
  const request = requestOf(field)
  const places = { id: context.parameters.placeholder(), event: context.parameters.placeholder() }
  const after = afterOf(context, request)
  const { collection } = meaning
  const { roots, replyField, cost } =
    meaning.kind === 'emitted'
      ? planEmitted(context, request, { collection, event: meaning.event, places })
      : planChange(context, request, collection, places)
  return {
    operation: 'subscription',
    meaning,
    shape: { kind: 'composite', roots },
    replyField,
    ...places,
    after,
    cost: after ? variables => resumeCost + cost(variables) : cost,
    getters: context.parameters.getters,
  }
}

function planChange(
  context: PlanContext,
  request: FieldRequest,
  collection: Collection,
  places: Places,
): Planned {
  const base = replyFieldBase(request)
  const { select, replyFields, cost } = planSelection(context, collection, request.nodes, base.at)
  return {
    roots: [{ kind: 'item', key: request.key, collection: collection.name, ...places, select }],
    replyField: { ...base, kind: 'object', children: replyFields },
    cost: sum([() => 1, cost]),
  }
}

interface Emitted {
  readonly collection: Collection
  readonly event: EmittedEvent
  readonly places: Places
}

/** The item is read once for the rule, and once for each time that it is selected. */
function planEmitted(context: PlanContext, request: FieldRequest, emitted: Emitted): Planned {
  const { collection, event, places } = emitted
  const { access } = event
  const rule = access.kind === 'anyone' ? {} : { rule: access }
  const rootOf = (key: string, select: ItemRoot['select']): ItemRoot => {
    return { kind: 'item', key, collection: collection.name, ...places, select, ...rule }
  }
  const roots = [rootOf(judgedKey, selected(['id']))]
  const costs: Cost[] = [() => 1]
  const payload = getNamedType(request.definition.type)
  if (!isObjectType(payload)) throw new Error(`${payload.name} is no object type`)
  const children = [...subfields(context, payload, request.nodes)].map(([key, nodes]): ReplyField => {
    if (nodes[0].name.value === '__typename') return typenameField(key, nodes, payload)
    const child = requestOf({ key, nodes, type: payload })
    if (nodes[0].name.value === 'values') return valuesOf(context, child, event)
    const { select, replyFields, cost } = planSelection(context, collection, nodes, key)
    roots.push(rootOf(key, select))
    costs.push(cost)
    return { ...replyFieldBase(child), kind: 'object', children: replyFields }
  })
  const replyField: ReplyField = { ...replyFieldBase(request), at: judgedKey, kind: 'object', children }
  return { roots, replyField, cost: sum(costs) }
}

function valuesOf(context: PlanContext, request: FieldRequest, { fields }: EmittedEvent): ReplyField {
  const type = getNamedType(request.definition.type)
  if (!isObjectType(type)) throw new Error(`${type.name} is no object type`)
  const names = new Map([...fields.keys()].map(name => [camelCase(name), name]))
  const children = [...subfields(context, type, request.nodes)].map(([key, nodes]): ReplyField => {
    const name = nodes[0].name.value
    if (name === '__typename') return typenameField(key, nodes, type)
    const base = replyFieldBase(requestOf({ key, nodes, type }))
    return { ...base, source: names.get(name) ?? '', at: undefined, kind: 'leaf' }
  })
  return { ...replyFieldBase(request), source: valuesKey, at: undefined, kind: 'object', children }
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
  return badRequest('The subscription selects no subscription field.')
}
