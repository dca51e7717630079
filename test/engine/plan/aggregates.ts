/** The expected results of aggregates, computed naively. Shares no code with the guard or the store. */

import type { Principal } from '../../../src/base/principal.ts'
import type { AggregateShape, FieldAlong, Measure, Plan } from '../../../src/engine/plan/plan.ts'
import type { DateGroup } from '../../../src/model/fields/date-parts.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection, Field, Model } from '../../../src/model/model.ts'
import { Temporal } from '../../temporal.ts'
import { type Data, Evaluation, type Refused, type Row } from './reference.ts'

/** The key of a group, and what it is sorted by. */
interface Key {
  readonly shown: JsonValue
  readonly order: JsonValue
}

/**
 * By Temporal, which shares no code with the service. Before 1900 and after 2099, a zone has the offset that it has at the beginning
 * and the end of that time.
 */
function partOf(value: string, part: DateGroup, zone: string | undefined): Key {
  const isDate = value.length === 10
  const at = Temporal.Instant.from(isDate ? `${value}T00:00:00Z` : value)
  const known = value < '1900' ? '1900-01-01T00:00:00Z' : value >= '2100' ? '2099-12-31T23:59:59Z' : value
  const { offset, offsetNanoseconds } = isDate
    ? { offset: '', offsetNanoseconds: 0 }
    : Temporal.Instant.from(known).toZonedDateTimeISO(zone ?? 'UTC')
  const wall = at.epochMilliseconds + offsetNanoseconds / 1e6
  const time = Temporal.Instant.fromEpochMilliseconds(wall).toZonedDateTimeISO('UTC')
  const padded = (number: number, length = 2) =>
    `${number < 0 ? '-' : ''}${String(Math.abs(number)).padStart(length, '0')}`
  const year = padded(time.year, 4)
  const day = `${year}-${padded(time.month)}-${padded(time.day)}`
  const texts: Record<DateGroup, string> = {
    year,
    quarter: `${year}-Q${1 + Math.floor((time.month - 1) / 3)}`,
    month: `${year}-${padded(time.month)}`,
    week: `${padded(time.yearOfWeek, 4)}-W${padded(time.weekOfYear)}`,
    day,
    hour: `${day}T${padded(time.hour)}${zone === undefined ? '' : `:00${offset}`}`,
  }
  const order = part === 'hour' ? at.epochMilliseconds - (((wall % 3.6e6) + 3.6e6) % 3.6e6) : texts[part]
  return { shown: texts[part], order }
}

/** The field at the end of the relations; what is wrong on the way is among the errors. */
function fieldAlong(
  evaluation: Evaluation,
  collection: Collection,
  { path = [], field }: FieldAlong,
): Field | undefined {
  const [first, ...others] = path
  if (first === undefined) {
    evaluation.mustKnow(collection, field)
    return collection.fields.get(field)
  }
  const relation = evaluation.mustReach(collection, first)
  if (relation === undefined) return undefined
  if (relation.kind !== 'one') evaluation.errors.add('BAD_REQUEST')
  return fieldAlong(evaluation, evaluation.collection(relation.target), { path: others, field })
}

/** Null where a link, an item or the field may not be read. */
function valueAlong(
  evaluation: Evaluation,
  collection: Collection,
  row: Row,
  { path = [], field }: FieldAlong,
): JsonValue {
  const [first, ...others] = path
  if (first === undefined) return evaluation.valueOf(collection, row, field)
  const relation = collection.relations.get(first)
  const [next] = relation ? evaluation.readableRows(collection, relation, row) : []
  if (relation === undefined || next === undefined) return null
  return valueAlong(evaluation, evaluation.collection(relation.target), next, { path: others, field })
}

