/** The model as one access class sees it: rules, fields and relations, decided without a row where possible. */
import { ApiError } from '../../../base/errors.ts'
import { implies } from '../../../base/predicate.ts'
import { type AccessClass, isAnonymous } from '../../../base/principal.ts'
import type { Collection, CrudOperation, Field, Model, Relation } from '../../../model/model.ts'
import { callerRuleKind } from '../../../model/rule/caller-rules.ts'
import { followPath } from '../../../model/rule/paths.ts'
import type { Comparison, Rule, RuleOperand, Scalar } from '../../../model/rule/rule.ts'
import { always, and, assuming, never, not, translate } from '../condition.ts'
import type { Condition, Operand, RelationPath, ToOnePath, VisibleField } from '../guarded-conditions.ts'
import type { Names } from '../names.ts'

export interface ModelView {
  readonly model: Model
  readonly access: AccessClass
  collection(name: string): Collection
  /** The fields and relations that exist for this class. */
  names(collection: Collection): Names
  /** The rows for which the rule holds. */
  rule(rule: Rule, collection: Collection): Condition
  /** As `rule`, for a rule that does not grant access: it applies to Portico itself as well. */
  holds(rule: Rule, collection: Collection): Condition
  /** The rows of the collection that may be read. */
  readable(collection: Collection): Condition
  /** The rows of the collection that may be created, changed or deleted. */
  writable(collection: Collection, operation: WriteOperation): Condition
  /** The readable rows in which the field is visible; `never`: it does not exist for this class. */
  visibleIn(collection: Collection, field: Field): Condition
  /** The relation as it may be followed from readable rows; it is among the collection's `names`. */
  follow(collection: Collection, relation: Relation): Reachable
}

export type WriteOperation = Exclude<CrudOperation, 'read'>

export interface Reachable {
  readonly path: RelationPath
  /** The rows in which the link is visible. */
  readonly when: Condition
  /** The target's rows that may be reached. */
  readonly rows: Condition
}

const views = new WeakMap<Model, WeakMap<AccessClass, ModelView>>()

export function viewOf(model: Model, access: AccessClass): ModelView {
  const viewsByAccess = views.get(model) ?? new WeakMap<AccessClass, ModelView>()
  views.set(model, viewsByAccess)
  const view = viewsByAccess.get(access) ?? createView(model, access)
  viewsByAccess.set(access, view)
  return view
}

/** The fields and relations of a collection that exist for an access class. A default selection has exactly these fields. */
export function namesFor(model: Model, collection: Collection, access: AccessClass): Names {
  return viewOf(model, access).names(collection)
}

/** What a rule means for an access class, if that can be decided without a row. */
export function staticRule(
  model: Model,
  collection: Collection,
  rule: Rule,
  access: AccessClass,
): 'always' | 'never' | 'depends' {
  const { kind } = viewOf(model, access).rule(rule, collection)
  return kind === 'always' || kind === 'never' ? kind : 'depends'
}

/** The rows for which a rule holds: all, only the caller's own, some others, or none. */
export type Reach = 'all' | 'own' | 'some' | 'none'

/** The rows for which a rule holds, if that can be decided without a row. */
export function reachOf(model: Model, collection: Collection, rule: Rule, access: AccessClass): Reach {
  const condition = viewOf(model, access).rule(rule, collection)
  if (condition.kind === 'always') return 'all'
  if (condition.kind === 'never') return 'none'
  return implies(condition, namesCaller) ? 'own' : 'some'
}

function namesCaller(condition: Condition): boolean {
  return condition.kind === 'compare' && condition.operator === 'eq' && condition.operand.kind === 'userId'
}

/** Whether the access class may read all rows of a collection, whatever they contain. */
export function readsEveryRow(model: Model, collection: Collection, access: AccessClass): boolean {
  return viewOf(model, access).readable(collection).kind === 'always'
}

