/**
 * The model as one access class sees it: its rules with everything folded in that is known
 * without a row, its fields, its relations, its scopes.
 */
import { ApiError } from '../errors.ts'
import type { Collection, CollectionAccess, Field, Model, Relation } from '../model/model.ts'
import type { Rule, Scalar } from '../model/rule.ts'
import { type AccessClass, hasScope, isAnonymous } from '../principal.ts'
import { always, and, assuming, never, not, or } from './condition.ts'
import type { Condition, Path, VisibleField } from './guarded.ts'

export interface View {
  readonly access: AccessClass
  collection(name: string): Collection
  /** Which rows the rule holds for. */
  rule(rule: Rule, collection: Collection): Condition
  /** Which rows of the collection may be read. */
  readable(collection: Collection): Condition
  /** Which rows of the collection may be created, changed or deleted. */
  writable(collection: Collection, operation: WriteOperation): Condition
  /** The field as it may be read within readable rows; undefined when it does not exist for this class. */
  visible(collection: Collection, name: string): VisibleField | undefined
  /** The relation as it may be followed from readable rows; undefined when it does not exist for this class. */
  reachable(collection: Collection, name: string): Reachable | undefined
}

export type WriteOperation = Exclude<keyof CollectionAccess, 'read'>

export interface Reachable {
  readonly path: Path
  /** In which rows the link is visible. */
  readonly when: Condition
  /** Which of the target's rows may be reached. */
  readonly rows: Condition
}

const views = new WeakMap<Model, WeakMap<AccessClass, View>>()

export function viewOf(model: Model, access: AccessClass): View {
  const known = views.get(model) ?? new WeakMap<AccessClass, View>()
  views.set(model, known)
  const view = known.get(access) ?? createView(model, access)
  known.set(access, view)
  return view
}

/**
 * The fields of a collection that exist for an access class, in the model's order: a default
 * selection holds exactly these. Some may read as null in some rows.
 */
export function readableFields(model: Model, collection: Collection, access: AccessClass): readonly Field[] {
  const view = viewOf(model, access)
  return [...collection.fields.values()].filter(field => view.visible(collection, field.name))
}

/** The relations that exist for an access class, in the model's order. What they lead to may still be refused. */
export function readableRelations(
  model: Model,
  collection: Collection,
  access: AccessClass,
): readonly Relation[] {
  const view = viewOf(model, access)
  return [...collection.relations.values()].filter(relation => view.reachable(collection, relation.name))
}

/** What a rule comes to for an access class before any row is looked at. */
export function staticRule(
  model: Model,
  collection: Collection,
  rule: Rule,
  access: AccessClass,
): 'always' | 'never' | 'depends' {
  const { kind } = viewOf(model, access).rule(rule, collection)
  return kind === 'always' || kind === 'never' ? kind : 'depends'
}

/** Whether all rows of a collection may be read, whatever is in them. */
export function readsEveryRow(model: Model, collection: Collection, access: AccessClass): boolean {
  return viewOf(model, access).readable(collection).kind === 'always'
}

function createView(model: Model, access: AccessClass): View {
  const readable = new Map<string, Condition>()
  const writable = { create: new Map(), update: new Map(), delete: new Map() }
  const visible = new Map<Field, VisibleField | undefined>()
  const view: View = {
    access,
    collection(name) {
      const found = model.collections.get(name)
      if (!found) throw new ApiError('NOT_FOUND')
      return found
    },
    rule: (rule, collection) => (access.system ? always : fold(rule, collection, view)),
    readable: collection =>
      remembered(readable, collection.name, () => view.rule(collection.access.read, collection)),
    writable: (collection, operation) =>
      remembered<string, Condition>(writable[operation], collection.name, () =>
        view.rule(collection.access[operation], collection),
      ),
    visible(collection, name) {
      const field = collection.fields.get(name)
      return field && remembered(visible, field, () => visibleField(field, collection, view))
    },
    reachable: (collection, name) => reachable(collection, name, view),
  }
  return view
}

function remembered<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  const found = known.get(key)
  if (found !== undefined || known.has(key)) return found as V
  const made = make()
  known.set(key, made)
  return made
}

function visibleField(field: Field, collection: Collection, view: View): VisibleField | undefined {
  if (view.access.system) return { field, when: always }
  if (field.internal || field.writeOnly) return undefined
  const when = view.rule(field.access.read, collection)
  if (when.kind === 'never') return undefined
  return { field, when: assuming(view.readable(collection), when) }
}

