/** Reads: resolves every name in a plan's tree, and adds the rules of every collection. */
import { ApiError } from '../../../base/errors.ts'
import { isComputed, storedAggregate } from '../../../model/computed/fields.ts'
import type { FilterOperator } from '../../../model/fields/type.ts'
import type { Collection } from '../../../model/model.ts'
import {
  addCondition,
  addField,
  addOtherRows,
  addPath,
  always,
  and,
  type Dependencies,
  never,
  noDependencies,
  translate,
} from '../condition.ts'
import type {
  GuardedItem,
  GuardedList,
  GuardedRelation,
  GuardedSelected,
  GuardedSelectedList,
  Refusal,
} from '../guarded.ts'
import type { Condition, GuardedSort, VisibleField } from '../guarded-conditions.ts'
import { findField, findRelation, findSortable, quoted, type Refuse } from '../names.ts'
import { isTotal, type TotalOrder } from '../order.ts'
import type {
  Filter,
  ItemShape,
  ListShape,
  Selected,
  SelectedList,
  SelectedRelation,
  Window,
} from '../plan.ts'
import { rankFault, rankField, rankKey } from '../rank.ts'
import { computationOf } from './computed.ts'
import type { ModelView, Reachable } from './model-view.ts'
import { mayNotRead, noSearch, refuseName, requireReadable, requireReadableItem } from './refusals.ts'

export function guardItem(shape: ItemShape, view: ModelView): GuardedItem {
  const collection = view.collection(shape.collection)
  const readable = requireReadableItem(shape, view, collection)
  const rows = shape.rule === undefined ? readable : and(readable, view.rule(shape.rule, collection))
  const select = guardSelect(shape.select, collection, view)
  const dependencies = noDependencies()
  dependencies.collections.add(collection.name)
  addCondition(rows, dependencies)
  addSelect(select, dependencies)
  return {
    kind: 'item',
    collection,
    id: shape.id,
    rows,
    select,
    ...(shape.isOutput && { isOutput: true }),
    ...conclude(dependencies),
  }
}

export function guardList(shape: ListShape, view: ModelView): GuardedList {
  const { collection, within, rows, dependencies } = guardRows(shape, view)
  const sort = guardSort(shape.sort, collection, view, shape.search !== undefined)
  const select = guardSelect(shape.select, collection, view)
  for (const { field } of sort) addField(field, dependencies)
  addSelect(select, dependencies)
  return {
    kind: 'list',
    collection,
    within,
    rows,
    sort,
    window: guardWindow(shape.window, sort),
    select,
    ...conclude(dependencies),
    ...(shape.isReadOnce && { volatile: true }),
  }
}

/** The rows that a read of a collection covers, and what they depend on. */
interface GuardedRows extends Pick<GuardedList, 'collection' | 'within' | 'rows'> {
  readonly dependencies: Dependencies
}

export function guardRows(
  shape: Pick<ListShape, 'collection' | 'within' | 'filter' | 'search'>,
  view: ModelView,
): GuardedRows {
  const collection = view.collection(shape.collection)
  const within = shape.within && guardWithin(shape.within, collection, view)
  const readable = requireReadable(view, collection)
  const rows = and(
    readable,
    within?.reached.rows ?? always,
    shape.filter ? guardFilter(shape.filter, collection, view) : always,
    shape.search === undefined ? always : guardSearch(shape.search, collection, view),
  )
  const dependencies = noDependencies()
  dependencies.collections.add(collection.name)
  addCondition(rows, dependencies)
  if (within) addWithin(within.guarded, dependencies)
  return { collection, within: within?.guarded, rows, dependencies }
}

export function conclude({
  collections,
  userId,
  volatile,
  readsUnboundedLists,
}: Dependencies): Pick<GuardedList, 'reads' | 'personal' | 'volatile' | 'readsUnboundedLists'> {
  return { reads: [...collections].sort(), personal: userId, volatile, readsUnboundedLists }
}

type Within = NonNullable<GuardedList['within']>