function createView(model: Model, access: AccessClass): ModelView {
  const readable = new Map<string, Condition>()
  const writable = { create: new Map(), update: new Map(), delete: new Map() }
  const shownIn = new Map<Field, Condition>()
  const names = new Map<Collection, Names>()
  const view: ModelView = {
    model,
    access,
    collection(name) {
      const collection = model.collections.get(name)
      if (!collection) throw new ApiError('NOT_FOUND')
      return collection
    },
    names: collection => getOrCreate(names, collection, () => namesIn(collection, view)),
    rule: (rule, collection) => (access.system ? always : foldRule(rule, collection, view)),
    holds: (rule, collection) => foldRule(rule, collection, view),
    readable: collection =>
      getOrCreate(readable, collection.name, () => view.rule(collection.access.read, collection)),
    writable: (collection, operation) =>
      getOrCreate<string, Condition>(writable[operation], collection.name, () =>
        view.rule(collection.access[operation], collection),
      ),
    visibleIn: (collection, field) => getOrCreate(shownIn, field, () => rowsShowing(field, collection, view)),
    follow: (collection, relation) => follow(collection, relation, view),
  }
  return view
}

function getOrCreate<K, V>(cache: Map<K, V>, key: K, make: () => V): V {
  const cached = cache.get(key)
  if (cached !== undefined || cache.has(key)) return cached as V
  const created = make()
  cache.set(key, created)
  return created
}

function namesIn(collection: Collection, view: ModelView): Names {
  const { fields, relations, searchable, computed } = collection
  return {
    collection,
    fields: new Map([...fields].filter(([, field]) => isVisible(field, collection, view))),
    computed: new Map([...computed].filter(([, field]) => isVisible(field, collection, view))),
    relations: new Map([...relations].filter(([, relation]) => isLinkVisible(relation, collection, view))),
    searched: searchable.filter(field => view.visibleIn(collection, field).kind === 'always'),
  }
}

function isVisible(field: Field, collection: Collection, view: ModelView): boolean {
  return view.visibleIn(collection, field).kind !== 'never'
}

/** A relation exists for callers who may read the fields that hold its ids. */
function isLinkVisible(relation: Relation, collection: Collection, view: ModelView): boolean {
  const shows = (holder: Collection, name: string) =>
    isVisible(requireNamed(holder.fields, name, holder), holder, view)
  if (relation.kind === 'one') return shows(collection, relation.field)
  if (relation.kind === 'many') return shows(view.collection(relation.target), relation.field)
  const through = view.collection(relation.through)
  return shows(through, relation.from) && shows(through, relation.to)
}

function rowsShowing(field: Field, collection: Collection, view: ModelView): Condition {
  if (view.access.system && !view.access.logic) return always
  if (field.internal || field.writeOnly) return never
  const when = view.rule(field.access.read, collection)
  return when.kind === 'never' ? never : assuming(view.readable(collection), when)
}

function follow(collection: Collection, relation: Relation, view: ModelView): Reachable {
  const target = view.collection(relation.target)
  const rows = view.readable(target)
  const shownIn = (holder: Collection, name: string) =>
    view.visibleIn(holder, requireNamed(holder.fields, name, holder))
  if (relation.kind === 'one') {
    return { path: { relation, target }, when: shownIn(collection, relation.field), rows }
  }
  if (relation.kind === 'many') {
    return { path: { relation, target }, when: always, rows: and(rows, shownIn(target, relation.field)) }
  }
  const through = view.collection(relation.through)
  const joinRows = and(view.readable(through), shownIn(through, relation.from), shownIn(through, relation.to))
  return { path: { relation, target, through, joinRows }, when: always, rows }
}

function foldRule(rule: Rule, row: Collection, view: ModelView): Condition {
  return translate(rule, leaf => {
    if (leaf.kind === 'compare') return foldComparison(leaf, row, view)
    if (leaf.kind === 'related') return foldRelated(leaf, row, view)
    return callerRuleKind(leaf).holds(leaf, view.access) ? always : never
  })
}