function reachable(collection: Collection, name: string, view: View): Reachable | undefined {
  const relation = collection.relations.get(name)
  if (!relation) return undefined
  const target = view.collection(relation.target)
  if (relation.kind === 'manyToMany') return reachableThrough(relation, target, view)
  if (relation.kind === 'one') {
    const link = view.visible(collection, relation.field)
    return link && { path: { relation, target }, when: link.when, rows: view.readable(target) }
  }
  const back = view.visible(target, relation.field)
  return back && { path: { relation, target }, when: always, rows: and(view.readable(target), back.when) }
}

function reachableThrough(
  relation: Relation & { kind: 'manyToMany' },
  target: Collection,
  view: View,
): Reachable | undefined {
  const through = view.collection(relation.through)
  const from = view.visible(through, relation.from)
  const to = view.visible(through, relation.to)
  if (!from || !to) return undefined
  const joinRows = and(view.readable(through), from.when, to.when)
  return { path: { relation, target, through, joinRows }, when: always, rows: view.readable(target) }
}

type ByKind = {
  readonly [K in Rule['kind']]: (rule: Rule & { kind: K }, row: Collection, view: View) => Condition
}

const foldKind: ByKind = {
  anyone: () => always,
  nobody: () => never,
  signedIn: (_rule, _row, { access }) => (access.signedIn ? always : never),
  role: (rule, _row, { access }) =>
    access.role !== null && rule.roles.includes(access.role) ? always : never,
  // Nobody signed in carries no scope at all, although no scope limits them.
  scope: (rule, _row, { access }) =>
    !isAnonymous(access) && hasScope(access.scopes, rule.scope) ? always : never,
  compare: (rule, row, { access }) => foldComparison(rule, row, access),
  related: (rule, row, view) => foldRelated(rule, row, view),
  and: (rule, row, view) => and(...rule.rules.map(one => fold(one, row, view))),
  or: (rule, row, view) => or(...rule.rules.map(one => fold(one, row, view))),
  not: (rule, row, view) => not(fold(rule.rule, row, view)),
}

function fold<K extends Rule['kind']>(rule: Rule & { kind: K }, row: Collection, view: View): Condition {
  return foldKind[rule.kind](rule, row, view)
}

/** Rules see fields as they are stored: what the caller may read does not matter to them. */
function foldComparison(rule: Rule & { kind: 'compare' }, row: Collection, access: AccessClass): Condition {
  const field: VisibleField = { field: known(row.fields, rule.field, row), when: always }
  const { comparison, operand } = rule
  if (operand.kind === 'userId') {
    if (!access.signedIn) return never
    return { kind: 'compare', field, operator: comparison === 'in' ? 'eq' : comparison, operand }
  }
  const { value } = operand
  if (comparison === 'in') return foldIn(field, value)
  if (value === null && comparison === 'eq') return { kind: 'isNull', field }
  if (value === null && comparison === 'ne') return not({ kind: 'isNull', field })
  if (value === null) return never
  return { kind: 'compare', field, operator: comparison, operand: { kind: 'literal', value } }
}

function foldIn(field: VisibleField, value: Scalar | readonly Scalar[]): Condition {
  const values = [...new Set(Array.isArray(value) ? value : [value])].filter(one => one !== null)
  const [only] = values
  if (only === undefined) return never
  if (values.length === 1) {
    return { kind: 'compare', field, operator: 'eq', operand: { kind: 'literal', value: only } }
  }
  return { kind: 'compare', field, operator: 'in', operand: { kind: 'literal', value: values } }
}

function foldRelated(rule: Rule & { kind: 'related' }, row: Collection, view: View): Condition {
  const relation = known(row.relations, rule.relation, row)
  const target = view.collection(relation.target)
  const rows = fold(rule.rule, target, view)
  if (rows.kind === 'never') return never
  const seen = { kind: 'related', rows, stored: true } as const
  if (relation.kind !== 'manyToMany') return { ...seen, path: { relation, target } as Path }
  const through = view.collection(relation.through)
  return { ...seen, path: { relation, target, through, joinRows: always } }
}

function known<V>(map: ReadonlyMap<string, V>, name: string, row: Collection): V {
  const found = map.get(name)
  if (found === undefined) throw new Error(`a rule of ${row.name} names ${name}, which is not there`)
  return found
}
