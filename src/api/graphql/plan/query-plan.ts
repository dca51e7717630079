/** A query → one composite plan, and where each field of the reply comes from. */

import type { Param, Root } from '../../../engine/plan/plan.ts'
import { idOf } from '../../../model/fields/integer.ts'
import type { Collection, Query } from '../../../model/model.ts'
import { badRequest } from '../bad-request.ts'
import { idOfNode, typeOfNode } from '../schema/node-id.ts'
import { planLogic } from './action-plan.ts'
import { planAggregate } from './aggregate-plan.ts'
import { planConnection } from './connection-plan.ts'
import {
  argumentsOf,
  type FieldRequest,
  fieldRequestOf,
  planMembers,
  type RootField,
  replyFieldBase,
  typenameField,
} from './field-request.ts'
import { readInput } from './input.ts'
import { type PlannedList, planList } from './list-plan.ts'
import { type Cost, createGetter, noCost, sumOfCosts } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import { forEachField, type ReplyField, someField } from './reply-fields.ts'
import { planSelection } from './selection.ts'
import type { QueryRoot, QueryVariant } from './variant.ts'

/** Points for one introspection field of the operation. */
const introspectionCost = 100
const maxIntrospectionFields = 3

/** Roots whose values come from elsewhere than the plan's answer, and can change while it does not. */
const volatileRoots: ReadonlySet<QueryRoot['from']> = new Set(['introspection', 'rateLimit', 'query'])

interface PlannedRoot {
  readonly root: QueryRoot
  readonly plan: Root | undefined
  readonly cost: Cost
  /** The parameter for the caller's id. */
  readonly callerId?: Param
}

export function planQuery(context: PlanContext, fields: readonly RootField[]): QueryVariant {
  const planned = fields.map(field => planRoot(context, field))
  const introspections = planned.filter(({ root }) => root.from === 'introspection').length
  if (introspections > maxIntrospectionFields) {
    throw badRequest(
      `The operation has ${introspections} introspection fields; at most ${maxIntrospectionFields} are allowed.`,
    )
  }
  const roots = planned.map(({ root }) => root)
  const replyFields = roots.map(({ replyField }) => replyField)
  return {
    operation: 'query',
    shape: { kind: 'composite', roots: planned.flatMap(({ plan }) => plan ?? []) },
    roots,
    replyFields,
    declaredQueries: roots.flatMap(root => (root.from === 'query' ? root.step : [])),
    isVolatile: roots.some(({ from }) => volatileRoots.has(from)),
    isVerbatim: roots.every(({ from }) => from === 'plan') && !someField(replyFields, isReshaped),
    requiredTargets: requiredTargets(replyFields),
    callerIds: planned.flatMap(({ callerId }) => callerId ?? []),
    cost: sumOfCosts(planned.map(({ cost }) => cost)),
    getters: context.parameters.getters,
  }
}

/** Whether the reply's value differs from the answer's, or has another key. */
function isReshaped(replyField: ReplyField): boolean {
  if (replyField.kind === 'constant') return false
  return replyField.place === undefined || (replyField.kind !== 'leaf' && replyField.reshape !== undefined)
}

function requiredTargets(replyFields: readonly ReplyField[]): readonly Collection[] {
  const targets = new Set<Collection>()
  forEachField(replyFields, replyField => {
    if (replyField.kind === 'object' && replyField.nonNull && replyField.target)
      targets.add(replyField.target)
  })
  return [...targets]
}