/** Rules compare stored values, whether or not the caller may read them. */
function foldComparison(rule: Rule & { kind: 'compare' }, row: Collection, view: ModelView): Condition {
  const { comparison, operand } = rule
  const path = (name: string) => followPath(name, row, view.collection)
  const leftPath = path(rule.field)
  const isNullTest = operand.kind === 'literal' && operand.value === null
  // Where a relation leads nowhere, the field has no value.
  if (isNullTest && comparison === 'eq') return not(existsAlong(leftPath.steps, hasValue(leftPath.field)))
  if (isNullTest) return comparison === 'ne' ? existsAlong(leftPath.steps, hasValue(leftPath.field)) : never
  if (operand.kind === 'field') {
    if (comparison === 'in') return never
    return { kind: 'fields', left: leftPath, operator: comparison, right: path(operand.field) }
  }
  return existsAlong(leftPath.steps, foldOwnField(leftPath.field, comparison, operand, view))
}

/** The field has a value. */
function hasValue(field: Field): Condition {
  return not({ kind: 'isNull', field: { field, when: always } })
}

/** A comparison of a field of the row itself. */
function foldOwnField(
  column: Field,
  comparison: Comparison,
  operand: Exclude<RuleOperand, { readonly kind: 'field' }>,
  view: ModelView,
): Condition {
  const field: VisibleField = { field: column, when: always }
  if (operand.kind !== 'literal') {
    const folded = foldOperand(operand, view)
    const operator = comparison === 'in' ? 'eq' : comparison
    return folded === undefined ? never : { kind: 'compare', field, operator, operand: folded }
  }
  const { value } = operand
  if (comparison === 'in') return foldIn(field, value)
  return { kind: 'compare', field, operator: comparison, operand: { kind: 'literal', value } }
}

/** Undefined: the operand has no value for this class. */
function foldOperand(
  operand: Exclude<RuleOperand, { readonly kind: 'field' | 'literal' }>,
  view: ModelView,
): Operand | undefined {
  if (operand.kind === 'now') return operand
  if (operand.kind === 'appId') return isAnonymous(view.access) ? undefined : operand
  if (!view.access.signedIn) return undefined
  if (operand.kind !== 'caller') return operand
  if (operand.field === 'id') return { kind: 'userId' }
  const users = view.collection('users')
  const field = requireNamed(users.fields, operand.field, users)
  return { kind: 'caller', users, field, isConfirmed: operand.field === 'email' }
}

/** The steps lead to a stored row for which the condition holds. */
function existsAlong(steps: readonly ToOnePath[], rows: Condition): Condition {
  return steps.reduceRight<Condition>(
    (condition, path) =>
      condition.kind === 'never' ? never : { kind: 'related', path, rows: condition, stored: true },
    rows,
  )
}

function foldIn(field: VisibleField, value: Scalar | readonly Scalar[]): Condition {
  const values = [...new Set(Array.isArray(value) ? value : [value])].filter(member => member !== null)
  const [only] = values
  if (only === undefined) return never
  if (values.length === 1) {
    return { kind: 'compare', field, operator: 'eq', operand: { kind: 'literal', value: only } }
  }
  return { kind: 'compare', field, operator: 'in', operand: { kind: 'literal', value: values } }
}

function foldRelated(rule: Rule & { kind: 'related' }, row: Collection, view: ModelView): Condition {
  const relation = requireNamed(row.relations, rule.relation, row)
  const target = view.collection(relation.target)
  const rows = foldRule(rule.rule, target, view)
  if (rows.kind === 'never') return never
  const related = { kind: 'related', rows, stored: true } as const
  if (relation.kind !== 'manyToMany') return { ...related, path: { relation, target } as RelationPath }
  const through = view.collection(relation.through)
  return { ...related, path: { relation, target, through, joinRows: always } }
}

function requireNamed<V>(map: ReadonlyMap<string, V>, name: string, row: Collection): V {
  const value = map.get(name)
  if (value === undefined) throw new Error(`the model names ${row.name}.${name}, which does not exist`)
  return value
}