/** `groups: null` means that the parent is missing. */
export function aggregateReference(
  model: Model,
  data: Data,
  who: Principal,
  plan: Plan<AggregateShape>,
): Refused | { readonly groups: readonly JsonValue[] | null; readonly hasMore: boolean } {
  const { shape, args } = plan
  const evaluation = new Evaluation(model, data, who, args)
  const collection = evaluation.collection(shape.collection)
  evaluation.mustRead(collection)
  const parent = shape.within && evaluation.collection(shape.within.collection)
  if (parent) evaluation.mustRead(parent)
  const relation = parent && shape.within && evaluation.mustReach(parent, shape.within.relation)
  evaluation.checkFilter(shape.filter, collection)
  if (shape.search !== undefined && evaluation.searchFields(collection).length === 0)
    evaluation.errors.add('BAD_REQUEST')
  for (const measure of shape.measures) {
    if (measure.kind === 'count') continue
    const type = fieldAlong(evaluation, collection, measure)?.type
    const isQuantity = type?.summable === true
    if (measure.kind === 'sum' || measure.kind === 'avg') {
      if (!isQuantity) evaluation.errors.add('BAD_REQUEST')
    } else if (!type?.sortable) evaluation.errors.add('BAD_REQUEST')
  }
  for (const { part, ...along } of shape.groups) {
    const type = fieldAlong(evaluation, collection, along)?.type
    if (!type?.sortable || (part && !type.dateGroups?.includes(part))) evaluation.errors.add('BAD_REQUEST')
  }
  if (evaluation.errors.size > 0) return evaluation
  const parentRow = parent && evaluation.visible(parent).find(row => row.id === args[shape.within?.id ?? 0])
  if (parent && !parentRow) return { groups: null, hasMore: false }
  const members =
    parent && parentRow && relation
      ? evaluation.readableRows(parent, relation, parentRow)
      : evaluation.visible(collection)
  const rows = members.filter(
    row =>
      evaluation.fulfils(shape.filter, collection, row) &&
      (shape.search === undefined || evaluation.finds(shape.search, collection, row)),
  )
  const zone = shape.zone === undefined ? undefined : String(args[shape.zone])
  const keysOf = (row: Row) =>
    shape.groups.map(({ part, ...along }): Key => {
      const value = valueAlong(evaluation, collection, row, along)
      return part && value !== null ? partOf(String(value), part, zone) : { shown: value, order: value }
    })
  const groups = new Map<string, { keys: Key[]; rows: Row[] }>()
  if (shape.groups.length === 0) groups.set('[]', { keys: [], rows: [] })
  for (const row of rows) {
    const keys = keysOf(row)
    const group = groups.get(JSON.stringify(keys)) ?? { keys, rows: [] }
    groups.set(JSON.stringify(keys), group)
    group.rows.push(row)
  }
  const measured = [...groups.values()].map(group => ({
    keys: group.keys,
    measures: shape.measures.map(measure =>
      measureOf(measure, group.rows, along =>
        group.rows.map(row => valueAlong(evaluation, collection, row, along)),
      ),
    ),
  }))
  measured.sort((a, b) => {
    for (const { by, index, descending } of shape.sort) {
      const order = compare(
        (by === 'group' ? a.keys[index]?.order : a.measures[index]) ?? null,
        (by === 'group' ? b.keys[index]?.order : b.measures[index]) ?? null,
      )
      if (order !== 0) return descending ? -order : order
    }
    for (const [index, key] of a.keys.entries()) {
      const order = compare(key.order, b.keys[index]?.order ?? null)
      if (order !== 0) return order
    }
    return 0
  })
  const offset = Number(args[shape.offset])
  const limit = Number(args[shape.limit])
  return {
    groups: measured.slice(offset, offset + limit).map(group =>
      Object.fromEntries(
        shape.select.flatMap(selection => {
          if (selection.kind !== 'group' && selection.kind !== 'measure') return []
          return [
            [
              selection.key,
              (selection.kind === 'group'
                ? group.keys[selection.index]?.shown
                : group.measures[selection.index]) ?? null,
            ] as const,
          ]
        }),
      ),
    ),
    hasMore: measured.length > offset + limit,
  }
}

function measureOf(
  measure: Measure,
  rows: readonly Row[],
  valuesOf: (along: FieldAlong) => JsonValue[],
): JsonValue {
  if (measure.kind === 'count') return rows.length
  const values = valuesOf(measure).filter(value => value !== null)
  if (values.length === 0) return null
  const sorted = [...values].sort(compare)
  if (measure.kind === 'min') return sorted[0] ?? null
  if (measure.kind === 'max') return sorted.at(-1) ?? null
  // Only integers, since the tests have no large ones.
  const sum = values.reduce<number>((total, value) => total + Number(value), 0)
  return measure.kind === 'sum' ? sum : sum / values.length
}

function compare(a: JsonValue, b: JsonValue): number {
  if (a === b) return 0
  if (a === null) return -1
  if (b === null) return 1
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Number(a) - Number(b)
}
