/** A field as an operation requests it: its nodes, its arguments, and its selection. */
import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isObjectType,
} from 'graphql'
import type { Collection } from '../../../model/model.ts'
import { collectFields, type FieldGroups } from './collect-fields.ts'
import { type Input, inputOf } from './input.ts'
import type { Nodes, PlanContext } from './plan-context.ts'
import { placeWithin, type ReplyField } from './reply-fields.ts'

/** `prefix`: the prefix of the object's keys in the answer. `place`: the place of the object in the plan. */
export interface FieldRequest {
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

export function fieldRequestOf({ key, nodes, type }: RootField): FieldRequest {
  const definition = type.getFields()[nodes[0].name.value]
  if (!definition) throw new Error(`${type.name} has no field ${nodes[0].name.value}`)
  return { key, nodes, parent: type, definition, prefix: '', place: undefined }
}

export function objectType({ schema, directory }: PlanContext, { name }: Collection): GraphQLObjectType {
  const type = schema.getType(directory.typeNames.get(name) ?? '')
  if (!isObjectType(type)) throw new Error(`there is no type for ${name}`)
  return type
}

/** The fields that the nodes select of an object of this type. */
export function subfields(
  { fragments, variables }: PlanContext,
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

/** The reply fields of an object that is not an item. `plan` makes all but `__typename`. */
export function planMembers(
  context: PlanContext,
  { definition, nodes }: FieldRequest,
  plan: (member: FieldRequest) => ReplyField,
): ReplyField[] {
  const type: GraphQLNamedType = getNamedType(definition.type)
  if (!isObjectType(type)) throw new Error(`${type.name} is not an object type`)
  return [...subfields(context, type, nodes)].map(([key, memberNodes]) =>
    memberNodes[0].name.value === '__typename'
      ? typenameField(key, memberNodes, type)
      : plan(fieldRequestOf({ key, nodes: memberNodes, type })),
  )
}

/** The properties that reply fields of every kind have. */
export function replyFieldBase({ key, nodes, parent, definition, prefix, place }: FieldRequest) {
  const source = prefix + key
  return {
    key,
    source,
    place: placeWithin(place, source),
    nonNull: String(definition.type).endsWith('!'),
    name: `${parent.name}.${definition.name}`,
    nodes,
  }
}

export function typenameField(key: string, nodes: Nodes, parent: GraphQLObjectType): ReplyField {
  const name = `${parent.name}.__typename`
  return {
    key,
    source: key,
    place: undefined,
    nonNull: true,
    name,
    nodes,
    kind: 'constant',
    value: parent.name,
  }
}

/** The arguments that the field was given, by name. */
export function argumentsOf(
  { variables }: PlanContext,
  { nodes, definition }: FieldRequest,
): Map<string, Input> {
  const inputs = new Map<string, Input>()
  for (const node of nodes[0].arguments ?? []) {
    const argument = definition.args.find(({ name }) => name === node.name.value)
    const input = argument && inputOf(node.value, argument.type, variables)
    if (input) inputs.set(node.name.value, input)
  }
  return inputs
}
