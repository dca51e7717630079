/** An aggregate field → its groups and aggregates: those that are selected, and those that it is ordered by. */
import { type GraphQLObjectType, getNamedType, isObjectType } from 'graphql'
import { hasZone } from '../../../engine/plan/guard/guard.ts'
import {
  type Aggregation,
  fieldMeasures,
  type GroupKey,
  type GroupSort,
  type Measure,
  maxAggregatedRelations,
  maxGroupKeys,
  type Param,
  type SelectedAggregate,
} from '../../../engine/plan/plan.ts'
import { mayScan } from '../../../engine/plan/scans.ts'
import type { Collection } from '../../../model/model.ts'
import { timeZoneOf } from '../../../model/time-zone.ts'
import { badRequest } from '../bad-request.ts'
import { collectionScanCost } from '../limits/scan-cost.ts'
import type { AggregateFields, AggregateOrder } from '../schema/aggregate-types.ts'
import { argumentsOf, type FieldRequest, replyFieldBase, subfields, typenameField } from './field-request.ts'
import type { Input } from './input.ts'
import { planRows, schemaDefault } from './list-plan.ts'
import { type Cost, createGetter, limitOf, unlessNull } from './parameters.ts'
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
  const rowInputs = new Map([...inputs].filter(([name]) => name !== 'orderBy'))
  const { filter, search } = planRows(context, collection, rowInputs, undefined)
  const limit = limitOf('limit', inputs.get('limit'), schemaDefault(request), context.listBound)
  const aggregates = new Aggregates(context, collection, groupsOf(inputs.get('groupBy'), context))
  const base = replyFieldBase(request)
  const { select, children } = aggregates.select(rowType(request), request, base.place)
  const sort = aggregates.sort(inputs.get('orderBy'))
  aggregates.requireFewRelations(request.nodes[0])
  const { parameters } = context
  const timeZone = unlessNull(inputs.get('timeZone'))
  if (timeZone && !aggregates.hasZone) {
    const message = '"timeZone" needs a part of a time in "groupBy", such as CREATED_AT_MONTH.'
    throw badRequest(message, timeZone.node)
  }
  const scan = search !== undefined || mayScan(filter, collection) ? collectionScanCost : 0
  return {
    aggregation: {
      ...{ filter, groups: aggregates.groups, measures: aggregates.measures, sort, select },
      zone: timeZone && parameters.add(createGetter(timeZone, name => timeZoneOf(String(name)))),
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

function readEnumValues(
  input: Input | undefined,
  name: string,
  maxItems: number,
  { variables }: PlanContext,
) {
  if (input?.kind !== 'list') return []
  if (input.items.length > maxItems) {
    const message = `"${name}" has ${input.items.length} keys; at most ${maxItems} are allowed.`
    throw badRequest(message, input.node)
  }
  return input.items.flatMap(item => (item.kind === 'leaf' ? [item.read(variables)] : []))
}

/** If a key is repeated, only the first occurrence counts. */
function groupsOf(input: Input | undefined, context: PlanContext): readonly GroupKey[] {
  const keys = readEnumValues(unlessNull(input), 'groupBy', maxGroupKeys, context) as GroupKey[]
  return [...new Map(keys.map(key => [keyOf(key), key])).values()]
}

function keyOf({ path = [], field, part }: GroupKey): string {
  return `${[...path, field].join('.')}:${part ?? ''}`
}

type ReplyFieldBase = ReturnType<typeof replyFieldBase>

interface SelectedField {
  readonly child: ReplyField
  readonly selected: SelectedAggregate
}

interface AggregateSelection {
  readonly select: readonly SelectedAggregate[]
  readonly children: readonly ReplyField[]
}

class Aggregates {
  readonly groups: readonly GroupKey[]
  readonly measures: Measure[] = []
  readonly #context: PlanContext
  readonly #fields: AggregateFields

  constructor(context: PlanContext, collection: Collection, groups: readonly GroupKey[]) {
    const fields = context.directory.aggregates.get(collection.name)
    if (!fields) throw new Error(`there are no aggregates of ${collection.name}`)
    this.#context = context
    this.#fields = fields
    this.groups = groups
  }

  /** Whether a group key depends on a time zone. */
  get hasZone(): boolean {
    const zoned = [...this.#fields.groups.values()].filter(({ field, key }) => hasZone(field, key.part))
    return this.groups.some(group => zoned.some(({ key }) => keyOf(key) === keyOf(group)))
  }

  /** The selected fields of a group. */
  select(parent: GraphQLObjectType, request: FieldRequest, place: string | undefined): AggregateSelection {
    return this.#select(parent, request, place, (name, within, base) => {
      if (name === 'count') {
        return this.#aggregate(base, {
          kind: 'measure',
          key: base.source,
          index: this.#measureIndex({ kind: 'count' }),
        })
      }
      const { select, children } = this.#selectWithin(name, within, base.place)
      return {
        child: { ...base, kind: 'object', children },
        selected: { kind: 'object', key: base.source, select },
      }
    })
  }

  /** `kind`: `group`, or the kind of the aggregates. */
  #selectWithin(kind: string, request: FieldRequest, place: string | undefined): AggregateSelection {
    return this.#select(rowType(request), request, place, (name, within, base) =>
      this.#aggregate(base, this.#leaf(kind, name, base.source, within.nodes[0])),
    )
  }

  #aggregate(base: ReplyFieldBase, selected: SelectedAggregate): SelectedField {
    return { child: { ...base, kind: 'leaf' }, selected }
  }

  #select(
    parent: GraphQLObjectType,
    { nodes, prefix }: FieldRequest,
    place: string | undefined,
    selectField: (name: string, request: FieldRequest, base: ReplyFieldBase) => SelectedField,
  ): AggregateSelection {
    const select: SelectedAggregate[] = []
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

  #leaf(kind: string, name: string, key: string, node: FieldRequest['nodes'][0]): SelectedAggregate {
    if (kind === 'group') {
      const groupField = this.#fields.groups.get(name)
      const index = this.groups.findIndex(group => groupField && keyOf(group) === keyOf(groupField.key))
      if (!groupField || index < 0)
        throw badRequest(`"${name}" is not a group key: add it to "groupBy".`, node)
      const as = groupField.key.part === undefined ? groupField.field.type.graphql.form : undefined
      return { kind: 'group', key, index, ...(as !== undefined && { as }) }
    }
    const measure = fieldMeasures.find(name => name === kind)
    const { path, field } = (measure && this.#fields.aggregates[measure].get(name)) ?? {}
    if (!measure || !field) throw new Error(`there is no aggregate ${kind} of ${name}`)
    const as = measure === 'min' || measure === 'max' ? field.type.graphql.form : undefined
    const index = this.#measureIndex({ kind: measure, path: path ?? [], field: field.name })
    return { kind: 'measure', key, index, ...(as !== undefined && { as }) }
  }

  /** The index of the measure among those that are computed. */
  #measureIndex(measure: Measure): number {
    const index = this.measures.findIndex(existing => measureKey(existing) === measureKey(measure))
    return index >= 0 ? index : this.measures.push(measure) - 1
  }

  requireFewRelations(node: FieldRequest['nodes'][0]): void {
    const paths = [...this.groups, ...this.measures].map(key => ('path' in key ? (key.path ?? []) : []))
    const count = paths.flat().length
    if (count <= maxAggregatedRelations) return
    const message = `The fields of the aggregates follow at most ${maxAggregatedRelations} relations together, not ${count}.`
    throw badRequest(message, node)
  }

  sort(input: Input | undefined): readonly GroupSort[] {
    const orderInput = unlessNull(input)
    const orders = readEnumValues(orderInput, 'orderBy', maxSortKeys, this.#context) as AggregateOrder[]
    const sorts = orders.map((order): GroupSort => {
      const { descending } = order
      if ('measure' in order) return { by: 'measure', index: this.#measureIndex(order.measure), descending }
      const index = this.groups.findIndex(group => keyOf(group) === keyOf(order.group))
      if (index >= 0 || !orderInput) return { by: 'group', index, descending }
      throw badRequest(
        `"orderBy" contains ${[...(order.group.path ?? []), order.group.field].join('_')}, which is not a key of "groupBy".`,
        orderInput.node,
      )
    })
    return [
      ...new Map(sorts.toReversed().map(sort => [`${sort.by} ${sort.index}`, sort])).values(),
    ].toReversed()
  }
}

function measureKey(measure: Measure): string {
  return measure.kind === 'count' ? 'count' : `${measure.kind} ${keyOf(measure)}`
}
