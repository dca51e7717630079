/** The fields of a query → one composite plan, and where each field of the reply comes from. */
import type { GraphQLObjectType } from 'graphql'
import type { Collection } from '../model/model.ts'
import type { Param, Root } from '../plan/plan.ts'
import {
  type Asked,
  argumentsOf,
  askedOf,
  type Planning,
  pickOf,
  type RootField,
  subfields,
  typenamePick,
} from './asked.ts'
import { planConnection } from './connection-plan.ts'
import { readInput } from './input.ts'
import { limitError } from './limits.ts'
import { type PlannedList, planList } from './list-plan.ts'
import { idOfNode, typeOfNode } from './node-id.ts'
import { type Cost, free, getterOf, idOf, sum } from './parameters.ts'
import { every, type Picked, some } from './picked.ts'
import { planSelection } from './selection.ts'
import type { QueryRoot, QueryVariant } from './variant.ts'

/** Of one introspection field of the operation. */
const INTROSPECTION_COST = 100
const MAX_INTROSPECTIONS = 3

interface PlannedRoot {
  readonly root: QueryRoot
  readonly plan: Root | undefined
  readonly cost: Cost
  readonly me?: Param
}

export function planQuery(planning: Planning, fields: readonly RootField[]): QueryVariant {
  const planned = fields.map(field => planRoot(planning, field))
  const introspections = planned.filter(({ root }) => root.from === 'introspection').length
  if (introspections > MAX_INTROSPECTIONS) {
    throw limitError(
      `The operation has ${introspections} introspection fields; at most ${MAX_INTROSPECTIONS} are allowed.`,
    )
  }
  const roots = planned.map(({ root }) => root)
  const trees = roots.map(({ picked }) => picked)
  return {
    operation: 'query',
    shape: { kind: 'composite', roots: planned.flatMap(({ plan }) => plan ?? []) },
    roots,
    fresh: roots.some(({ from }) => from === 'introspection' || from === 'rateLimit'),
    plain: roots.every(({ from }) => from === 'plan') && !some(trees, isMade),
    needed: neededBy(trees),
    me: planned.flatMap(({ me }) => me ?? []),
    cost: sum(planned.map(({ cost }) => cost)),
    getters: planning.parameters.getters,
  }
}

/** Whether the reply's value is another than the answer's, or under another key. */
function isMade(picked: Picked): boolean {
  if (picked.kind === 'constant') return false
  return picked.at === undefined || (picked.kind !== 'leaf' && picked.reshape !== undefined)
}

function neededBy(trees: readonly Picked[]): readonly Collection[] {
  const found = new Set<Collection>()
  every(trees, picked => {
    if (picked.kind === 'object' && picked.nonNull && picked.target) found.add(picked.target)
  })
  return [...found]
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
    case 'node':
      return planNode(planning, asked)
    case 'me': {
      const me = planning.parameters.hole()
      return { ...planItem(planning, asked, meaning.collection, me), me }
    }
    case 'list':
      return rootList(key, meaning.collection, planList(planning, asked, meaning.collection))
    case 'connection':
      return rootList(key, meaning.collection, planConnection(planning, asked, meaning.collection))
    case 'rateLimit':
      return planRateLimit(planning, asked)
    default:
      throw new Error(`nothing answers ${name}`)
  }
}

function rootList(
  key: string,
  collection: Collection,
  { list, select, picked, cost }: PlannedList,
): PlannedRoot {
  const plan: Root = { kind: 'list', key, collection: collection.name, list, select }
  return { root: { from: 'plan', picked }, plan, cost }
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

export function planItem(planning: Planning, asked: Asked, collection: Collection, id: Param): PlannedRoot {
  const pick = pickOf(asked)
  const inner = planSelection(planning, collection, asked.nodes, pick.at)
  const picked: Picked = { ...pick, kind: 'object', children: inner.picked }
  return {
    root: { from: 'plan', picked },
    plan: { kind: 'item', key: asked.key, collection: collection.name, id, select: inner.select },
    cost: variables => 1 + inner.cost(variables),
  }
}

/** The id tells the type, so each type that variables name has a variant of its own. */
function planNode(planning: Planning, asked: Asked): PlannedRoot {
  const input = argumentsOf(planning, asked).get('nodeId')
  const type = input && typeOfNode(readInput(input, planning.variables))
  const collection = planning.ground.directory.nodes.get(type ?? '')
  if (input && collection) {
    const id = planning.parameters.add(getterOf(input, nodeId => idOf(idOfNode(nodeId))))
    return planItem(planning, asked, collection, id)
  }
  const picked: Picked = { ...pickOf(asked), at: undefined, kind: 'object', children: [] }
  return { root: { from: 'nothing', picked }, plan: undefined, cost: free }
}

function planRateLimit(planning: Planning, asked: Asked): PlannedRoot {
  const type = planning.ground.schema.getType(String(asked.definition.type)) as GraphQLObjectType
  const children = [...subfields(planning, type, asked.nodes)].map(([key, nodes]): Picked => {
    if (nodes[0].name.value === '__typename') return typenamePick(key, nodes, type)
    const pick = pickOf(askedOf({ key, nodes, type }))
    return { ...pick, source: nodes[0].name.value, at: undefined, kind: 'leaf' }
  })
  const picked: Picked = { ...pickOf(asked), at: undefined, kind: 'object', children }
  return { root: { from: 'rateLimit', picked }, plan: undefined, cost: free }
}
