/** Selections with their fragments written out and equal response keys merged (GraphQL 6.3.2). */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  print,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'
import type { Variables } from './input.ts'

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

/** The fields of one object, by response key and in order; each with all the nodes that ask for it. */
export type FieldGroups = ReadonlyMap<string, readonly [FieldNode, ...FieldNode[]]>

export function fragmentsOf(document: DocumentNode): Fragments {
  const found = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) found.set(node.name.value, node)
  }
  return found
}

/**
 * Every object type is concrete and a valid document spreads a fragment only on its own type, so type
 * conditions always hold. `variables` undefined: whatever `@skip` and `@include` say.
 */
export function collectFields(
  sets: readonly (SelectionSetNode | undefined)[],
  fragments: Fragments,
  variables: Variables | undefined,
): FieldGroups {
  const groups = new Map<string, [FieldNode, ...FieldNode[]]>()
  const visited = new Set<string>()
  const collect = (set: SelectionSetNode | undefined): void => {
    for (const node of set?.selections ?? []) {
      if (variables && !isIncluded(node, variables)) continue
      if (node.kind === Kind.INLINE_FRAGMENT) collect(node.selectionSet)
      else if (node.kind === Kind.FIELD) {
        const key = (node.alias ?? node.name).value
        const group = groups.get(key)
        if (group) group.push(node)
        else groups.set(key, [node])
      } else if (!visited.has(node.name.value)) {
        visited.add(node.name.value)
        collect(fragments.get(node.name.value)?.selectionSet)
      }
    }
  }
  for (const set of sets) collect(set)
  return groups
}

export function isIncluded(node: SelectionNode, { coerced }: Variables): boolean {
  for (const { name, arguments: given = [] } of node.directives ?? []) {
    const value = given.find(each => each.name.value === 'if')?.value
    if (!value) continue
    const holds =
      value.kind === Kind.VARIABLE ? coerced[value.name.value] : value.kind === Kind.BOOLEAN && value.value
    if (name.value === 'skip' ? holds === true : name.value === 'include' && holds !== true) return false
  }
  return true
}

/**
 * Throws when two fields with one response key are not the same (GraphQL 5.3.2). As every type is concrete, it
 * is enough to compare all fields of a group with its first, which takes time in proportion to the fields.
 */
export function checkMerging(set: SelectionSetNode, fragments: Fragments): void {
  for (const [key, [first, ...others]] of collectFields([set], fragments, undefined)) {
    checkGroup(key, first, others, fragments)
  }
}

function checkGroup(key: string, first: FieldNode, others: readonly FieldNode[], fragments: Fragments): void {
  if (others.length > 0) {
    const wanted = argumentsOf(first)
    const other = others.find(node => node.name.value !== first.name.value || argumentsOf(node) !== wanted)
    if (other) throw conflict(key, first, other)
  }
  const sets = [first, ...others].map(node => node.selectionSet)
  if (sets.every(set => set === undefined)) return
  for (const [inner, [node, ...rest]] of collectFields(sets, fragments, undefined)) {
    checkGroup(inner, node, rest, fragments)
  }
}

function argumentsOf({ arguments: given = [] }: FieldNode): string {
  if (given.length === 0) return ''
  return given
    .map(node => print(node))
    .sort()
    .join()
}

function conflict(key: string, first: FieldNode, other: FieldNode): GraphQLError {
  const reason =
    first.name.value === other.name.value
      ? 'they have differing arguments'
      : `"${first.name.value}" and "${other.name.value}" are different fields`
  const message = `Fields "${key}" conflict because ${reason}. Use different aliases on the fields to fetch both if this was intentional.`
  return new GraphQLError(message, { nodes: [first, other] })
}
