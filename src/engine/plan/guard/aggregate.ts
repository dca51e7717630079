/** Aggregates: over the same rows as lists, and the fields that the caller may read in each row. */
import { ApiError } from '../../../base/errors.ts'
import { timeGroups } from '../../../model/fields/date-parts.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { addField, always, type Dependencies } from '../condition.ts'
import type {
  GuardedAggregate,
  GuardedAggregateRoot,
  GuardedAggregation,
  GuardedGroupKey,
  GuardedMeasure,
} from '../guarded.ts'
import type { VisibleField } from '../guarded-conditions.ts'
import { quoted } from '../names.ts'
import {
  type AggregateRoot,
  type AggregateShape,
  type Aggregation,
  type FieldAlong,
  type FieldMeasure,
  type GroupKey,
  type GroupSort,
  type Measure,
  maxAggregatedRelations,
  maxRelationsDeep,
  type Param,
} from '../plan.ts'
import type { ModelView } from './model-view.ts'
import { conclude, guardRows, reach, visibleField } from './read.ts'

export function guardAggregate(shape: AggregateShape, view: ModelView): GuardedAggregate {
  const { collection, within, rows, dependencies } = guardRows(shape, view)
  const aggregation = guardAggregation(shape, collection, view)
  addAggregation(aggregation, dependencies)
  return { kind: 'aggregate', collection, within, rows, aggregation, ...conclude(dependencies) }
}

export function guardAggregateRoot(
  { kind, key, collection: name, search, aggregation }: AggregateRoot,
  view: ModelView,
): GuardedAggregateRoot {
  const { filter } = aggregation
  const { collection, rows } = guardRows({ collection: name, within: undefined, filter, search }, view)
  return { kind, key, collection, rows, aggregation: guardAggregation(aggregation, collection, view) }
}

export function addAggregation({ groups, measures }: GuardedAggregation, dependencies: Dependencies): void {
  for (const { field } of groups) addField(field, dependencies)
  for (const measure of measures) if (measure.kind !== 'count') addField(measure.field, dependencies)
}

function guardAggregation(
  aggregation: Aggregation,
  collection: Collection,
  view: ModelView,
): GuardedAggregation {
  const { offset, limit, select } = aggregation
  const groups = aggregation.groups.map(group => guardGroup(group, aggregation.zone, collection, view))
  const measures = aggregation.measures.map(measure => guardMeasure(measure, collection, view))
  return { groups, measures, sort: totalSort(aggregation), offset, limit, select }
}

/** The requested keys, followed by the remaining group keys: no two groups share all of them. */
function totalSort({ sort, groups }: Aggregation): readonly GroupSort[] {
  const sortedGroups = new Set(sort.flatMap(({ by, index }) => (by === 'group' ? [index] : [])))
  const unsorted = groups.flatMap((_, index) =>
    sortedGroups.has(index) ? [] : [{ by: 'group', index, descending: false } as const],
  )
  return [...sort, ...unsorted]
}

function guardGroup(
  { part, ...along }: GroupKey,
  zone: Param | undefined,
  collection: Collection,
  view: ModelView,
): GuardedGroupKey {
  const field = fieldAlong(along, collection, view)
  const fault = groupFault(field.field, part)
  if (fault !== undefined) throw new ApiError('BAD_REQUEST', `The request ${fault}`)
  return { field, part, zone: hasZone(field.field, part) ? zone : undefined }
}

function guardMeasure(measure: Measure, collection: Collection, view: ModelView): GuardedMeasure {
  if (measure.kind === 'count') return measure
  const field = fieldAlong(measure, collection, view)
  const fault = measureFault(field.field, measure.kind)
  if (fault !== undefined) throw new ApiError('BAD_REQUEST', `The request ${fault}`)
  return { kind: measure.kind, field }
}

/** Throws as a filter does for what the caller may not follow or read. */
function fieldAlong(
  { path = [], field: name }: FieldAlong,
  collection: Collection,
  view: ModelView,
): VisibleField {
  const [relation, ...others] = path
  if (relation === undefined) return visibleField(collection, name, view)
  const reached = reach(collection, relation, view)
  if (reached.path.relation.kind !== 'one') {
    throw new ApiError('BAD_REQUEST', `The request ${toManyFault(relation)}`)
  }
  const field = fieldAlong({ path: others, field: name }, reached.path.target, view)
  const { type } = field.field
  const value = { kind: 'column', field, type } as const
  return { field: field.field, when: always, computation: { kind: 'related', ...reached, value, type } }
}

/** Why a field of an aggregate cannot follow the relation, as a predicate. */
export function toManyFault(relation: string): string {
  return `follows ${quoted(relation)}, which leads to several items: only relations to one item can be followed.`
}

/** Why the fields of an aggregate together follow too many relations; undefined if they do not. */
export function relationsFault(fields: readonly (Measure | Pick<FieldAlong, 'path'>)[]): string | undefined {
  const lengths = fields.map(field => ('path' in field ? (field.path ?? []).length : 0))
  const deepest = Math.max(0, ...lengths)
  if (deepest > maxRelationsDeep) {
    return `A field of the aggregates follows at most ${maxRelationsDeep} relations, not ${deepest}.`
  }
  const count = lengths.reduce((sum, length) => sum + length, 0)
  if (count <= maxAggregatedRelations) return undefined
  return `The fields of the aggregates follow at most ${maxAggregatedRelations} relations together, not ${count}.`
}

/** Whether the part depends on a time zone: that of a time does, that of a date does not. */
export function hasZone({ type }: Field, part: string | undefined): boolean {
  return part !== undefined && type.dateGroups === timeGroups
}

/** Why items cannot be grouped by the field, as a predicate; undefined if they can. */
export function groupFault({ name, type }: Field, part: string | undefined): string | undefined {
  if (!type.sortable) return `groups by ${quoted(name)}, whose values cannot be compared.`
  const parts: readonly string[] = type.dateGroups ?? []
  if (part === undefined || parts.includes(part)) return undefined
  const spellings = parts.map(datePart => `${name}:${datePart}`).join(', ')
  const hint = spellings === '' ? `${name} has no parts` : `write ${spellings}`
  return `groups by ${quoted(`${name}:${part}`)}, which is not a part of it: ${hint}.`
}

/** Why the field does not have this measure, as a predicate; undefined if it does. */
export function measureFault({ name, type }: Field, kind: FieldMeasure): string | undefined {
  if (kind === 'min' || kind === 'max') {
    return type.sortable ? undefined : `names ${quoted(name)}, which has no order.`
  }
  if (type.summable) return undefined
  return `names ${quoted(name)}, which is not a quantity: only whole and other numbers have sums and averages.`
}
