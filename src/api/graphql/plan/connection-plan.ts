/**
 * Relay's cursor connections (https://relay.dev/graphql/connections.htm). The plan reads one row more than the page
 * contains, to learn whether more follow. It reads pages from the end in the opposite order.
 */
import { type FieldNode, type GraphQLObjectType, getNamedType, isObjectType } from 'graphql'
import { type Cursors, cursorsOf } from '../../../engine/plan/cursor.ts'
import { reversed } from '../../../engine/plan/order.ts'
import type { Param, Selected } from '../../../engine/plan/plan.ts'
import { isByRank } from '../../../engine/plan/rank.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection } from '../../../model/model.ts'
import { badRequest } from '../bad-request.ts'
import { scanCost } from '../limits/scan-cost.ts'
import { defaultListLimit } from '../schema/parts.ts'
import {
  argumentsOf,
  type FieldRequest,
  fieldRequestOf,
  replyFieldBase,
  subfields,
  typenameField,
} from './field-request.ts'
import type { Input } from './input.ts'
import { isRoot, type PlannedList, planRows } from './list-plan.ts'
import { type Cost, limitOf, sumOfCosts, unlessNull } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField, Reshape } from './reply-fields.ts'

export function planConnection(context: PlanContext, request: FieldRequest, target: Collection): PlannedList {
  const { model, listBound, parameters } = context
  const inputs = argumentsOf(context, request)
  const { name, input, cursor, backward } = directionOf(inputs, request.nodes[0])
  const size = limitOf(name, input, Math.min(defaultListLimit, listBound), listBound)
  const rows = planRows(context, target, inputs, cursor)
  if (backward && isByRank(rows.sort)) {
    const message = 'The order RELEVANCE allows only "first" and "after".'
    throw badRequest(message, request.nodes[0])
  }
  const limit = parameters.add(variables => size(variables) + 1)
  const connection = new ConnectionFields(context, target, request)
  const total = connection.leaves.has('totalCount')
  const scan = scanCost(rows, { model, target, isOfRelation: !isRoot(request), countsTotal: total })
  const cursors = cursorsOf(target, rows.sort)
  const hasCursor = rows.after !== undefined
  return {
    list: { ...rows, sort: backward ? reversed(rows.sort) : rows.sort, limit, connection: { total } },
    select: connection.select,
    replyField: {
      ...replyFieldBase(request),
      kind: 'object',
      children: connection.replyFields,
      reshape: reshape({ cursors, leaves: connection.leaves, limit, backward, hasCursor }),
    },
    cost: variables => 1 + scan + size(variables) * (1 + connection.cost(variables)),
  }
}

/** `name` and `input`: of the argument for the page's size. `cursor`: where the page begins. */
interface Direction {
  readonly name: 'first' | 'last'
  readonly input: Input | undefined
  readonly cursor: Input | undefined
  readonly backward: boolean
}

function directionOf(inputs: ReadonlyMap<string, Input>, node: FieldNode): Direction {
  const [first, after, last, before] = ['first', 'after', 'last', 'before'].map(name =>
    unlessNull(inputs.get(name)),
  )
  if (last ? first || after : before) {
    throw badRequest('Give either "first" and "after", or "last" and "before".', node)
  }
  return last
    ? { name: 'last', input: last, cursor: before, backward: true }
    : { name: 'first', input: first, cursor: after, backward: false }
}

/**
 * The fields of a connection. `node` and `nodes` may be selected several times: the plan has one selection for all,
 * with a prefix for the keys of each.
 */
class ConnectionFields {
  readonly #context: PlanContext
  readonly #target: Collection
  readonly #place: string
  readonly #costs: Cost[] = []
  #selections = 0
  readonly select: Selected[] = []
  readonly replyFields: readonly ReplyField[]
  /** The names of the selected leaves of the connection, its edges and its page info. */
  readonly leaves = new Set<string>()

  constructor(context: PlanContext, target: Collection, request: FieldRequest) {
    this.#context = context
    this.#target = target
    this.#place = replyFieldBase(request).place
    this.replyFields = this.#object(request)
  }

  get cost(): Cost {
    return sumOfCosts(this.#costs)
  }

  #object({ nodes, definition }: Pick<FieldRequest, 'nodes' | 'definition'>): readonly ReplyField[] {
    const parent = getNamedType(definition.type)
    if (!isObjectType(parent)) throw new Error(`${definition.name} is not an object`)
    return [...subfields(this.#context, parent, nodes)].map(([key, [first, ...others]]) => {
      const name = first.name.value
      if (name === '__typename') return typenameField(key, [first, ...others], parent)
      return this.#field(key, [first, ...others], parent)
    })
  }

  #field(key: string, nodes: FieldRequest['nodes'], parent: GraphQLObjectType): ReplyField {
    const request = fieldRequestOf({ key, nodes, type: parent })
    const { definition } = request
    const base = { ...replyFieldBase(request), source: definition.name, place: undefined }
    switch (definition.name) {
      case 'nodes':
        return { ...base, kind: 'list', children: this.#node(nodes) }
      case 'node':
        return { ...base, kind: 'object', children: this.#node(nodes) }
      case 'edges':
        return { ...base, kind: 'list', children: this.#object(request) }
      case 'pageInfo':
        return { ...base, kind: 'object', children: this.#object(request) }
      default:
        this.leaves.add(definition.name)
        return { ...base, kind: 'leaf' }
    }
  }

  #node(nodes: FieldRequest['nodes']): readonly ReplyField[] {
    const prefix = `${this.#selections++}:`
    const { select, replyFields, cost } = this.#context.select(
      this.#context,
      this.#target,
      nodes,
      this.#place,
      prefix,
    )
    this.select.push(...select)
    this.#costs.push(cost)
    return replyFields
  }
}

interface ConnectionReply {
  readonly cursors: Cursors
  readonly leaves: ReadonlySet<string>
  readonly limit: Param
  readonly backward: boolean
  /** Whether the page begins at a cursor. */
  readonly hasCursor: boolean
}

/** The store's answer for a connection. */
interface ConnectionAnswer {
  readonly rows: readonly ConnectionRow[]
  readonly total?: number
}

interface ConnectionRow {
  readonly node: JsonValue
  readonly keys: readonly JsonValue[]
}

/** Encodes only the cursors that are selected. */
function reshape({ cursors, leaves, limit, backward, hasCursor }: ConnectionReply): Reshape {
  const cursorAt = (row: ConnectionRow | undefined, leaf: string) =>
    row && leaves.has(leaf) ? cursors.encode(row.keys) : null
  return (value, args) => {
    const { rows, total } = value as ConnectionAnswer
    const size = Number(args[limit]) - 1
    const page = rows.slice(0, size)
    if (backward) page.reverse()
    const hasMore = rows.length > size
    return {
      edges: page.map(row => ({ node: row.node, cursor: cursorAt(row, 'cursor') })),
      nodes: page.map(({ node }) => node),
      totalCount: total,
      pageInfo: {
        hasNextPage: backward ? hasCursor : hasMore,
        hasPreviousPage: backward ? hasMore : hasCursor,
        startCursor: cursorAt(page[0], 'startCursor'),
        endCursor: cursorAt(page.at(-1), 'endCursor'),
      },
    }
  }
}
