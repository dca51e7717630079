/** One operation as it runs for variables of one structure: its plan, and what the reply is made of. */
import {
  type FieldNode,
  type GraphQLObjectType,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import type { Collection } from '../model/model.ts'
import type { CompositeShape, Param, Root, Selected } from '../plan/plan.ts'
import { type Asked, argumentsOf, type Planning, pickOf, subfields, typenamePick } from './asked.ts'
import { planConnection } from './connection-plan.ts'
import { collectFields, type Fragments } from './fields.ts'
import type { Ground } from './filter.ts'
import type { Input, Variables } from './input.ts'
import { limitError } from './limits.ts'
import { planList } from './list-plan.ts'
import { camelCase } from './names.ts'
import { type Cost, free, type Getter, getterOf, idOf, Parameters, sum } from './parameters.ts'
import type { Picked } from './picked.ts'
import { planSelection } from './selection.ts'
import type { MutationField, SubscriptionField } from './types.ts'

export type Variant = QueryVariant | MutationVariant | SubscriptionVariant

interface VariantBase {
  readonly cost: Cost
  readonly getters: readonly Getter[]
}

export interface QueryVariant extends VariantBase {
  readonly operation: 'query'
  readonly shape: CompositeShape
  readonly roots: readonly QueryRoot[]
  /** Where the plan takes the id of the user who asks. */
  readonly me: readonly Param[]
}

/** `introspection`: graphql-js answers. `local`: from the context, not from the plan. */
export interface QueryRoot {
  readonly from: 'plan' | 'introspection' | 'rateLimit' | 'constant'
  readonly picked: Picked
}

export interface MutationVariant extends VariantBase {
  readonly operation: 'mutation'
  readonly steps: readonly MutationStep[]
}

export type MutationStep = ConstantStep | WriteStep

export interface ConstantStep {
  readonly kind: 'constant'
  readonly picked: Picked
  readonly value: string
}

export interface WriteStep {
  readonly kind: MutationField['kind']
  readonly collection: Collection
  readonly picked: Picked
  /** The id of the item that is changed; absent for a create. */
  readonly id: Getter | undefined
  /** The values that are set, by the field's name. */
  readonly values: ReadonlyMap<string, Input>
  readonly select: readonly Selected[]
  readonly getters: readonly Getter[]
}

export interface SubscriptionVariant extends VariantBase {
  readonly operation: 'subscription'
  readonly kind: SubscriptionField['kind']
  readonly collection: Collection
  readonly shape: CompositeShape
  readonly picked: Picked
  readonly id: Param
  readonly event: Param
}

/** Of a write, beyond what it shows. */
const WRITE_COST = 10
/** Of one introspection field of the operation. */
const INTROSPECTION_COST = 100
const MAX_INTROSPECTIONS = 3

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
  const fields = [...collectFields([operation.selectionSet], fragments, variables)].map(([key, nodes]) => ({
    key,
    nodes,
    type,
  }))
  if (operation.operation === OperationTypeNode.QUERY) return planQuery(planning, fields)
  if (operation.operation === OperationTypeNode.MUTATION) return planMutation(planning, fields)
  return planSubscription(planning, fields)
}

interface RootField {
  readonly key: string
  readonly nodes: readonly [FieldNode, ...FieldNode[]]
  readonly type: GraphQLObjectType
}

function askedOf({ key, nodes, type }: RootField): Asked {
  const definition = type.getFields()[nodes[0].name.value]
  if (!definition) throw new Error(`${type.name} has no field ${nodes[0].name.value}`)
  return { key, nodes, parent: type, definition, prefix: '', place: undefined }
}

// --- queries

interface PlannedRoot {
  readonly root: QueryRoot
  readonly plan: Root | undefined
  readonly cost: Cost
  readonly me?: Param
}

function planQuery(planning: Planning, fields: readonly RootField[]): QueryVariant {
  const planned = fields.map(field => planRoot(planning, field))
  const introspections = planned.filter(({ root }) => root.from === 'introspection').length
  if (introspections > MAX_INTROSPECTIONS) {
    throw limitError(
      `The operation has ${introspections} introspection fields; at most ${MAX_INTROSPECTIONS} are allowed.`,
    )
  }
  return {
    operation: 'query',
    shape: { kind: 'composite', roots: planned.flatMap(({ plan }) => plan ?? []) },
    roots: planned.map(({ root }) => root),
    me: planned.flatMap(({ me }) => me ?? []),
    cost: sum(planned.map(({ cost }) => cost)),
    getters: planning.parameters.getters,
  }
}

