/** A query → one composite plan, and where each field of the reply comes from. */
import type { GraphQLObjectType } from 'graphql'
import { idOf } from '../../model/fields/integer.ts'
import type { Collection, Query } from '../../model/model.ts'
import type { Param, Root } from '../../plan/plan.ts'
import { badRequest } from '../bad-request.ts'
import { idOfNode, typeOfNode } from '../schema/node-id.ts'
import { planAct } from './action-plan.ts'
import { planAggregate } from './aggregate-plan.ts'
import { planConnection } from './connection-plan.ts'
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
import { type PlannedList, planList } from './list-plan.ts'
import { type Cost, free, getterOf, sum } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import { forEachField, type ReplyField, some } from './reply-fields.ts'
import { planSelection } from './selection.ts'
import type { QueryRoot, QueryVariant } from './variant.ts'

/** Points for one introspection field of the operation. */
const introspectionCost = 100
const maxIntrospectionFields = 3

/** Roots whose values do not come from the plan's answer. */
const volatile: ReadonlySet<QueryRoot['from']> = new Set(['introspection', 'rateLimit', 'query'])

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
  const trees = roots.map(({ replyField }) => replyField)
  return {
    operation: 'query',
    shape: { kind: 'composite', roots: planned.flatMap(({ plan }) => plan ?? []) },
    roots,
    declared: roots.flatMap(root => (root.from === 'query' ? root.step : [])),
    isVolatile: roots.some(({ from }) => volatile.has(from)),
    isVerbatim: roots.every(({ from }) => from === 'plan') && !some(trees, isReshaped),
    requiredTargets: requiredTargets(trees),
    callerIds: planned.flatMap(({ callerId }) => callerId ?? []),
    cost: sum(planned.map(({ cost }) => cost)),
    getters: context.parameters.getters,
  }
}

/** Whether the reply's value differs from the answer's, or has another key. */
function isReshaped(replyField: ReplyField): boolean {
  if (replyField.kind === 'constant') return false
  return replyField.at === undefined || (replyField.kind !== 'leaf' && replyField.reshape !== undefined)
}

function requiredTargets(trees: readonly ReplyField[]): readonly Collection[] {
  const found = new Set<Collection>()
  forEachField(trees, replyField => {
    if (replyField.kind === 'object' && replyField.nonNull && replyField.target) found.add(replyField.target)
  })
  return [...found]
}

function planRoot(context: PlanContext, field: RootField): PlannedRoot {
  const { key, nodes, type } = field
  const name = nodes[0].name.value
  if (name === '__typename') {
    return {
      root: { from: 'constant', replyField: typenameField(key, nodes, type) },
      plan: undefined,
      cost: free,
    }
  }
  if (name.startsWith('__')) return planIntrospection(field)
  const request = requestOf(field)
  const meaning = context.directory.queries.get(name)
  switch (meaning?.kind) {
    case 'item': {
      const id = argumentsOf(context, request).get('id')
      const place = context.parameters.add(id ? getterOf(id, idOf) : () => 0)
      return planItem(context, request, meaning.collection, place)
    }
    case 'node':
      return planNode(context, request)
    case 'me': {
      const callerId = context.parameters.placeholder()
      return { ...planItem(context, request, meaning.collection, callerId), callerId }
    }
    case 'list':
      return rootList(key, meaning.collection, planList(context, request, meaning.collection))
    case 'connection':
      return rootList(key, meaning.collection, planConnection(context, request, meaning.collection))
    case 'aggregate':
      return rootAggregate(context, request, meaning.collection)
    case 'query':
      return rootQuery(context, request, meaning.query)
    case 'rateLimit':
      return planRateLimit(context, request)
    default:
      throw new Error(`nothing answers ${name}`)
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
  const { step, cost } = planAct(context, request, query)
  return { root: { from: 'query', replyField: step.replyField, step }, plan: undefined, cost }
}

function planIntrospection({ key, nodes }: RootField): PlannedRoot {
  const name = `Query.${nodes[0].name.value}`
  const replyField: ReplyField = {
    key,
    source: key,
    at: undefined,
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
  const inner = planSelection(context, collection, request.nodes, base.at)
  const replyField: ReplyField = { ...base, kind: 'object', children: inner.replyFields }
  return {
    root: { from: 'plan', replyField },
    plan: { kind: 'item', key: request.key, collection: collection.name, id, select: inner.select },
    cost: variables => 1 + inner.cost(variables),
  }
}

/** The id names the type: variables that name another type get another variant. */
function planNode(context: PlanContext, request: FieldRequest): PlannedRoot {
  const input = argumentsOf(context, request).get('nodeId')
  const type = input && typeOfNode(readInput(input, context.variables))
  const collection = context.directory.nodes.get(type ?? '')
  if (input && collection) {
    const id = context.parameters.add(getterOf(input, nodeId => idOf(idOfNode(nodeId))))
    return planItem(context, request, collection, id)
  }
  const replyField: ReplyField = { ...replyFieldBase(request), at: undefined, kind: 'object', children: [] }
  return { root: { from: 'nothing', replyField }, plan: undefined, cost: free }
}

function planRateLimit(context: PlanContext, request: FieldRequest): PlannedRoot {
  const type = context.schema.getType(String(request.definition.type)) as GraphQLObjectType
  const children = [...subfields(context, type, request.nodes)].map(([key, nodes]): ReplyField => {
    if (nodes[0].name.value === '__typename') return typenameField(key, nodes, type)
    const base = replyFieldBase(requestOf({ key, nodes, type }))
    return { ...base, source: nodes[0].name.value, at: undefined, kind: 'leaf' }
  })
  const replyField: ReplyField = { ...replyFieldBase(request), at: undefined, kind: 'object', children }
  return { root: { from: 'rateLimit', replyField }, plan: undefined, cost: free }
}
