/** A field as an operation requests it: its nodes, its arguments, and its selection. */
import { type GraphQLField, type GraphQLObjectType, isObjectType } from 'graphql'
import type { Collection } from '../../model/model.ts'
import { collectFields, type FieldGroups } from './collect-fields.ts'
import { type Input, inputOf } from './input.ts'
import type { Nodes, PlanContext } from './plan-context.ts'
import { type ReplyField, within } from './reply-fields.ts'

/** `prefix`: of the object's keys in the answer. `place`: of the object in the plan. */
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

export function requestOf({ key, nodes, type }: RootField): FieldRequest {
  const definition = type.getFields()[nodes[0].name.value]
  if (!definition) throw new Error(`${type.name} has no field ${nodes[0].name.value}`)
  return { key, nodes, parent: type, definition, prefix: '', place: undefined }
}

export function objectType({ schema, directory }: PlanContext, { name }: Collection): GraphQLObjectType {
  const type = schema.getType(directory.typeOf.get(name) ?? '')
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

/** What the reply fields of every kind have. */
export function replyFieldBase({ key, nodes, parent, definition, prefix, place }: FieldRequest) {
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

export function typenameField(key: string, nodes: Nodes, parent: GraphQLObjectType): ReplyField {
  const name = `${parent.name}.__typename`
  return { key, source: key, at: undefined, nonNull: true, name, nodes, kind: 'constant', value: parent.name }
}

/** The given arguments of a field, by name. */
export function argumentsOf(
  { variables }: PlanContext,
  { nodes, definition }: FieldRequest,
): Map<string, Input> {
  const found = new Map<string, Input>()
  for (const node of nodes[0].arguments ?? []) {
    const argument = definition.args.find(each => each.name === node.name.value)
    const input = argument && inputOf(node.value, argument.type, variables)
    if (input) found.set(node.name.value, input)
  }
  return found
}