function guardWithin(
  within: NonNullable<ListShape['within']>,
  collection: Collection,
  view: ModelView,
): { guarded: Within; reached: Reachable } {
  const parent = view.collection(within.collection)
  const rows = requireReadable(view, parent)
  const reached = reach(parent, within.relation, view)
  const { path } = reached
  if (path.relation.kind === 'one' || path.target !== collection) {
    throw new Error(`${parent.name}.${within.relation} leads to no list of ${collection.name}`)
  }
  return { guarded: { collection: parent, id: within.id, rows, path }, reached }
}

function addWithin(within: Within, dependencies: Dependencies): void {
  dependencies.collections.add(within.collection.name)
  addCondition(within.rows, dependencies)
  addPath(within.path, [], dependencies)
}

/** Follows a relation that the plan names, whose target the caller must be allowed to read. */
export function reach(
  collection: Collection,
  name: string,
  view: ModelView,
  refuse: Refuse = refuseName,
): Reachable {
  const relation = findRelation(view.names(collection), name, refuse)
  const reached = view.follow(collection, relation)
  if ('through' in reached.path) requireReadable(view, reached.path.through)
  requireReadable(view, reached.path.target)
  return reached
}

function guardWindow(window: Window, sort: readonly GuardedSort[]): Window {
  if (window.kind === 'cursor' && window.after && window.after.length !== sort.length) {
    throw new Error(`a cursor window over ${sort.length} sort keys has ${window.after.length} values`)
  }
  return window
}

/** A field that the plan names, as this caller reads it. */
export function visibleField(
  collection: Collection,
  name: string,
  view: ModelView,
  refuse: Refuse = refuseName,
  find = findField,
): VisibleField {
  const field = find(view.names(collection), name, refuse)
  const when = view.visibleIn(collection, field)
  if (!isComputed(field)) return { field, when }
  const computation = computationOf(field, collection, view)
  return { field, when, computation, ...(storedAggregate(field) && { isStored: true }) }
}

/** Where a lenient selection lists the parts that it omits. Without it, one refusal refuses the whole plan. */
export interface Leniency {
  readonly refusals: Refusal[]
  /** The keys that lead to the selection. */
  readonly keys: readonly string[]
}

export function guardSelect(
  select: readonly Selected[],
  collection: Collection,
  view: ModelView,
  leniency?: Leniency,
): readonly GuardedSelected[] {
  return select.flatMap(selected => {
    const within = leniency && { ...leniency, keys: [...leniency.keys, selected.key] }
    return orRefused(within, () => guardSelected(selected, collection, view, within)) ?? []
  })
}

/** The result of `guard`. Undefined if it refuses a part of a lenient selection, which is then listed. */
export function orRefused<T>(leniency: Leniency | undefined, guard: () => T): T | undefined {
  try {
    return guard()
  } catch (error) {
    if (!leniency || !(error instanceof ApiError)) throw error
    leniency.refusals.push({ keys: leniency.keys, error })
    return undefined
  }
}

/** The error of a lenient selection reveals that the name exists, but that this caller may not read it. */
function refuseIn(
  leniency: Leniency | undefined,
  view: ModelView,
  collection: Collection,
  name: string,
): Refuse {
  return leniency ? () => mayNotRead(view, collection, name) : refuseName
}

function guardSelected(
  selected: Selected,
  collection: Collection,
  view: ModelView,
  leniency: Leniency | undefined,
): GuardedSelected {
  if (selected.kind === 'constant') return selected
  if (selected.kind === 'relation') return guardRelation(selected, collection, view, leniency)
  const { kind, key, field: name, as } = selected
  return {
    kind,
    key,
    field: visibleField(collection, name, view, refuseIn(leniency, view, collection, name)),
    as,
  }
}

