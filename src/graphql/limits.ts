/**
 * What a document may ask for, decided on the syntax tree alone and before validation, in time that is
 * linear in the document: every fragment is measured once, however often it is spread.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'

export interface Limits {
  /** Fields within fields; an operation's own fields are at depth 1. Introspection does not count. */
  readonly depth: number
  /** In points (see `Bound.cost`). */
  readonly cost: number
  readonly aliases: number
  readonly tokens: number
  /** The most items of one list. */
  readonly listBound: number
}

export const defaultLimits: Limits = { depth: 12, cost: 5000, aliases: 30, tokens: 2000, listBound: 100 }

/** Fields of a document when all its fragments are written out, each spread counted too: validation follows them all. */
const MAX_FIELDS = 5000
/** Directives of an operation. */
const MAX_DIRECTIVES = 200
/** Characters for each token that is allowed: long names and texts take time too. */
const CHARACTERS_PER_TOKEN = 50
/** Lists of fields within lists of fields of an introspection: each level multiplies what there is to tell. */
const MAX_INTROSPECTION_LISTS = 1

/** Levels of lists and objects in an argument's value. A JSON field takes no more. */
const MAX_NESTING = 64

const introspectionLists = new Set(['fields', 'inputFields', 'interfaces', 'possibleTypes'])

export function limitError(
  message: string,
  nodes?: ConstructorParameters<typeof GraphQLError>[1],
): GraphQLError {
  return new GraphQLError(message, { ...nodes, extensions: { code: 'BAD_REQUEST' } })
}

/** What a selection holds when its fragments are written out. Figures stop growing at `ENOUGH`. */
interface Measure {
  readonly depth: number
  readonly aliases: number
  readonly fields: number
  readonly directives: number
  /** Fields with the names of introspection's lists, one within another. */
  readonly lists: number
  /** Those within an introspection. */
  readonly introspection: number
}

const ENOUGH = 1_000_000
const nothing: Measure = { depth: 0, aliases: 0, fields: 0, directives: 0, lists: 0, introspection: 0 }

function joined(a: Measure, b: Measure): Measure {
  return {
    depth: Math.max(a.depth, b.depth),
    aliases: Math.min(ENOUGH, a.aliases + b.aliases),
    fields: Math.min(ENOUGH, a.fields + b.fields),
    directives: Math.min(ENOUGH, a.directives + b.directives),
    lists: Math.max(a.lists, b.lists),
    introspection: Math.max(a.introspection, b.introspection),
  }
}

/** Before anything is read of it. */
export function checkLength(source: string, { tokens }: Limits): void {
  const bound = tokens * CHARACTERS_PER_TOKEN
  if (source.length <= bound) return
  throw limitError(`The document has ${source.length} characters; at most ${bound} are allowed.`)
}

/** Throws a `GraphQLError` that states the figure and its bound, or names the cycle. */
export function checkDocument(document: DocumentNode, limits: Limits): void {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  }
  const meter = new Meter(fragments)
  let all = nothing
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue
    const measure = meter.operation(node)
    refuseBeyond(measure, limits, node)
    all = joined(all, measure)
  }
  for (const name of fragments.keys()) meter.fragment(name)
  refuseTotal('selects', all.fields, MAX_FIELDS, 'fields, its fragments written out')
}

function refuseBeyond(measure: Measure, { depth, aliases }: Limits, node: OperationDefinitionNode): void {
  const refuse = (what: string, figure: number, bound: number) => {
    if (figure <= bound) return
    const shown = figure >= ENOUGH ? `more than ${ENOUGH}` : figure
    throw limitError(`The operation has ${shown} ${what}; at most ${bound} are allowed.`, { nodes: node })
  }
  refuse('levels of depth', measure.depth, depth)
  refuse('aliases', measure.aliases, aliases)
  refuse('directives', measure.directives, MAX_DIRECTIVES)
  refuse('lists of an introspection within one another', measure.introspection, MAX_INTROSPECTION_LISTS)
}

function refuseTotal(does: string, figure: number, bound: number, what: string): void {
  if (figure <= bound) return
  const shown = figure >= ENOUGH ? `more than ${ENOUGH}` : figure
  throw limitError(`The document ${does} ${shown} ${what}; at most ${bound} are allowed.`)
}

class Meter {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>
  readonly #measured = new Map<string, Measure>()
  /** The fragments whose measuring has begun, in order. */
  readonly #open: string[] = []

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
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
      aliases: Math.min(ENOUGH, inner.aliases + (node.alias ? 1 : 0)),
      fields: Math.min(ENOUGH, inner.fields + 1),
      directives: Math.min(ENOUGH, inner.directives + own.directives),
      lists: inner.lists + (introspectionLists.has(name) ? 1 : 0),
      introspection: isIntrospection ? inner.lists : inner.introspection,
    }
  }
}

function checkNesting(value: ValueNode, depth = 1): void {
  if (depth > MAX_NESTING) {
    throw limitError(
      `A value is nested more than ${MAX_NESTING} levels deep; at most ${MAX_NESTING} are allowed.`,
      {
        nodes: value,
      },
    )
  }
  if (value.kind === Kind.LIST) for (const item of value.values) checkNesting(item, depth + 1)
  if (value.kind === Kind.OBJECT) for (const field of value.fields) checkNesting(field.value, depth + 1)
}

function cycle(name: string, open: readonly string[], node: FragmentDefinitionNode): GraphQLError {
  const way = open.slice(open.indexOf(name) + 1)
  const via = way.length === 0 ? '' : ` via ${way.map(each => `"${each}"`).join(', ')}`
  return limitError(`The fragment "${name}" is spread within itself${via}.`, { nodes: node })
}
