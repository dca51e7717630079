/**
 * The limits of a document, checked before validation and on the syntax tree alone. This takes time in proportion to
 * the document: each fragment is measured once, however often it is spread.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import { badRequest } from '../bad-request.ts'
import { type Fragments, fragmentsOf } from '../documents/fragments.ts'

export interface Limits {
  /** Levels of fields; the operation's own fields are level 1. Introspection does not count. */
  readonly depth: number
  /** In points (see `Bound.cost`). */
  readonly cost: number
  readonly aliases: number
  readonly tokens: number
  /** The most items of one list. */
  readonly listBound: number
}

export const defaultLimits: Limits = { depth: 12, cost: 5000, aliases: 30, tokens: 2000, listBound: 100 }

/** Fields and spreads of a document with its fragments expanded: validation visits them all. */
const maxFields = 5000
/** Directives of one operation. */
const maxDirectives = 200
/** Bounds long names and strings, which take time too. */
const charactersPerToken = 50
/** Nested lists of an introspection: each level multiplies the size of the reply. */
const maxIntrospectionLists = 1

/** Levels of lists and objects in an argument's value. A JSON field allows as many. */
const maxNesting = 64

const introspectionLists = new Set(['fields', 'inputFields', 'interfaces', 'possibleTypes'])

/** Counts of a selection with its fragments expanded. They stop growing at `countCap`. */
interface Measure {
  readonly depth: number
  readonly aliases: number
  readonly fields: number
  readonly directives: number
  /** Nested fields with the names of introspection's lists. */
  readonly lists: number
  /** The same within `__schema` and `__type`. */
  readonly introspection: number
}

const countCap = 1_000_000
const nothing: Measure = { depth: 0, aliases: 0, fields: 0, directives: 0, lists: 0, introspection: 0 }

function joined(a: Measure, b: Measure): Measure {
  return {
    depth: Math.max(a.depth, b.depth),
    aliases: Math.min(countCap, a.aliases + b.aliases),
    fields: Math.min(countCap, a.fields + b.fields),
    directives: Math.min(countCap, a.directives + b.directives),
    lists: Math.max(a.lists, b.lists),
    introspection: Math.max(a.introspection, b.introspection),
  }
}

/** Before the document is parsed. */
export function checkLength(source: string, { tokens }: Limits): void {
  const bound = tokens * charactersPerToken
  if (source.length <= bound) return
  throw badRequest(`The document has ${source.length} characters; at most ${bound} are allowed.`)
}

/** Throws a `GraphQLError` that states the count and its bound, or names the cycle. */
export function checkDocument(document: DocumentNode, limits: Limits): void {
  const fragments = fragmentsOf(document)
  const meter = new Meter(fragments)
  let all = nothing
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue
    const measure = meter.operation(node)
    refuseBeyond(measure, limits, node)
    all = joined(all, measure)
  }
  for (const name of fragments.keys()) meter.fragment(name)
  refuseTotal('selects', all.fields, maxFields, 'fields, its fragments written out')
}

function refuseBeyond(measure: Measure, { depth, aliases }: Limits, node: OperationDefinitionNode): void {
  const refuse = (what: string, figure: number, bound: number) => {
    if (figure <= bound) return
    const shown = figure >= countCap ? `more than ${countCap}` : figure
    throw badRequest(`The operation has ${shown} ${what}; at most ${bound} are allowed.`, node)
  }
  refuse('levels of depth', measure.depth, depth)
  refuse('aliases', measure.aliases, aliases)
  refuse('directives', measure.directives, maxDirectives)
  refuse('lists of an introspection within one another', measure.introspection, maxIntrospectionLists)
}

function refuseTotal(does: string, figure: number, bound: number, what: string): void {
  if (figure <= bound) return
  const shown = figure >= countCap ? `more than ${countCap}` : figure
  throw badRequest(`The document ${does} ${shown} ${what}; at most ${bound} are allowed.`)
}

class Meter {
  readonly #fragments: Fragments
  readonly #measured = new Map<string, Measure>()
  /** The fragments that are being measured, outermost first. */
  readonly #open: string[] = []

  constructor(fragments: Fragments) {
    this.#fragments = fragments
  }

  operation({ selectionSet, directives = [], variableDefinitions = [] }: OperationDefinitionNode): Measure {
    for (const { defaultValue } of variableDefinitions) if (defaultValue) checkNesting(defaultValue)
    return joined(this.#set(selectionSet), { ...nothing, directives: directives.length })
  }

  fragment(name: string): Measure {
    const known = this.#measured.get(name)
    if (known) return known
    const node = this.#fragments.get(name)
    if (!node) return nothing
    if (this.#open.includes(name)) throw cycle(name, this.#open, node)
    this.#open.push(name)
    const measure = this.#set(node.selectionSet)
    this.#open.pop()
    this.#measured.set(name, measure)
    return measure
  }

  #set({ selections }: SelectionSetNode): Measure {
    return selections.map(node => this.#selection(node)).reduce(joined, nothing)
  }

  #selection(node: SelectionNode): Measure {
    const own = { ...nothing, directives: node.directives?.length ?? 0 }
    if (node.kind === Kind.FRAGMENT_SPREAD)
      return joined(this.fragment(node.name.value), { ...own, fields: 1 })
    if (node.kind === Kind.INLINE_FRAGMENT) return joined(this.#set(node.selectionSet), own)
    for (const { value } of node.arguments ?? []) checkNesting(value)
    const inner = node.selectionSet ? this.#set(node.selectionSet) : nothing
    const name = node.name.value
    const isIntrospection = name.startsWith('__')
    return {
      depth: isIntrospection ? 1 : inner.depth + 1,
      aliases: Math.min(countCap, inner.aliases + (node.alias ? 1 : 0)),
      fields: Math.min(countCap, inner.fields + 1),
      directives: Math.min(countCap, inner.directives + own.directives),
      lists: inner.lists + (introspectionLists.has(name) ? 1 : 0),
      introspection: isIntrospection ? inner.lists : inner.introspection,
    }
  }
}

function checkNesting(value: ValueNode, depth = 1): void {
  if (depth > maxNesting) {
    throw badRequest(
      `A value is nested more than ${maxNesting} levels deep; at most ${maxNesting} are allowed.`,
      value,
    )
  }
  if (value.kind === Kind.LIST) for (const item of value.values) checkNesting(item, depth + 1)
  if (value.kind === Kind.OBJECT) for (const field of value.fields) checkNesting(field.value, depth + 1)
}

function cycle(name: string, open: readonly string[], node: FragmentDefinitionNode): GraphQLError {
  const way = open.slice(open.indexOf(name) + 1)
  const via = way.length === 0 ? '' : ` via ${way.map(each => `"${each}"`).join(', ')}`
  return badRequest(`The fragment "${name}" is spread within itself${via}.`, node)
}
