/**
 * The limits of a document, checked on the syntax tree alone, before validation. The time is proportional to the size of
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
  /** In points (see `BoundOperation.cost`). */
  readonly cost: number
  readonly aliases: number
  readonly tokens: number
  /** The most items of one list. */
  readonly listBound: number
}

export const defaultDocumentLimits: Limits = {
  depth: 12,
  cost: 5000,
  aliases: 30,
  tokens: 2000,
  listBound: 100,
}

/** Fields and spreads of a document with its fragments expanded. Validation visits all of them. */
const maxFields = 5000
/** Directives of one operation. */
const maxDirectives = 200
/** Bounds the length of names and strings, which also take time. */
const charactersPerToken = 50
/** Nested lists of an introspection: each level multiplies the size of the reply. */
const maxIntrospectionLists = 1

/** Levels of lists and objects in an argument's value: as many as a JSON field allows. */
const maxNesting = 64

const introspectionLists = new Set(['fields', 'inputFields', 'interfaces', 'possibleTypes'])

/** Counts of a selection with its fragments expanded. They stop growing at `countCap`. */
interface SelectionMeasure {
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
const noMeasure: SelectionMeasure = {
  depth: 0,
  aliases: 0,
  fields: 0,
  directives: 0,
  lists: 0,
  introspection: 0,
}

function combine(a: SelectionMeasure, b: SelectionMeasure): SelectionMeasure {
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
  let total = noMeasure
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue
    const measure = meter.operation(node)
    refuseBeyond(measure, limits, node)
    total = combine(total, measure)
  }
  for (const name of fragments.keys()) meter.fragment(name)
  refuseTooManyFields(total.fields)
}

function refuseBeyond(
  measure: SelectionMeasure,
  { depth, aliases }: Limits,
  node: OperationDefinitionNode,
): void {
  const refuse = (noun: string, count: number, bound: number) => {
    if (count <= bound) return
    throw badRequest(`The operation has ${countText(count)} ${noun}; at most ${bound} are allowed.`, node)
  }
  refuse('levels of depth', measure.depth, depth)
  refuse('aliases', measure.aliases, aliases)
  refuse('directives', measure.directives, maxDirectives)
  refuse('nested lists of an introspection', measure.introspection, maxIntrospectionLists)
}

function refuseTooManyFields(count: number): void {
  if (count <= maxFields) return
  const message = `With its fragments expanded, the document selects ${countText(count)} fields; at most ${maxFields} are allowed.`
  throw badRequest(message)
}

/** Counts are exact below `countCap`. */
function countText(count: number): string {
  return count >= countCap ? `more than ${countCap}` : String(count)
}

class Meter {
  readonly #fragments: Fragments
  readonly #measured = new Map<string, SelectionMeasure>()
  /** The fragments that are being measured, outermost first. */
  readonly #open: string[] = []

  constructor(fragments: Fragments) {
    this.#fragments = fragments
  }

  operation({
    selectionSet,
    directives = [],
    variableDefinitions = [],
  }: OperationDefinitionNode): SelectionMeasure {
    for (const { defaultValue } of variableDefinitions) if (defaultValue) checkNesting(defaultValue)
    return combine(this.#set(selectionSet), { ...noMeasure, directives: directives.length })
  }

  fragment(name: string): SelectionMeasure {
    const measured = this.#measured.get(name)
    if (measured) return measured
    const node = this.#fragments.get(name)
    if (!node) return noMeasure
    if (this.#open.includes(name)) throw cycleError(name, this.#open, node)
    this.#open.push(name)
    const measure = this.#set(node.selectionSet)
    this.#open.pop()
    this.#measured.set(name, measure)
    return measure
  }

  #set({ selections }: SelectionSetNode): SelectionMeasure {
    return selections.map(node => this.#selection(node)).reduce(combine, noMeasure)
  }

  #selection(node: SelectionNode): SelectionMeasure {
    const ownMeasure = { ...noMeasure, directives: node.directives?.length ?? 0 }
    if (node.kind === Kind.FRAGMENT_SPREAD)
      return combine(this.fragment(node.name.value), { ...ownMeasure, fields: 1 })
    if (node.kind === Kind.INLINE_FRAGMENT) return combine(this.#set(node.selectionSet), ownMeasure)
    for (const { value } of node.arguments ?? []) checkNesting(value)
    const innerMeasure = node.selectionSet ? this.#set(node.selectionSet) : noMeasure
    const name = node.name.value
    const isIntrospection = name.startsWith('__')
    return {
      depth: isIntrospection ? 1 : innerMeasure.depth + 1,
      aliases: Math.min(countCap, innerMeasure.aliases + (node.alias ? 1 : 0)),
      fields: Math.min(countCap, innerMeasure.fields + 1),
      directives: Math.min(countCap, innerMeasure.directives + ownMeasure.directives),
      lists: innerMeasure.lists + (introspectionLists.has(name) ? 1 : 0),
      introspection: isIntrospection ? innerMeasure.lists : innerMeasure.introspection,
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

function cycleError(name: string, open: readonly string[], node: FragmentDefinitionNode): GraphQLError {
  const others = open.slice(open.indexOf(name) + 1)
  const via = others.length === 0 ? '' : ` via ${others.map(fragment => `"${fragment}"`).join(', ')}`
  return badRequest(`The fragment "${name}" is spread within itself${via}.`, node)
}
