/**
 * Field selection merging (GraphQL 5.3.2): fields with the same response key must be the same field. Each is compared
 * with the first one only, in time proportional to the fields; the rule of graphql-js compares all pairs.
 */
import {
  type ArgumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type ObjectFieldNode,
  print,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import type { Fragments } from './fragments.ts'

type Parent = GraphQLObjectType | GraphQLInterfaceType

/** A field node, and the type that it is selected on. */
interface FieldOccurrence {
  readonly node: FieldNode
  readonly parent: Parent
}

interface TypedSelectionSet {
  readonly set: SelectionSetNode
  readonly parent: Parent
}

type MergeGroup = readonly [FieldOccurrence, ...FieldOccurrence[]]

/** Throws when two fields of an otherwise valid operation cannot be merged. */
export function checkMerging(
  schema: GraphQLSchema,
  root: GraphQLObjectType,
  set: SelectionSetNode,
  fragments: Fragments,
): void {
  new MergeCheck(schema, fragments).check([{ set, parent: root }])
}

class MergeCheck {
  readonly #schema: GraphQLSchema
  readonly #fragments: Fragments

  constructor(schema: GraphQLSchema, fragments: Fragments) {
    this.#schema = schema
    this.#fragments = fragments
  }

  check(sets: readonly TypedSelectionSet[]): void {
    for (const [key, group] of this.#groups(sets)) {
      const kinds = byParent(group)
      for (const usesOnObject of kinds) this.#requireSameField(key, usesOnObject)
      if (kinds.length > 1) this.#requireSameShape(key, group)
    }
  }

  /** For fields that may be selected on the same object. */
  #requireSameField(key: string, group: MergeGroup): void {
    const [first, ...others] = group
    if (others.length > 0) {
      const firstArguments = argumentsKey(first)
      const other = others.find(
        use => use.node.name.value !== first.node.name.value || argumentsKey(use) !== firstArguments,
      )
      if (other) throw conflict(key, first, other, difference(first, other))
    }
    this.check(this.#selectionsOf(group))
  }

  /** For fields that are never selected on the same object: a reader of the reply may not know which object it has. */
  #requireSameShape(key: string, group: MergeGroup): void {
    // In graphql-js too, `__typename` conflicts with no other field.
    const [first, ...others] = group.filter(({ node }) => node.name.value !== '__typename')
    if (!first) return
    const type = this.#typeOf(first)
    const other = others.find(use => !hasSameShape(type, this.#typeOf(use)))
    if (other) {
      throw conflict(
        key,
        first,
        other,
        `they return conflicting types "${type}" and "${this.#typeOf(other)}"`,
      )
    }
    for (const [innerKey, innerGroup] of this.#groups(this.#selectionsOf(group))) {
      this.#requireSameShape(innerKey, innerGroup)
    }
  }

  #selectionsOf(group: MergeGroup): readonly TypedSelectionSet[] {
    return group.flatMap(use => {
      const set = use.node.selectionSet
      const parent = set && getNamedType(this.#typeOf(use))
      return isObjectType(parent) || isInterfaceType(parent) ? [{ set: set as SelectionSetNode, parent }] : []
    })
  }

  #typeOf({ node, parent }: FieldOccurrence): GraphQLOutputType {
    const field = this.#schema.getField(parent, node.name.value)
    if (!field) throw new Error(`${parent.name} has no field ${node.name.value}`)
    return field.type
  }

  /** By response key. `@skip` and `@include` do not matter (GraphQL 5.3.2). */
  #groups(sets: readonly TypedSelectionSet[]): ReadonlyMap<string, MergeGroup> {
    const groups = new Map<string, [FieldOccurrence, ...FieldOccurrence[]]>()
    const visited = new Set<string>()
    const collect = (set: SelectionSetNode, parent: Parent): void => {
      for (const node of set.selections) {
        if (node.kind === Kind.FIELD) {
          const key = (node.alias ?? node.name).value
          const group = groups.get(key)
          if (group) group.push({ node, parent })
          else groups.set(key, [{ node, parent }])
        } else if (node.kind === Kind.INLINE_FRAGMENT) {
          collect(node.selectionSet, this.#narrowed(node.typeCondition?.name.value, parent))
        } else if (!visited.has(node.name.value)) {
          visited.add(node.name.value)
          const fragment = this.#fragments.get(node.name.value)
          if (fragment) {
            collect(fragment.selectionSet, this.#narrowed(fragment.typeCondition.name.value, parent))
          }
        }
      }
    }
    for (const { set, parent } of sets) collect(set, parent)
    return groups
  }

  #narrowed(condition: string | undefined, parent: Parent): Parent {
    const type =
      condition === undefined || condition === parent.name ? parent : this.#schema.getType(condition)
    return isObjectType(type) || isInterfaceType(type) ? type : parent
  }
}

/** Groups of fields that may be selected on the same object. A field of an interface may be selected on any object. */
function byParent(group: MergeGroup): readonly MergeGroup[] {
  const [first] = group
  if (group.every(({ parent }) => parent === first.parent)) return [group]
  const shared = group.filter(({ parent }) => isInterfaceType(parent))
  const kinds = new Map<Parent, [FieldOccurrence, ...FieldOccurrence[]]>()
  for (const use of group) {
    if (isInterfaceType(use.parent)) continue
    const kind = kinds.get(use.parent)
    if (kind) kind.push(use)
    else {
      const [sharedUse = use, ...others] = shared
      kinds.set(use.parent, sharedUse === use ? [use] : [sharedUse, ...others, use])
    }
  }
  return [...kinds.values()]
}

function hasSameShape(a: GraphQLOutputType, b: GraphQLOutputType): boolean {
  if (isNonNullType(a)) return isNonNullType(b) && hasSameShape(a.ofType, b.ofType)
  if (isNonNullType(b)) return false
  if (isListType(a)) return isListType(b) && hasSameShape(a.ofType, b.ofType)
  if (isListType(b)) return false
  return isLeafType(a) || isLeafType(b) ? a === b : true
}

function argumentsKey({ node: { arguments: nodes = [] } }: FieldOccurrence): string {
  return membersKey(nodes)
}

/** The order of arguments, and of members of an object value, does not matter. */
function membersKey(members: readonly (ArgumentNode | ObjectFieldNode)[]): string {
  return members
    .map(({ name, value }) => `${name.value}:${valueKey(value)}`)
    .sort()
    .join()
}

function valueKey(value: ValueNode): string {
  if (value.kind === Kind.OBJECT) return `{${membersKey(value.fields)}}`
  return value.kind === Kind.LIST ? `[${value.values.map(valueKey)}]` : print(value)
}

function difference({ node: a }: FieldOccurrence, { node: b }: FieldOccurrence): string {
  return a.name.value === b.name.value
    ? 'they have differing arguments'
    : `"${a.name.value}" and "${b.name.value}" are different fields`
}

function conflict(
  key: string,
  { node: first }: FieldOccurrence,
  { node: other }: FieldOccurrence,
  reason: string,
): GraphQLError {
  const message = `Fields "${key}" conflict because ${reason}. Use different aliases on the fields to fetch both if this was intentional.`
  return new GraphQLError(message, { nodes: [first, other] })
}
