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

/** Fields of a document when all its fragments are written out. */
const MAX_FIELDS = 5000
/** Directives of a document. */
const MAX_DIRECTIVES = 200

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
}

const ENOUGH = 1_000_000
const nothing: Measure = { depth: 0, aliases: 0, fields: 0, directives: 0 }

function joined(a: Measure, b: Measure): Measure {
  return {
    depth: Math.max(a.depth, b.depth),
    aliases: Math.min(ENOUGH, a.aliases + b.aliases),
    fields: Math.min(ENOUGH, a.fields + b.fields),
    directives: Math.min(ENOUGH, a.directives + b.directives),
  }
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

  operation({ selectionSet, directives = [] }: OperationDefinitionNode): Measure {
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
    if (node.kind === Kind.FRAGMENT_SPREAD) return joined(this.fragment(node.name.value), own)
    if (node.kind === Kind.INLINE_FRAGMENT) return joined(this.#set(node.selectionSet), own)
    const inner = node.selectionSet ? this.#set(node.selectionSet) : nothing
    return {
      depth: node.name.value.startsWith('__') ? 1 : inner.depth + 1,
      aliases: Math.min(ENOUGH, inner.aliases + (node.alias ? 1 : 0)),
      fields: Math.min(ENOUGH, inner.fields + 1),
      directives: Math.min(ENOUGH, inner.directives + own.directives),
    }
  }
}

function cycle(name: string, open: readonly string[], node: FragmentDefinitionNode): GraphQLError {
  const way = open.slice(open.indexOf(name) + 1)
  const via = way.length === 0 ? '' : ` via ${way.map(each => `"${each}"`).join(', ')}`
  return limitError(`The fragment "${name}" is spread within itself${via}.`, { nodes: node })
}