function planRoot(planning: Planning, field: RootField): PlannedRoot {
  const { key, nodes, type } = field
  const name = nodes[0].name.value
  if (name === '__typename') {
    return {
      root: { from: 'constant', picked: typenamePick(key, nodes, type) },
      plan: undefined,
      cost: free,
    }
  }
  if (name.startsWith('__')) return planIntrospection(field)
  const asked = askedOf(field)
  const meaning = planning.ground.directory.queries.get(name)
  switch (meaning?.kind) {
    case 'item': {
      const id = argumentsOf(planning, asked).get('id')
      const place = planning.parameters.add(id ? getterOf(id, idOf) : () => 0)
      return planItem(planning, asked, meaning.collection, place)
    }
    case 'me': {
      const me = planning.parameters.hole()
      return { ...planItem(planning, asked, meaning.collection, me), me }
    }
    case 'list': {
      const { list, select, picked, cost } = planList(planning, asked, meaning.collection)
      const plan: Root = { kind: 'list', key, collection: meaning.collection.name, list, select }
      return { root: { from: 'plan', picked }, plan, cost }
    }
    case 'connection': {
      const { list, select, picked, cost } = planConnection(planning, asked, meaning.collection)
      const plan: Root = { kind: 'list', key, collection: meaning.collection.name, list, select }
      return { root: { from: 'plan', picked }, plan, cost }
    }
    case 'rateLimit':
      return planRateLimit(planning, asked)
    default:
      throw new Error(`nothing answers ${name}`)
  }
}

function planIntrospection({ key, nodes }: RootField): PlannedRoot {
  const name = `Query.${nodes[0].name.value}`
  const picked: Picked = {
    key,
    source: key,
    at: undefined,
    nonNull: name === 'Query.__schema',
    name,
    nodes,
    kind: 'leaf',
  }
  return { root: { from: 'introspection', picked }, plan: undefined, cost: () => INTROSPECTION_COST }
}

function planItem(planning: Planning, asked: Asked, collection: Collection, id: Param): PlannedRoot {
  const pick = pickOf(asked)
  const inner = planSelection(planning, collection, subfields(planning, asked.nodes), pick.at)
  const picked: Picked = { ...pick, kind: 'object', children: inner.picked }
  return {
    root: { from: 'plan', picked },
    plan: { kind: 'item', key: asked.key, collection: collection.name, id, select: inner.select },
    cost: variables => 1 + inner.cost(variables),
  }
}

function planRateLimit(planning: Planning, asked: Asked): PlannedRoot {
  const type = planning.ground.schema.getType(String(asked.definition.type)) as GraphQLObjectType
  const children = [...subfields(planning, asked.nodes)].map(([key, nodes]): Picked => {
    if (nodes[0].name.value === '__typename') return typenamePick(key, nodes, type)
    const pick = pickOf(askedOf({ key, nodes, type }))
    return { ...pick, source: nodes[0].name.value, at: undefined, kind: 'leaf' }
  })
  const picked: Picked = { ...pickOf(asked), at: undefined, kind: 'object', children }
  return { root: { from: 'rateLimit', picked }, plan: undefined, cost: free }
}

// --- mutations

function planMutation(planning: Planning, fields: readonly RootField[]): MutationVariant {
  const costs: Cost[] = []
  const steps = fields.map((field): MutationStep => {
    const { key, nodes, type } = field
    if (nodes[0].name.value === '__typename') {
      return { kind: 'constant', picked: typenamePick(key, nodes, type), value: type.name }
    }
    const { step, cost } = planWrite(planning, askedOf(field))
    costs.push(cost)
    return step
  })
  const getters = steps.flatMap(step => (step.kind === 'constant' ? [] : step.getters))
  return { operation: 'mutation', steps, cost: sum(costs), getters }
}

function planWrite(outer: Planning, asked: Asked): { readonly step: WriteStep; readonly cost: Cost } {
  // Every write is a plan of its own, with its own arguments.
  const planning = { ...outer, parameters: new Parameters() }
  const meaning = planning.ground.directory.mutations.get(asked.definition.name)
  if (!meaning) throw new Error(`nothing answers ${asked.definition.name}`)
  const { kind, collection } = meaning
  const inputs = argumentsOf(planning, asked)
  const idInput = inputs.get('id')
  const pick = { ...pickOf(asked), at: undefined }
  const base = {
    kind,
    collection,
    id: kind !== 'create' && idInput ? getterOf(idInput, idOf) : undefined,
    values: valuesOf(collection, inputs),
  }
  if (kind === 'delete') {
    const picked: Picked = { ...pick, kind: 'leaf' }
    return { step: { ...base, picked, select: [], getters: [] }, cost: () => WRITE_COST }
  }
  const inner = planSelection(planning, collection, subfields(planning, asked.nodes), undefined)
  const picked: Picked = { ...pick, kind: 'object', children: inner.picked }
  const { getters } = planning.parameters
  return {
    step: { ...base, picked, select: inner.select, getters },
    cost: variables => WRITE_COST + 1 + inner.cost(variables),
  }
}

/** The values that are set, in the model's order, so that mutations of the same fields share a shape. */
function valuesOf(collection: Collection, inputs: ReadonlyMap<string, Input>): ReadonlyMap<string, Input> {
  const values = new Map<string, Input>()
  for (const field of collection.fields.values()) {
    const input = field.name === 'id' ? undefined : inputs.get(camelCase(field.name))
    if (input) values.set(field.name, input)
  }
  return values
}

// --- subscriptions

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
