/**
 * Arguments as trees of inputs. The structure of the tree decides the shape of the plan, and its leaves are the plan's
 * arguments. So one plan serves all requests whose variables have the same structure.
 */

import type { getVariableValues } from 'graphql'
import {
  coerceInputLiteral,
  GraphQLID,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  type ValueNode,
  type VariableNode,
} from 'graphql'
import { badRequest } from '../bad-request.ts'
import { typeOfNode } from '../schema/node-id.ts'

export type Variables = NonNullable<ReturnType<typeof getVariableValues>['variableValues']>

/** Reads a value from the variables of one request. For a literal, it returns the literal's value. */
export type ReadValue = (variables: Variables) => unknown

/** The value of an argument. `node`: its location in the document. */
export type Input = { readonly node: ValueNode } & (
  | { readonly kind: 'null' }
  | { readonly kind: 'leaf'; readonly read: ReadValue }
  | { readonly kind: 'list'; readonly items: readonly Input[]; readonly read: ReadValue }
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, Input> }
)

export const noVariables: Variables = { sources: Object.create(null), coerced: Object.create(null) }

/** The input of an argument in a valid document; undefined when no value is given. Throws a `GraphQLError` for a forbidden null. */
export function inputOf(node: ValueNode, type: GraphQLInputType, variables: Variables): Input | undefined {
  if (node.kind === Kind.VARIABLE) {
    const name = node.name.value
    if (isNonNullType(type)) refuseNull(node, type, variables)
    return variableInput(variables.coerced[name], type, ({ coerced }) => coerced[name], node)
  }
  if (isNonNullType(type)) return inputOf(node, type.ofType, variables)
  if (node.kind === Kind.NULL) return { kind: 'null', node }
  if (isListType(type)) return listInput(node, type.ofType, variables)
  if (isInputObjectType(type)) return objectInput(node, type, variables)
  if (!containsVariable(node)) {
    const value = coerceInputLiteral(node, type)
    return { kind: 'leaf', read: () => value, node }
  }
  return { kind: 'leaf', read: current => coerceInputLiteral(node, type, current), node }
}

/** A nullable variable with a default is allowed in a non-null position, where its value may still be null (GraphQL 6.4.1). */
export function refuseNull(node: VariableNode, type: GraphQLInputType, { coerced }: Variables): void {
  if (coerced[node.name.value] !== null) return
  const message = `The variable "$${node.name.value}" must not be null: a value of type "${type}" is required.`
  throw badRequest(message, node)
}

function itemsOf(node: ValueNode, type: GraphQLInputType, variables: Variables): readonly Input[] {
  const nodes = node.kind === Kind.LIST ? node.values : [node]
  return nodes.map((item): Input => inputOf(item, type, variables) ?? { kind: 'null', node: item })
}

function listInput(node: ValueNode, type: GraphQLInputType, variables: Variables): Input {
  // In a function of its own: all closures of a function share one context, so `read` would retain `variables`.
  const items = itemsOf(node, type, variables)
  return { kind: 'list', items, read: current => items.map(item => readInput(item, current)), node }
}

/** In the order of the type's fields, as graphql-js coerces them: equal inputs then give equal plans. */
function objectInput(node: ValueNode, type: GraphQLInputObjectType, variables: Variables): Input {
  const fields = new Map<string, Input>()
  const fieldNodes = node.kind === Kind.OBJECT ? node.fields : []
  for (const [key, field] of Object.entries(type.getFields())) {
    const value = fieldNodes.find(({ name }) => name.value === key)?.value
    const input = value && inputOf(value, field.type, variables)
    if (input) fields.set(key, input)
  }
  return { kind: 'object', fields, node }
}

/** A JSON literal may contain variables at any depth. */
function containsVariable(node: ValueNode): boolean {
  if (node.kind === Kind.VARIABLE) return true
  if (node.kind === Kind.LIST) return node.values.some(containsVariable)
  return node.kind === Kind.OBJECT && node.fields.some(({ value }) => containsVariable(value))
}

function variableInput(
  value: unknown,
  type: GraphQLInputType,
  read: ReadValue,
  node: ValueNode,
): Input | undefined {
  if (value === undefined) return undefined
  if (isNonNullType(type)) return variableInput(value, type.ofType, read, node)
  if (value === null) return { kind: 'null', node }
  if (isListType(type)) {
    // A single value stands for a list of one (GraphQL 3.12).
    const readList: ReadValue = Array.isArray(value) ? read : variables => [read(variables)]
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    const items = values.map(
      (item, index): Input =>
        variableInput(item, type.ofType, variables => element(readList(variables), index), node) ?? {
          kind: 'null',
          node,
        },
    )
    return { kind: 'list', items, read: readList, node }
  }
  if (!isInputObjectType(type)) return { kind: 'leaf', read, node }
  const fields = new Map<string, Input>()
  for (const [key, field] of Object.entries(type.getFields())) {
    const readMember: ReadValue = variables => member(read(variables), key)
    const input = variableInput(member(value, key), field.type, readMember, node)
    if (input) fields.set(key, input)
  }
  return { kind: 'object', fields, node }
}

function element(value: unknown, index: number): unknown {
  return Array.isArray(value) ? value[index] : undefined
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined
}

export function readInput(input: Input, variables: Variables): unknown {
  if (input.kind === 'null') return null
  if (input.kind !== 'object') return input.read(variables)
  return Object.fromEntries([...input.fields].map(([key, field]) => [key, readInput(field, variables)]))
}

/** The types that node ids can contain. */
type NodeTypes = ReadonlyMap<string, unknown>

/**
 * Equal for values of a type that lead to the same plan. The structure includes values that decide a plan's shape:
 * enums, booleans, and the types in node ids.
 */
export function structureOf(value: unknown, type: GraphQLInputType, nodes: NodeTypes): string {
  if (value === undefined) return '_'
  if (value === null) return 'n'
  if (isNonNullType(type)) return structureOf(value, type.ofType, nodes)
  if (isListType(type)) return listStructure(value, type.ofType, nodes)
  if (isEnumType(type)) return JSON.stringify(value)
  if (!isInputObjectType(type)) return leafStructure(value, type, nodes)
  const fields = Object.entries(type.getFields()).flatMap(([key, field]) => {
    const part = member(value, key)
    return part === undefined ? [] : [`${key}:${structureOf(part, field.type, nodes)}`]
  })
  return `{${fields.join()}}`
}

/** Unknown node types share one structure: clients could invent any number of them. */
function leafStructure(value: unknown, type: GraphQLInputType, nodes: NodeTypes): string {
  if (typeof value === 'boolean') return String(value)
  const nodeType = type === GraphQLID ? typeOfNode(value) : undefined
  return nodeType !== undefined && nodes.has(nodeType) ? `:${nodeType}` : '.'
}

function listStructure(value: unknown, type: GraphQLInputType, nodes: NodeTypes): string {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  const inner = isNonNullType(type) ? type.ofType : type
  const isUniform = !isListType(inner) && !isInputObjectType(inner) && !isEnumType(inner)
  return isUniform ? '[.]' : `[${items.map(item => structureOf(item, type, nodes)).join()}]`
}
