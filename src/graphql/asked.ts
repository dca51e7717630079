/** A field of the reply as it is asked for: its nodes, its arguments, what is selected of it. */
import { type FieldNode, type GraphQLField, type GraphQLObjectType, isObjectType } from 'graphql'
import type { Collection } from '../model/model.ts'
import type { Selected } from '../plan/plan.ts'
import { collectFields, type FieldGroups, type Fragments } from './fields.ts'
import type { Ground } from './filter.ts'
import { type Input, inputOf, type Variables } from './input.ts'
import type { Cost, Parameters } from './parameters.ts'
import { type Picked, within } from './picked.ts'

/** What is under way while one variant of an operation is planned. */
export interface Planning {
  readonly ground: Ground
  readonly fragments: Fragments
  readonly variables: Variables
  readonly parameters: Parameters
  readonly listBound: number
  /** Plans the fields of an object (`planSelection`): lists and objects hold one another. */
  readonly select: Select
}

/** `nodes`: which select it. `place` and `prefix`: of the object's keys in the plan and in the answer. */
export type Select = (
  planning: Planning,
  collection: Collection,
  nodes: Nodes,
  place: string | undefined,
  prefix?: string,
) => Selection

export interface Selection {
  readonly select: readonly Selected[]
  readonly picked: readonly Picked[]
  readonly cost: Cost
}

export type Nodes = readonly [FieldNode, ...FieldNode[]]

/** One field of the reply. `prefix` and `place`: of the object's keys in the answer and in the plan. */
export interface Asked {
  readonly key: string
  readonly nodes: Nodes
  readonly parent: GraphQLObjectType
  readonly definition: GraphQLField<unknown, unknown>
  readonly prefix: string
  readonly place: string | undefined
}

/** A field of the operation itself. */
export interface RootField {
  readonly key: string
  readonly nodes: Nodes
  readonly type: GraphQLObjectType
}

export function askedOf({ key, nodes, type }: RootField): Asked {
  const definition = type.getFields()[nodes[0].name.value]
  if (!definition) throw new Error(`${type.name} has no field ${nodes[0].name.value}`)
  return { key, nodes, parent: type, definition, prefix: '', place: undefined }
}

export function objectType({ ground }: Planning, { name }: Collection): GraphQLObjectType {
  const type = ground.schema.getType(ground.directory.typeOf.get(name) ?? '')
  if (!isObjectType(type)) throw new Error(`there is no type for ${name}`)
  return type
}

/** What is selected of an object of this type. */
export function subfields(
  { fragments, variables }: Planning,
  type: GraphQLObjectType,
  nodes: Nodes,
): FieldGroups {
  return collectFields(
    type,
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
