/** An aggregate field → its groups and aggregates: those that are selected, and those that it is ordered by. */
import { type GraphQLObjectType, getNamedType, isObjectType } from 'graphql'
import { hasZone, relationsFault } from '../../../engine/plan/guard/guard.ts'
import {
  type Aggregation,
  fieldMeasures,
  type GroupKey,
  type GroupSort,
  type Measure,
  maxGroupKeys,
  type Param,
  type SelectedAggregate,
} from '../../../engine/plan/plan.ts'
import { mayScan } from '../../../engine/plan/scans.ts'
import type { Collection } from '../../../model/model.ts'
import { timeZoneOf } from '../../../model/time-zone.ts'
import { badRequest } from '../bad-request.ts'
import { collectionScanCost } from '../limits/scan-cost.ts'
import { type AggregateFields, type AggregateOrder, ownKeys } from '../schema/aggregate-types.ts'
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
  const aggregates = new Aggregates(context, collection, inputs)
  const base = replyFieldBase(request)
  const { select, children } = aggregates.select(rowType(request), request, base.place)
  const sort = aggregates.sort(inputs)
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

type Inputs = ReadonlyMap<string, Input>

/** An enum value of `groupBy` or `orderBy`. `path`: the relations that lead to the items whose key it is. */
interface ListedKey {
  readonly path: readonly string[]
  readonly value: unknown
  readonly argument: string
  readonly node: Input['node']
}