function guardRelation(
  selected: SelectedRelation,
  collection: Collection,
  view: ModelView,
  leniency: Leniency | undefined,
): GuardedRelation {
  const { relation: name } = selected
  const refuse = refuseIn(leniency, view, collection, name)
  const { path, when, rows } = reach(collection, name, view, refuse)
  const { target } = path
  const { kind, key } = selected
  if (path.relation.kind === 'one') {
    const select = guardSelect(selected.select, target, view, leniency)
    return { kind, key, path, rows, when, select, list: undefined }
  }
  if (!selected.list) throw new Error(`the relation ${collection.name}.${name} is selected without a list`)
  const list = guardSelectedList(selected.list, target, view)
  const select = guardSelect(selected.select, target, view, leniency)
  return { kind, key, path, rows: and(rows, list.rows), when, select, list: list.list }
}

/** The condition that a selected list adds to its rows, and the list itself. */
export function guardSelectedList(
  selected: SelectedList,
  collection: Collection,
  view: ModelView,
): { readonly rows: Condition; readonly list: GuardedSelectedList } {
  const { filter, search, sort: order, ...window } = selected
  const rows = and(
    filter ? guardFilter(filter, collection, view) : always,
    search === undefined ? always : guardSearch(search, collection, view),
  )
  const sort = guardSort(order, collection, view, search !== undefined)
  const { after } = window
  if (after && after.length !== sort.length) {
    throw new Error(`a position over ${sort.length} sort keys has ${after.length} values`)
  }
  return { rows, list: { ...window, sort } }
}

function guardSort(
  order: TotalOrder,
  collection: Collection,
  view: ModelView,
  isSearch: boolean,
): readonly GuardedSort[] {
  if (!isTotal(order)) throw new Error('the order of a list must end with id: create it with `totalOrder`')
  const fault = rankFault(order, isSearch)
  if (fault !== undefined) throw new ApiError('BAD_REQUEST', `The order by rank ${fault}.`)
  return order.map(({ field: name, descending }) => {
    if (name === rankKey) return { field: { field: rankField(collection), when: always }, descending }
    return { field: visibleField(collection, name, view, refuseName, findSortable), descending }
  })
}

/** The rows that fulfil a client's filter, decided only by the fields and rows that the caller may read. */
export function guardFilter(filter: Filter, collection: Collection, view: ModelView): Condition {
  return translate(filter, leaf => {
    if (leaf.kind === 'compare') return guardComparison(leaf, collection, view)
    const { path, when, rows } = reach(collection, leaf.relation, view)
    const relatedRows = and(rows, guardFilter(leaf.filter, path.target, view))
    return relatedRows.kind === 'never' ? never : and(when, { kind: 'related', path, rows: relatedRows })
  })
}

function guardComparison(
  { field: name, operator, param }: Filter & { kind: 'compare' },
  collection: Collection,
  view: ModelView,
): Condition {
  const field = visibleField(collection, name, view)
  const { operators } = field.field.type
  if (!operators.includes(operator)) {
    throw new ApiError(
      'BAD_REQUEST',
      `The field ${quoted(name)} of ${collection.name} ${allowedOperators(operators)}`,
    )
  }
  if (operator === 'null') return { kind: 'nullness', field, param }
  return { kind: 'compare', field, operator, operand: { kind: 'param', param } }
}

function allowedOperators(operators: readonly FilterOperator[]): string {
  return operators.length > 0 ? `can be filtered with ${operators.join(', ')}.` : 'cannot be filtered.'
}

function guardSearch(param: number, collection: Collection, view: ModelView): Condition {
  const fields = view.names(collection).searched
  if (fields.length === 0) throw noSearch(collection)
  return { kind: 'search', fields, param, isWhole: fields.length === collection.searchable.length }
}

export function addSelect(select: readonly GuardedSelected[], dependencies: Dependencies): void {
  for (const selected of select) {
    if (selected.kind === 'field') addField(selected.field, dependencies)
    if (selected.kind === 'relation') addRelation(selected, dependencies)
  }
}

function addRelation({ path, rows, when, select, list }: GuardedRelation, dependencies: Dependencies): void {
  addCondition(when, dependencies)
  addPath(path, [rows], dependencies)
  const related = noDependencies()
  for (const { field } of list?.sort ?? []) addField(field, related)
  addSelect(select, related)
  addOtherRows(related, dependencies)
}
