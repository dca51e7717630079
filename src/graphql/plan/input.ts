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

/** Reads a value from the variables of one request. A literal gives its own value. */
export type Read = (variables: Variables) => unknown

/** A given argument. `node`: where it stands in the document. */
export type Input = { readonly node: ValueNode } & (
  | { readonly kind: 'null' }
  | { readonly kind: 'leaf'; readonly read: Read }
  | { readonly kind: 'list'; readonly items: readonly Input[]; readonly read: Read }
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, Input> }
)

export const noVariables: Variables = { sources: Object.create(null), coerced: Object.create(null) }

/** The input of an argument in a valid document; undefined when no value is given. Throws a `GraphQLError` for a forbidden null. */
export function inputOf(node: ValueNode, type: GraphQLInputType, variables: Variables): Input | undefined {
  if (node.kind === Kind.VARIABLE) {
    const name = node.name.value
    if (isNonNullType(type)) refuseNull(node, type, variables)
    return symbolic(variables.coerced[name], type, ({ coerced }) => coerced[name], node)
  }
  if (isNonNullType(type)) return inputOf(node, type.ofType, variables)
  if (node.kind === Kind.NULL) return { kind: 'null', node }
  if (isListType(type)) return listInput(node, type.ofType, variables)
  if (isInputObjectType(type)) return objectInput(node, type, variables)
  if (!holdsVariable(node)) {
    const value = coerceInputLiteral(node, type)
    return { kind: 'leaf', read: () => value, node }
  }
  return { kind: 'leaf', read: current => coerceInputLiteral(node, type, current), node }
}

/** A nullable variable with a default is allowed in a non-null position, where its value may still be null (GraphQL 6.4.1). */
export function refuseNull(node: VariableNode, type: GraphQLInputType, { coerced }: Variables): void {
  if (coerced[node.name.value] !== null) return
  const message = `The variable "$${node.name.value}" is null, where a value of type "${type}" must be.`
  throw badRequest(message, node)
}

function itemsOf(node: ValueNode, type: GraphQLInputType, variables: Variables): readonly Input[] {
  const nodes = node.kind === Kind.LIST ? node.values : [node]
  return nodes.map((each): Input => inputOf(each, type, variables) ?? { kind: 'null', node: each })
}

function listInput(node: ValueNode, type: GraphQLInputType, variables: Variables): Input {
  // In a function of its own: all closures of a function share one context, so `read` would retain `variables`.
  const items = itemsOf(node, type, variables)
  return { kind: 'list', items, read: current => items.map(item => readInput(item, current)), node }
}

/** In the order of the type's fields, as graphql-js coerces them: equal inputs then give equal plans. */
function objectInput(node: ValueNode, type: GraphQLInputObjectType, variables: Variables): Input {
  const fields = new Map<string, Input>()
  const given = node.kind === Kind.OBJECT ? node.fields : []
  for (const [key, field] of Object.entries(type.getFields())) {
    const value = given.find(({ name }) => name.value === key)?.value
    const input = value && inputOf(value, field.type, variables)
    if (input) fields.set(key, input)
  }
  return { kind: 'object', fields, node }
}

/** A JSON literal may contain variables at any depth. */
function holdsVariable(node: ValueNode): boolean {
  if (node.kind === Kind.VARIABLE) return true
  if (node.kind === Kind.LIST) return node.values.some(holdsVariable)
  return node.kind === Kind.OBJECT && node.fields.some(({ value }) => holdsVariable(value))
}

function symbolic(value: unknown, type: GraphQLInputType, read: Read, node: ValueNode): Input | undefined {
  if (value === undefined) return undefined
  if (isNonNullType(type)) return symbolic(value, type.ofType, read, node)
  if (value === null) return { kind: 'null', node }
  if (isListType(type)) {
    // A single value stands for a list of one (GraphQL 3.12).
    const whole: Read = Array.isArray(value) ? read : variables => [read(variables)]
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    const items = values.map(
      (item, index): Input =>
        symbolic(item, type.ofType, variables => element(whole(variables), index), node) ?? {
          kind: 'null',
          node,
        },
    )
    return { kind: 'list', items, read: whole, node }
  }
  if (!isInputObjectType(type)) return { kind: 'leaf', read, node }
  const fields = new Map<string, Input>()
  for (const [key, field] of Object.entries(type.getFields())) {
    const part: Read = variables => member(read(variables), key)
    const input = symbolic(member(value, key), field.type, part, node)
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

/** The types that node ids may name. */
type NodeTypes = ReadonlyMap<string, unknown>

/**
 * Equal for values of a type that lead to the same plan. The structure includes values that decide a plan's shape:
 * enums, booleans, and the types that node ids name.
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

/** An unknown node type is no structure of its own: clients could name any number of them. */
function leafStructure(value: unknown, type: GraphQLInputType, nodes: NodeTypes): string {
  if (typeof value === 'boolean') return String(value)
  const nodeType = type === GraphQLID ? typeOfNode(value) : undefined
  return nodeType !== undefined && nodes.has(nodeType) ? `:${nodeType}` : '.'
}

function listStructure(value: unknown, type: GraphQLInputType, nodes: NodeTypes): string {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  const inner = isNonNullType(type) ? type.ofType : type
  const isWhole = !isListType(inner) && !isInputObjectType(inner) && !isEnumType(inner)
  return isWhole ? '[.]' : `[${items.map(item => structureOf(item, type, nodes)).join()}]`
}
