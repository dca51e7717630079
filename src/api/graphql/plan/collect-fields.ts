/** Expands the fragments of selections, and merges fields with the same response key (GraphQL 6.3.2). */
import {
  type FieldNode,
  GraphQLBoolean,
  GraphQLNonNull,
  type GraphQLObjectType,
  Kind,
  type NamedTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  type VariableNode,
} from 'graphql'
import type { Fragments } from '../documents/fragments.ts'
import { refuseNull, type Variables } from './input.ts'

/** The type of the argument of `@skip` and `@include`. */
const conditionType = new GraphQLNonNull(GraphQLBoolean)

/** The fields of one object in order, by response key; each with all the nodes that select it. */
export type FieldGroups = ReadonlyMap<string, readonly [FieldNode, ...FieldNode[]]>

export function collectFields(
  type: GraphQLObjectType,
  sets: readonly (SelectionSetNode | undefined)[],
  fragments: Fragments,
  variables: Variables,
): FieldGroups {
  const groups = new Map<string, [FieldNode, ...FieldNode[]]>()
  const visited = new Set<string>()
  const collect = (set: SelectionSetNode | undefined): void => {
    for (const node of set?.selections ?? []) {
      if (!isIncluded(node, variables)) continue
      if (node.kind === Kind.INLINE_FRAGMENT) {
        if (matchesType(node.typeCondition, type)) collect(node.selectionSet)
      } else if (node.kind === Kind.FIELD) {
        const key = (node.alias ?? node.name).value
        const group = groups.get(key)
        if (group) group.push(node)
        else groups.set(key, [node])
      } else if (!visited.has(node.name.value)) {
        visited.add(node.name.value)
        const fragment = fragments.get(node.name.value)
        if (fragment && matchesType(fragment.typeCondition, type)) collect(fragment.selectionSet)
      }
    }
  }
  for (const set of sets) collect(set)
  return groups
}

function matchesType(condition: NamedTypeNode | undefined, type: GraphQLObjectType): boolean {
  const name = condition?.name.value
  return name === undefined || name === type.name || type.getInterfaces().some(parent => parent.name === name)
}

/** Throws a `GraphQLError` for a condition that is null. */
function isIncluded(node: SelectionNode, variables: Variables): boolean {
  for (const { name, arguments: nodes = [] } of node.directives ?? []) {
    const value = nodes.find(argument => argument.name.value === 'if')?.value
    if (!value) continue
    const condition =
      value.kind === Kind.VARIABLE
        ? readVariable(value, variables)
        : value.kind === Kind.BOOLEAN && value.value
    if (name.value === 'skip' ? condition === true : name.value === 'include' && condition !== true)
      return false
  }
  return true
}

function readVariable(node: VariableNode, variables: Variables): unknown {
  refuseNull(node, conditionType, variables)
  return variables.coerced[node.name.value]
}
