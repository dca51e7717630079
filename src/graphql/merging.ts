/**
 * Whether fields with one response key are the same (GraphQL 5.3.2). Every field is compared with the first of its
 * kind only, so this takes time in proportion to the fields, where the rule of graphql-js compares all pairs.
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
import type { Fragments } from './fields.ts'

type Parent = GraphQLObjectType | GraphQLInterfaceType

/** A field where it is asked for, and the type that it is asked of. */
interface Asked {
  readonly node: FieldNode
  readonly parent: Parent
}

interface Selecting {
  readonly set: SelectionSetNode
  readonly parent: Parent
}

type Group = readonly [Asked, ...Asked[]]

/** Throws when two fields of a valid document's operation cannot be merged. */
export function checkMerging(
  schema: GraphQLSchema,
  root: GraphQLObjectType,
  set: SelectionSetNode,
  fragments: Fragments,
): void {
  new Merging(schema, fragments).check([{ set, parent: root }])
}

class Merging {
  readonly #schema: GraphQLSchema
  readonly #fragments: Fragments

  constructor(schema: GraphQLSchema, fragments: Fragments) {
    this.#schema = schema
    this.#fragments = fragments
  }

  check(sets: readonly Selecting[]): void {
    for (const [key, group] of this.#groups(sets)) {
      const kinds = byParent(group)
      for (const same of kinds) this.#mustEqual(key, same)
      if (kinds.length > 1) this.#mustLookAlike(key, group)
    }
  }

  /** They may be asked of one object. */
  #mustEqual(key: string, group: Group): void {
    const [first, ...others] = group
    if (others.length > 0) {
      const wanted = argumentsOf(first)
      const other = others.find(
        each => each.node.name.value !== first.node.name.value || argumentsOf(each) !== wanted,
      )
      if (other) throw conflict(key, first, other, difference(first, other))
    }
    this.check(this.#selecting(group))
  }

  /** They are never asked of one object, but whoever reads the reply may not know which it is. */
  #mustLookAlike(key: string, group: Group): void {
    // As graphql-js has it, `__typename` may stand beside anything.
    const [first, ...others] = group.filter(({ node }) => node.name.value !== '__typename')
    if (!first) return
    const type = this.#typeOf(first)
    const other = others.find(each => !isAlike(type, this.#typeOf(each)))
    if (other) {
      throw conflict(
        key,
        first,
        other,
        `they return conflicting types "${type}" and "${this.#typeOf(other)}"`,
      )
    }
    for (const [inner, parts] of this.#groups(this.#selecting(group))) this.#mustLookAlike(inner, parts)
  }

  #selecting(group: Group): readonly Selecting[] {
    return group.flatMap(asked => {
      const set = asked.node.selectionSet
      const parent = set && getNamedType(this.#typeOf(asked))
      return isObjectType(parent) || isInterfaceType(parent) ? [{ set: set as SelectionSetNode, parent }] : []
    })
  }

  #typeOf({ node, parent }: Asked): GraphQLOutputType {
    const field = this.#schema.getField(parent, node.name.value)
    if (!field) throw new Error(`${parent.name} has no field ${node.name.value}`)
    return field.type
  }

  /** By response key, whatever `@skip` and `@include` say. */
  #groups(sets: readonly Selecting[]): ReadonlyMap<string, Group> {
    const groups = new Map<string, [Asked, ...Asked[]]>()
    const visited = new Set<string>()
    const collect = (set: SelectionSetNode, parent: Parent): void => {
      for (const node of set.selections) {
        if (node.kind === Kind.FIELD) {
          const key = (node.alias ?? node.name).value
          const group = groups.get(key)
          if (group) group.push({ node, parent })
          else groups.set(key, [{ node, parent }])
        } else if (node.kind === Kind.INLINE_FRAGMENT) {
          collect(node.selectionSet, this.#conditioned(node.typeCondition?.name.value, parent))
        } else if (!visited.has(node.name.value)) {
          visited.add(node.name.value)
          const fragment = this.#fragments.get(node.name.value)
          if (fragment) {
            collect(fragment.selectionSet, this.#conditioned(fragment.typeCondition.name.value, parent))
          }
        }
      }
    }
    for (const { set, parent } of sets) collect(set, parent)
    return groups
  }

  #conditioned(condition: string | undefined, parent: Parent): Parent {
    const type =
      condition === undefined || condition === parent.name ? parent : this.#schema.getType(condition)
    return isObjectType(type) || isInterfaceType(type) ? type : parent
  }
}

/** Those that may be asked of one object. Of an interface's fields any object may be asked. */
function byParent(group: Group): readonly Group[] {
  const [first] = group
  if (group.every(({ parent }) => parent === first.parent)) return [group]
  const shared = group.filter(({ parent }) => isInterfaceType(parent))
  const kinds = new Map<Parent, [Asked, ...Asked[]]>()
  for (const asked of group) {
    if (isInterfaceType(asked.parent)) continue
    const kind = kinds.get(asked.parent)
    if (kind) kind.push(asked)
    else {
      const [one = asked, ...others] = shared
      kinds.set(asked.parent, one === asked ? [asked] : [one, ...others, asked])
    }
  }
  return [...kinds.values()]
}

function isAlike(a: GraphQLOutputType, b: GraphQLOutputType): boolean {
  if (isNonNullType(a)) return isNonNullType(b) && isAlike(a.ofType, b.ofType)
  if (isNonNullType(b)) return false
  if (isListType(a)) return isListType(b) && isAlike(a.ofType, b.ofType)
  if (isListType(b)) return false
  return isLeafType(a) || isLeafType(b) ? a === b : true
}

function argumentsOf({ node: { arguments: given = [] } }: Asked): string {
  if (given.length === 0) return ''
  return membersOf(given)
}

/** Their order says nothing, in an object's value neither. */
function membersOf(members: readonly (ArgumentNode | ObjectFieldNode)[]): string {
  return members
    .map(({ name, value }) => `${name.value}:${textOf(value)}`)
    .sort()
    .join()
}

function textOf(value: ValueNode): string {
  if (value.kind === Kind.OBJECT) return `{${membersOf(value.fields)}}`
  return value.kind === Kind.LIST ? `[${value.values.map(textOf)}]` : print(value)
}

function difference({ node: a }: Asked, { node: b }: Asked): string {
  return a.name.value === b.name.value
    ? 'they have differing arguments'
    : `"${a.name.value}" and "${b.name.value}" are different fields`
}

function conflict(key: string, { node: first }: Asked, { node: other }: Asked, reason: string): GraphQLError {
  const message = `Fields "${key}" conflict because ${reason}. Use different aliases on the fields to fetch both if this was intentional.`
  return new GraphQLError(message, { nodes: [first, other] })
}
