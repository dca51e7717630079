/** An aggregate field → its groups and figures: those that are selected, and those by which it is ordered. */
import { type GraphQLObjectType, getNamedType, isObjectType } from 'graphql'
import type { Collection } from '../../model/model.ts'
import {
  type Aggregation,
  fieldMeasures,
  type GroupKey,
  type GroupSort,
  type Measure,
  type Param,
  type SelectedFigure,
} from '../../plan/plan.ts'
import { mayScan } from '../../plan/scans.ts'
import { badRequest } from '../bad-request.ts'
import { collectionScanCost } from '../limits/scan-cost.ts'
import { type AggregateFields, type AggregateOrder, maxGroupKeys } from '../schema/aggregate-types.ts'
import { argumentsOf, type FieldRequest, replyFieldBase, subfields, typenameField } from './field-request.ts'
import type { Input } from './input.ts'
import { planRows, schemaDefault } from './list-plan.ts'
import { type Cost, limitOf, unlessNull } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField } from './reply-fields.ts'

interface PlannedAggregate {
  readonly aggregation: Aggregation
  readonly search: Param | undefined
  readonly replyField: ReplyField
  readonly cost: Cost
}

const maxSortKeys = 10

export function planAggregate(
  context: PlanContext,
  request: FieldRequest,
  collection: Collection,
): PlannedAggregate {
  const inputs = argumentsOf(context, request)
  const choosing = new Map([...inputs].filter(([name]) => name !== 'orderBy'))
  const { filter, search } = planRows(context, collection, choosing, undefined)
  const limit = limitOf('limit', inputs.get('limit'), schemaDefault(request), context.listBound)
  const figures = new Figures(context, collection, groupsOf(inputs.get('groupBy'), context))
  const base = replyFieldBase(request)
  const { select, children } = figures.select(rowType(request), request, base.at)
  const sort = figures.sort(inputs.get('orderBy'))
  const { parameters } = context
  const scan = search !== undefined || mayScan(filter, collection) ? collectionScanCost : 0
  return {
    aggregation: {
      ...{ filter, groups: figures.groups, measures: figures.measures, sort, select },
      offset: parameters.add(() => 0),
      limit: parameters.add(limit),
    },
    search,
    replyField: { ...base, kind: 'list', children },
    cost: variables => scan + limit(variables),
  }
}

/** The type of one group. */
function rowType({ definition }: FieldRequest): GraphQLObjectType {
  const type = getNamedType(definition.type)
  if (!isObjectType(type)) throw new TypeError('an aggregate is a list of objects')
  return type
}

function valuesOf(input: Input | undefined, name: string, most: number, { variables }: PlanContext) {
  if (input?.kind !== 'list') return []
  if (input.items.length > most) {
    const message = `"${name}" has ${input.items.length} keys; at most ${most} are allowed.`
    throw badRequest(message, input.node)
  }
  return input.items.flatMap(item => (item.kind === 'leaf' ? [item.read(variables)] : []))
}

/** Of a repeated key, only the first counts. */
function groupsOf(input: Input | undefined, context: PlanContext): readonly GroupKey[] {
  const keys = valuesOf(unlessNull(input), 'groupBy', maxGroupKeys, context) as GroupKey[]
  return [...new Map(keys.map(key => [keyOf(key), key])).values()]
}

function keyOf({ field, part }: GroupKey): string {
  return `${field}:${part ?? ''}`
}

type ReplyFieldBase = ReturnType<typeof replyFieldBase>

interface SelectedField {
  readonly child: ReplyField
  readonly selected: SelectedFigure
}

interface Selection {
  readonly select: readonly SelectedFigure[]
  readonly children: readonly ReplyField[]
}

class Figures {
  readonly groups: readonly GroupKey[]
  readonly measures: Measure[] = []
  readonly #context: PlanContext
  readonly #fields: AggregateFields

  constructor(context: PlanContext, collection: Collection, groups: readonly GroupKey[]) {
    const fields = context.directory.aggregates.get(collection.name)
    if (!fields) throw new Error(`nothing aggregates ${collection.name}`)
    this.#context = context
    this.#fields = fields
    this.groups = groups
  }

