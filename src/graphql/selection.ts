/** The fields of one object → what its plan selects, what its reply shows, what it costs. */
import { type FieldNode, type GraphQLField, type GraphQLObjectType, isObjectType } from 'graphql'
import type { Collection, ManyToMany, ToMany } from '../model/model.ts'
import type { FieldForm, Selected, SelectedList } from '../plan/plan.ts'
import { planConnection } from './connection-plan.ts'
import { collectFields, type FieldGroups, type Fragments } from './fields.ts'
import type { Ground } from './filter.ts'
import { type Input, inputOf, type Variables } from './input.ts'
import { planList } from './list-plan.ts'
import { type Cost, free, type Parameters, sum } from './parameters.ts'
import { type Picked, within } from './picked.ts'
import type { Member } from './types.ts'

/** What is under way while one variant of an operation is planned. */
export interface Planning {
  readonly ground: Ground
  readonly fragments: Fragments
  readonly variables: Variables
  readonly parameters: Parameters
  readonly listBound: number
}

export interface Selection {
  readonly select: readonly Selected[]
  readonly picked: readonly Picked[]
  readonly cost: Cost
}

type Nodes = readonly [FieldNode, ...FieldNode[]]

/** One field of the reply. `prefix` and `place`: of the object's keys in the answer and in the plan. */
export interface Asked {
  readonly key: string
  readonly nodes: Nodes
  readonly parent: GraphQLObjectType
  readonly definition: GraphQLField<unknown, unknown>
  readonly prefix: string
  readonly place: string | undefined
}

export function planSelection(
  planning: Planning,
  collection: Collection,
  groups: FieldGroups,
  place: string | undefined,
  prefix = '',
): Selection {
  const parent = objectType(planning, collection)
  const members = planning.ground.directory.members.get(parent.name)
  const select: Selected[] = []
  const picked: Picked[] = []
  const costs: Cost[] = []
  for (const [key, nodes] of groups) {
    const name = nodes[0].name.value
    if (name === '__typename') {
      picked.push(typenamePick(key, nodes, parent))
      select.push({ kind: 'constant', key: prefix + key, value: parent.name })
      continue
    }
    const member = members?.get(name)
    const definition = parent.getFields()[name]
    if (!member || !definition) throw new Error(`${parent.name} has no field ${name}`)
    const asked = { key, nodes, parent, definition, prefix, place }
    const planned = planMember(planning, asked, member)
    if (planned.selected) select.push(planned.selected)
    picked.push(planned.picked)
    costs.push(planned.cost)
  }
  return { select, picked, cost: sum(costs) }
}

export function objectType({ ground }: Planning, { name }: Collection): GraphQLObjectType {
  const type = ground.schema.getType(ground.directory.typeOf.get(name) ?? '')
  if (!isObjectType(type)) throw new Error(`there is no type for ${name}`)
  return type
}

interface PlannedMember {
  readonly selected: Selected | undefined
  readonly picked: Picked
  readonly cost: Cost
}

function planMember(planning: Planning, asked: Asked, member: Member): PlannedMember {
  const source = asked.prefix + asked.key
  switch (member.kind) {
    case 'field': {
      const { field } = member
      const selected = fieldSelected(source, field.name, formOf(field.type.graphql))
      return { selected, picked: { ...pickOf(asked), kind: 'leaf' }, cost: free }
    }
    case 'revealed': {
      const picked: Picked = { ...pickOf(asked), source: member.name, at: undefined, kind: 'leaf' }
      return { selected: undefined, picked, cost: free }
    }
    case 'relation': {
      const { relation, target } = member
      return relation.kind === 'one'
        ? planOne(planning, asked, relation.name, target)
        : planMany(planning, asked, relation, target)
    }
    case 'connection': {
      const { list, select, picked, cost } = planConnection(planning, asked, member.target)
      const selected = relationSelected(source, member.relation.name, select, list)
      return { selected, picked, cost }
    }
  }
}

function fieldSelected(key: string, field: string, as: FieldForm | undefined): Selected {
  return as === undefined ? { kind: 'field', key, field } : { kind: 'field', key, field, as }
}

function relationSelected(
  key: string,
  relation: string,
  select: readonly Selected[],
  list: SelectedList | undefined,
): Selected {
  return { kind: 'relation', key, relation, select, list }
}

/** In GraphQL an `ID` is a string, and an enum value has a name of its own. */
function formOf(graphql: string): FieldForm | undefined {
  if (graphql === 'ID') return 'string'
  return graphql === 'Enum' ? 'name' : undefined
}

function planOne(planning: Planning, asked: Asked, relation: string, target: Collection): PlannedMember {
  const pick = pickOf(asked)
  const { select, picked, cost } = planSelection(planning, target, subfields(planning, asked.nodes), pick.at)
  return {
    selected: relationSelected(pick.source, relation, select, undefined),
    picked: { ...pick, kind: 'object', children: picked, target },
    cost: variables => 1 + cost(variables),
  }
}

function planMany(
  planning: Planning,
  asked: Asked,
  relation: ToMany | ManyToMany,
  target: Collection,
): PlannedMember {
  const { list, select, picked, cost } = planList(planning, asked, target)
  return { selected: relationSelected(picked.source, relation.name, select, list), picked, cost }
}

export function subfields({ fragments, variables }: Planning, nodes: Nodes): FieldGroups {
  return collectFields(
    nodes.map(node => node.selectionSet),
    fragments,
    variables,
  )
}

/** What all picked fields have. */
export function pickOf({ key, nodes, parent, definition, prefix, place }: Asked) {
  const source = prefix + key
  return {
    key,
    source,
    at: within(place, source),
    nonNull: String(definition.type).endsWith('!'),
    name: `${parent.name}.${definition.name}`,
    nodes,
  }
}

export function typenamePick(key: string, nodes: Nodes, parent: GraphQLObjectType): Picked {
  const name = `${parent.name}.__typename`
  return { key, source: key, at: undefined, nonNull: true, name, nodes, kind: 'constant', value: parent.name }
}

/** The given arguments of a field, by name. */
export function argumentsOf({ variables }: Planning, { nodes, definition }: Asked): Map<string, Input> {
  const found = new Map<string, Input>()
  for (const node of nodes[0].arguments ?? []) {
    const argument = definition.args.find(each => each.name === node.name.value)
    const input = argument && inputOf(node.value, argument.type, variables)
    if (input) found.set(node.name.value, input)
  }
  return found
}