function listedValues(input: Input | undefined, { variables }: PlanContext): readonly unknown[] {
  if (input?.kind !== 'list') return []
  return input.items.flatMap(item => (item.kind === 'leaf' ? [item.read(variables)] : []))
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

  /** If a key is repeated, only the first occurrence counts. */
  constructor(context: PlanContext, collection: Collection, inputs: Inputs) {
    this.#context = context
    this.#fields = fieldsOf(context, collection.name)
    const keys = this.#listedKeys(inputs, 'groupBy', maxGroupKeys).map(
      ({ path, value }): GroupKey => ({ ...(value as GroupKey), path }),
    )
    this.groups = [...new Map(keys.map(key => [keyOf(key), key])).values()]
  }

  /** Whether a group key depends on a time zone. */
  get hasZone(): boolean {
    return this.groups.some(({ path = [], field: name, part }) => {
      const { groups } = this.#fieldsAt(path)
      return [...groups.values()].some(({ field }) => field.name === name && hasZone(field, part))
    })
  }

  /** The keys of the argument, then those of its counterpart for related items. */
  #listedKeys(inputs: Inputs, name: 'groupBy' | 'orderBy', maxKeys: number): readonly ListedKey[] {
    const own = unlessNull(inputs.get(name))
    const related = unlessNull(inputs.get(`${name}Related`))
    const keys = [
      ...listedValues(own, this.#context).flatMap((value): ListedKey[] =>
        own ? [{ path: [], value, argument: name, node: own.node }] : [],
      ),
      ...this.#relatedKeys(related, []).map(
        ([path, value, node]): ListedKey => ({ path, value, argument: `${name}Related`, node }),
      ),
    ]
    if (keys.length <= maxKeys) return keys
    const message = `"${related ? `${name}Related` : name}" has ${keys.length} keys; at most ${maxKeys} are allowed.`
    throw badRequest(message, (related ?? own)?.node)
  }

  #relatedKeys(
    input: Input | undefined,
    path: readonly string[],
  ): readonly (readonly [readonly string[], unknown, Input['node']])[] {
    if (input?.kind === 'list') return input.items.flatMap(item => this.#relatedKeys(item, path))
    if (input?.kind !== 'object') return []
    const { relations } = this.#fieldsAt(path)
    return [...input.fields].flatMap(([key, value]) => {
      const relation = relations.get(key)
      if (key !== ownKeys && relation) return this.#relatedKeys(value, [...path, relation.name])
      return listedValues(value, this.#context).map(own => [path, own, value.node] as const)
    })
  }

  #fieldsAt(path: readonly string[]): AggregateFields {
    return path.reduce((fields, name) => {
      const relation = [...fields.relations.values()].find(candidate => candidate.name === name)
      return fieldsOf(this.#context, relation?.target ?? '')
    }, this.#fields)
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
      const { select, children } = this.#selectWithin(name, within, base.place, [])
      return {
        child: { ...base, kind: 'object', children },
        selected: { kind: 'object', key: base.source, select },
      }
    })
  }

  /** `kind`: `group`, or the kind of the aggregates. `path`: the relations that lead to the items whose aggregates they are. */
  #selectWithin(
    kind: string,
    request: FieldRequest,
    place: string | undefined,
    path: readonly string[],
  ): AggregateSelection {
    const fields = this.#fieldsAt(path)
    return this.#select(rowType(request), request, place, (name, within, base) => {
      const leaf = this.#leaf(kind, { fields, path, name }, base.source, within.nodes[0])
      if (leaf) return this.#aggregate(base, leaf)
      const relation = fields.relations.get(name)
      if (!relation) throw new Error(`there is no aggregate ${kind} of ${name}`)
      const { select, children } = this.#selectWithin(kind, within, base.place, [...path, relation.name])
      return {
        child: { ...base, kind: 'object', children },
        selected: { kind: 'object', key: base.source, select },
      }
    })
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

  /** Undefined if the aggregates have no such field. */
  #leaf(
    kind: string,
    { fields, path, name }: AggregatedField,
    key: string,
    node: FieldRequest['nodes'][0],
  ): SelectedAggregate | undefined {
    if (kind === 'group') {
      const groupField = fields.groups.get(name)
      if (!groupField) return undefined
      const groupKey = keyOf({ ...groupField.key, path })
      const index = this.groups.findIndex(group => keyOf(group) === groupKey)
      if (index < 0) {
        const argument = path.length > 0 ? 'groupByRelated' : 'groupBy'
        throw badRequest(`"${name}" is not a group key: add it to "${argument}".`, node)
      }
      const as = groupField.key.part === undefined ? groupField.field.type.graphql.form : undefined
      return { kind: 'group', key, index, ...(as !== undefined && { as }) }
    }
    const measure = fieldMeasures.find(candidate => candidate === kind)
    const field = measure && fields.aggregates[measure].get(name)
    if (!measure || !field) return undefined
    const as = measure === 'min' || measure === 'max' ? field.type.graphql.form : undefined
    const index = this.#measureIndex({ kind: measure, path, field: field.name })
    return { kind: 'measure', key, index, ...(as !== undefined && { as }) }
  }

  /** The index of the measure among those that are computed. */
  #measureIndex(measure: Measure): number {
    const index = this.measures.findIndex(existing => measureKey(existing) === measureKey(measure))
    return index >= 0 ? index : this.measures.push(measure) - 1
  }

  requireFewRelations(node: FieldRequest['nodes'][0]): void {
    const fault = relationsFault([...this.groups, ...this.measures])
    if (fault !== undefined) throw badRequest(fault, node)
  }

  sort(inputs: Inputs): readonly GroupSort[] {
    const sorts = this.#listedKeys(inputs, 'orderBy', maxSortKeys).map((listed): GroupSort => {
      const { path, argument, node } = listed
      const order = listed.value as AggregateOrder
      const { descending } = order
      if ('measure' in order) {
        const measure = order.measure.kind === 'count' ? order.measure : { ...order.measure, path }
        return { by: 'measure', index: this.#measureIndex(measure), descending }
      }
      const key = keyOf({ ...order.group, path })
      const index = this.groups.findIndex(group => keyOf(group) === key)
      if (index >= 0) return { by: 'group', index, descending }
      const name = [...path, order.group.field].join('.')
      const groups = argument.replace('order', 'group')
      throw badRequest(`"${argument}" contains ${name}, which is not a key of "${groups}".`, node)
    })
    return [
      ...new Map(sorts.toReversed().map(sort => [`${sort.by} ${sort.index}`, sort])).values(),
    ].toReversed()
  }
}

/** A field of aggregates, of items to which the relations lead. */
interface AggregatedField {
  readonly fields: AggregateFields
  readonly path: readonly string[]
  readonly name: string
}

function fieldsOf({ directory }: PlanContext, collection: string): AggregateFields {
  const fields = directory.aggregates.get(collection)
  if (!fields) throw new Error(`there are no aggregates of ${collection}`)
  return fields
}

function measureKey(measure: Measure): string {
  return measure.kind === 'count' ? 'count' : `${measure.kind} ${keyOf(measure)}`
}