  /** The selected fields of a group. */
  select(parent: GraphQLObjectType, request: FieldRequest, place: string | undefined): Selection {
    return this.#select(parent, request, place, (name, within, base) => {
      if (name === 'count') {
        return this.#figure(base, { kind: 'measure', key: base.source, at: this.#measure({ kind: 'count' }) })
      }
      const { select, children } = this.#selectWithin(name, within, base.at)
      return {
        child: { ...base, kind: 'object', children },
        selected: { kind: 'object', key: base.source, select },
      }
    })
  }

  /** `of`: `group`, or the kind of the figures. */
  #selectWithin(of: string, request: FieldRequest, place: string | undefined): Selection {
    return this.#select(rowType(request), request, place, (name, within, base) =>
      this.#figure(base, this.#leaf(of, name, base.source, within.nodes[0])),
    )
  }

  #figure(base: ReplyFieldBase, selected: SelectedFigure): SelectedField {
    return { child: { ...base, kind: 'leaf' }, selected }
  }

  #select(
    parent: GraphQLObjectType,
    { nodes, prefix }: FieldRequest,
    place: string | undefined,
    selectField: (name: string, request: FieldRequest, base: ReplyFieldBase) => SelectedField,
  ): Selection {
    const select: SelectedFigure[] = []
    const children: ReplyField[] = []
    for (const [key, fields] of subfields(this.#context, parent, nodes)) {
      const name = fields[0].name.value
      const definition = parent.getFields()[name]
      if (!definition) {
        children.push(typenameField(key, fields, parent))
        select.push({ kind: 'constant', key: prefix + key, value: parent.name })
        continue
      }
      const request = { key, nodes: fields, parent, definition, prefix, place }
      const { child, selected } = selectField(name, request, replyFieldBase(request))
      children.push(child)
      select.push(selected)
    }
    return { select, children }
  }

  #leaf(of: string, name: string, key: string, node: FieldRequest['nodes'][0]): SelectedFigure {
    if (of === 'group') {
      const found = this.#fields.groups.get(name)
      const at = this.groups.findIndex(group => found && keyOf(group) === keyOf(found.key))
      if (!found || at < 0)
        throw badRequest(`"${name}" is not a key of the groups: name it in "groupBy" too.`, node)
      const as = found.key.part === undefined ? found.field.type.graphql.form : undefined
      return { kind: 'group', key, at, ...(as !== undefined && { as }) }
    }
    const kind = fieldMeasures.find(each => each === of)
    const field = kind && this.#fields.figures[kind].get(name)
    if (!kind || !field) throw new Error(`there is no figure ${of} of ${name}`)
    const as = kind === 'min' || kind === 'max' ? field.type.graphql.form : undefined
    const at = this.#measure({ kind, field: field.name })
    return { kind: 'measure', key, at, ...(as !== undefined && { as }) }
  }

  /** The index of the measure among those that are computed. */
  #measure(measure: Measure): number {
    const known = this.measures.findIndex(each => measureKey(each) === measureKey(measure))
    return known >= 0 ? known : this.measures.push(measure) - 1
  }

  sort(input: Input | undefined): readonly GroupSort[] {
    const given = unlessNull(input)
    const orders = valuesOf(given, 'orderBy', maxSortKeys, this.#context) as AggregateOrder[]
    const sorts = orders.map((order): GroupSort => {
      const { descending } = order
      if ('measure' in order) return { by: 'measure', at: this.#measure(order.measure), descending }
      const at = this.groups.findIndex(group => keyOf(group) === keyOf(order.group))
      if (at >= 0 || !given) return { by: 'group', at, descending }
      throw badRequest(
        `"orderBy" names ${order.group.field}, by which the items are not grouped.`,
        given.node,
      )
    })
    return [...new Map(sorts.toReversed().map(sort => [`${sort.by} ${sort.at}`, sort])).values()].toReversed()
  }
}

function measureKey(measure: Measure): string {
  return measure.kind === 'count' ? 'count' : `${measure.kind} ${measure.field}`
}