function planRoot(context: PlanContext, field: RootField): PlannedRoot {
  const { key, nodes, type } = field
  const name = nodes[0].name.value
  if (name === '__typename') {
    return {
      root: { from: 'constant', replyField: typenameField(key, nodes, type) },
      plan: undefined,
      cost: noCost,
    }
  }
  if (name.startsWith('__')) return planIntrospection(field)
  const request = fieldRequestOf(field)
  const entry = context.directory.queries.get(name)
  switch (entry?.kind) {
    case 'item': {
      const id = argumentsOf(context, request).get('id')
      const idParam = context.parameters.add(id ? createGetter(id, idOf) : () => 0)
      return planItem(context, request, entry.collection, idParam)
    }
    case 'node':
      return planNode(context, request)
    case 'me': {
      const callerId = context.parameters.placeholder()
      return { ...planItem(context, request, entry.collection, callerId), callerId }
    }
    case 'list':
      return rootList(key, entry.collection, planList(context, request, entry.collection))
    case 'connection':
      return rootList(key, entry.collection, planConnection(context, request, entry.collection))
    case 'aggregate':
      return rootAggregate(context, request, entry.collection)
    case 'query':
      return rootQuery(context, request, entry.query)
    case 'rateLimit':
      return planRateLimit(context, request)
    default:
      throw new Error(`there is no query ${name}`)
  }
}

function rootList(
  key: string,
  collection: Collection,
  { list, select, replyField, cost }: PlannedList,
): PlannedRoot {
  const plan: Root = { kind: 'list', key, collection: collection.name, list, select }
  return { root: { from: 'plan', replyField }, plan, cost }
}

function rootAggregate(context: PlanContext, request: FieldRequest, collection: Collection): PlannedRoot {
  const { aggregation, search, replyField, cost } = planAggregate(context, request, collection)
  const plan: Root = { kind: 'aggregate', key: request.key, collection: collection.name, search, aggregation }
  return { root: { from: 'plan', replyField }, plan, cost }
}

function rootQuery(context: PlanContext, request: FieldRequest, query: Query): PlannedRoot {
  const { step, cost } = planLogic(context, request, query)
  return { root: { from: 'query', replyField: step.replyField, step }, plan: undefined, cost }
}

function planIntrospection({ key, nodes }: RootField): PlannedRoot {
  const name = `Query.${nodes[0].name.value}`
  const replyField: ReplyField = {
    key,
    source: key,
    place: undefined,
    nonNull: name === 'Query.__schema',
    name,
    nodes,
    kind: 'leaf',
  }
  return { root: { from: 'introspection', replyField }, plan: undefined, cost: () => introspectionCost }
}

export function planItem(
  context: PlanContext,
  request: FieldRequest,
  collection: Collection,
  id: Param,
): PlannedRoot {
  const base = replyFieldBase(request)
  const selection = planSelection(context, collection, request.nodes, base.place)
  const replyField: ReplyField = { ...base, kind: 'object', children: selection.replyFields }
  return {
    root: { from: 'plan', replyField },
    plan: { kind: 'item', key: request.key, collection: collection.name, id, select: selection.select },
    cost: variables => 1 + selection.cost(variables),
  }
}

/** The id names the type: variables that name another type get another variant. */
function planNode(context: PlanContext, request: FieldRequest): PlannedRoot {
  const input = argumentsOf(context, request).get('nodeId')
  const type = input && typeOfNode(readInput(input, context.variables))
  const collection = context.directory.nodes.get(type ?? '')
  if (input && collection) {
    const id = context.parameters.add(createGetter(input, nodeId => idOf(idOfNode(nodeId))))
    return planItem(context, request, collection, id)
  }
  const replyField: ReplyField = {
    ...replyFieldBase(request),
    place: undefined,
    kind: 'object',
    children: [],
  }
  return { root: { from: 'nothing', replyField }, plan: undefined, cost: noCost }
}

function planRateLimit(context: PlanContext, request: FieldRequest): PlannedRoot {
  const children = planMembers(context, request, child => {
    return { ...replyFieldBase(child), source: child.definition.name, place: undefined, kind: 'leaf' }
  })
  const replyField: ReplyField = { ...replyFieldBase(request), place: undefined, kind: 'object', children }
  return { root: { from: 'rateLimit', replyField }, plan: undefined, cost: noCost }
}
