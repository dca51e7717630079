/** Several reads in one: each root is guarded separately; refused parts are omitted and listed in `refusals`. */
import { addCondition, addField, always, and, noDependencies } from '../condition.ts'
import type { GuardedComposite, GuardedItemRoot, GuardedListRoot, GuardedRoot, Refusal } from '../guarded.ts'
import type { CompositeShape, ItemRoot, ListRoot, Root } from '../plan.ts'
import { addAggregation, guardAggregateRoot } from './aggregate.ts'
import { factKey } from './facts.ts'
import { loggedCondition, loggedSelect } from './logged.ts'
import type { ModelView } from './model-view.ts'
import {
  addSelect,
  conclude,
  guardFilter,
  guardSelect,
  guardSelectedList,
  type Leniency,
  orRefused,
} from './read.ts'
import { requireReadable, requireReadableItem } from './refusals.ts'

export function guardComposite(shape: CompositeShape, view: ModelView): GuardedComposite {
  const refusals: Refusal[] = []
  const roots = shape.roots.flatMap(root => {
    const leniency = { refusals, keys: [root.key] }
    return orRefused(leniency, () => guardRoot(root, view, leniency)) ?? []
  })
  const dependencies = noDependencies()
  for (const root of roots) {
    dependencies.collections.add(root.collection.name)
    addCondition(root.rows, dependencies)
    if (root.kind === 'aggregate') addAggregation(root.aggregation, dependencies)
    else addSelect(root.select, dependencies)
    if (root.kind === 'list') for (const { field } of root.list.sort) addField(field, dependencies)
  }
  return { kind: 'composite', roots, refusals, ...conclude(dependencies) }
}

function guardRoot(root: Root, view: ModelView, leniency: Leniency): GuardedRoot {
  if (root.kind === 'aggregate') return guardAggregateRoot(root, view)
  return root.kind === 'item' ? guardItemRoot(root, view, leniency) : guardListRoot(root, view, leniency)
}

function guardItemRoot(root: ItemRoot, view: ModelView, leniency: Leniency): GuardedItemRoot {
  const { kind, key, id, event, isOutput } = root
  const collection = view.collection(root.collection)
  const readable = requireReadableItem(root, view, collection)
  const rows = and(
    readable,
    root.rule ? view.rule(root.rule, collection) : always,
    root.filter ? guardFilter(root.filter, collection, view) : always,
  )
  const select = guardSelect(root.select, collection, view, leniency)
  const item = { kind, key, collection, id, event, ...(isOutput && { isOutput }) }
  if (event === undefined) return { ...item, rows, select }
  const context = { collection, event, keep: factKey }
  return { ...item, rows: loggedCondition(rows, context), select: loggedSelect(select, context) }
}

function guardListRoot(root: ListRoot, view: ModelView, leniency: Leniency): GuardedListRoot {
  const { kind, key } = root
  const collection = view.collection(root.collection)
  const readable = requireReadable(view, collection)
  const { rows, list } = guardSelectedList(root.list, collection, view)
  const select = guardSelect(root.select, collection, view, leniency)
  return { kind, key, collection, rows: and(readable, rows), list, select }
}
