/**
 * Relay's cursor connections (https://relay.dev/graphql/connections.htm). The plan asks for one row more than is
 * shown, to tell whether more follow; from the end, it asks in the opposite order.
 */
import { type FieldNode, type GraphQLObjectType, getNamedType, isObjectType } from 'graphql'
import type { JsonValue } from '../model/fields/type.ts'
import type { Collection } from '../model/model.ts'
import { type Cursors, cursorsOf, effectiveSort } from '../plan/cursor.ts'
import type { Param, Selected, Sort } from '../plan/plan.ts'
import { isByRank } from '../plan/rank.ts'
import { type Asked, argumentsOf, askedOf, type Planning, pickOf, subfields, typenamePick } from './asked.ts'
import type { Input } from './input.ts'
import { limitError } from './limits.ts'
import { isRoot, type PlannedList, planPosition, planRows } from './list-plan.ts'
import { type Cost, given, limitOf, sum } from './parameters.ts'
import type { Picked, Reshape } from './picked.ts'
import { scanCost } from './scan-cost.ts'
import { DEFAULT_LIMIT } from './schema-parts.ts'

export function planConnection(planning: Planning, asked: Asked, target: Collection): PlannedList {
  const inputs = argumentsOf(planning, asked)
  const { input, name, position, backward } = directionOf(inputs, asked.nodes[0])
  const size = limitOf(name, input, Math.min(DEFAULT_LIMIT, planning.listBound), planning.listBound)
  const rows = planRows(planning, target, inputs)
  if (backward && isByRank(rows.sort)) {
    const message = 'The order RELEVANCE is read from the best on: give "first" and "after".'
    throw limitError(message, { nodes: asked.nodes[0] })
  }
  const after = planPosition(planning, target, rows.sort, position)
  const limit = planning.parameters.add(variables => size(variables) + 1)
  const inner = new ConnectionFields(planning, target, asked)
  const { model } = planning.ground
  const total = inner.leaves.has('totalCount')
  const scan = scanCost(rows, { model, target, inner: !isRoot(asked), counted: total })
  const cursors = cursorsOf(target, rows.sort)
  const picked: Picked = {
    ...pickOf(asked),
    kind: 'object',
    children: inner.picked,
    reshape: reshape({ cursors, leaves: inner.leaves, limit, backward, after: after !== undefined }),
  }
  return {
    list: {
      ...rows,
      sort: backward ? reversed(rows.sort) : rows.sort,
      ...(after ? { after } : {}),
      limit,
      connection: { total },
    },
    select: inner.select,
    picked,
    cost: variables => 1 + scan + size(variables) * (1 + inner.cost(variables)),
  }
}

interface Direction {
  readonly name: string
  readonly input: Input | undefined
  readonly position: Input | undefined
  readonly backward: boolean
}

function directionOf(inputs: ReadonlyMap<string, Input>, node: FieldNode): Direction {
  const [first, after, last, before] = ['first', 'after', 'last', 'before'].map(name =>
    given(inputs.get(name)),
  )
  if (last ? first || after : before) {
    throw limitError('Give either "first" and "after", or "last" and "before".', { nodes: node })
  }
  return last
    ? { name: 'last', input: last, position: before, backward: true }
    : { name: 'first', input: first, position: after, backward: false }
}

/** Null is the smallest value, so the opposite order is exactly the reverse. */
function reversed(sort: readonly Sort[]): readonly Sort[] {
  return effectiveSort(sort).map(({ field, descending }) => ({ field, descending: !descending }))
}

/** The fields of a connection; those of its nodes become one selection, each with keys of its own. */
class ConnectionFields {
  readonly #planning: Planning
  readonly #target: Collection
  readonly #place: string
  readonly #costs: Cost[] = []
  #selections = 0
  readonly select: Selected[] = []
  readonly picked: readonly Picked[]
  /** Which leaves of the connection, its edges and its page info are asked for, by their names. */
  readonly leaves = new Set<string>()

  constructor(planning: Planning, target: Collection, asked: Asked) {
    this.#planning = planning
    this.#target = target
    this.#place = pickOf(asked).at
    this.picked = this.#object(asked)
  }

  get cost(): Cost {
    return sum(this.#costs)
  }

  /** The fields of a connection, an edge or the page info. */
  #object({ nodes, definition }: Pick<Asked, 'nodes' | 'definition'>): readonly Picked[] {
    const parent = getNamedType(definition.type)
    if (!isObjectType(parent)) throw new Error(`${definition.name} is no object`)
    return [...subfields(this.#planning, parent, nodes)].map(([key, [first, ...others]]) => {
      const name = first.name.value
      if (name === '__typename') return typenamePick(key, [first, ...others], parent)
      return this.#field(key, [first, ...others], parent)
    })
  }

  #field(key: string, nodes: Asked['nodes'], parent: GraphQLObjectType): Picked {
    const asked = askedOf({ key, nodes, type: parent })
    const { definition } = asked
    const pick = { ...pickOf(asked), source: definition.name, at: undefined }
    switch (definition.name) {
      case 'nodes':
        return { ...pick, kind: 'list', children: this.#node(nodes) }
      case 'node':
        return { ...pick, kind: 'object', children: this.#node(nodes) }
      case 'edges':
        return { ...pick, kind: 'list', children: this.#object(asked) }
      case 'pageInfo':
        return { ...pick, kind: 'object', children: this.#object(asked) }
      default:
        this.leaves.add(definition.name)
        return { ...pick, kind: 'leaf' }
    }
  }

  #node(nodes: Asked['nodes']): readonly Picked[] {
    const prefix = `${this.#selections++}:`
    const { select, picked, cost } = this.#planning.select(
      this.#planning,
      this.#target,
      nodes,
      this.#place,
      prefix,
    )
    this.select.push(...select)
    this.#costs.push(cost)
    return picked
  }
}

interface Shown {
  readonly cursors: Cursors
  readonly leaves: ReadonlySet<string>
  readonly limit: Param
  readonly backward: boolean
  /** Whether a position is given. */
  readonly after: boolean
}

/** What the store answers for a list in the form of a connection. */
interface Rows {
  readonly rows: readonly Row[]
  readonly total?: number
}

interface Row {
  readonly node: JsonValue
  readonly keys: readonly JsonValue[]
}

/** Cursors that nobody asks for are not made: there may be none. */
function reshape({ cursors, leaves, limit, backward, after }: Shown): Reshape {
  const cursorAt = (row: Row | undefined, leaf: string) =>
    row && leaves.has(leaf) ? cursors.encode(row.keys) : null
  return (value, args) => {
    const { rows: found, total } = value as Rows
    const size = Number(args[limit]) - 1
    const shown = found.slice(0, size)
    if (backward) shown.reverse()
    const more = found.length > size
    return {
      edges: shown.map(row => ({ node: row.node, cursor: cursorAt(row, 'cursor') })),
      nodes: shown.map(({ node }) => node),
      totalCount: total,
      pageInfo: {
        hasNextPage: backward ? after : more,
        hasPreviousPage: backward ? more : after,
        startCursor: cursorAt(shown[0], 'startCursor'),
        endCursor: cursorAt(shown.at(-1), 'endCursor'),
      },
    }
  }
}
