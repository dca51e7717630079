/**
 * The reference: the expected result of a plan, computed naively on plain rows from the definitions of rules, plans and
 * fields. Shares no code with the guard.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ErrorCode } from '../../src/errors.ts'
import type { JsonValue } from '../../src/model/fields/type.ts'
import type { Collection, Field, Model, Relation } from '../../src/model/model.ts'
import type { Comparison, Rule, RuleOperand } from '../../src/model/rule.ts'
import type {
  Assignment,
  CreateShape,
  DeleteShape,
  Filter,
  ItemShape,
  ListShape,
  Plan,
  ReadShape,
  Selected,
  Sort,
  UpdateShape,
  WriteShape,
} from '../../src/plan/plan.ts'
import type { Principal } from '../../src/principal.ts'

export type Row = Readonly<Record<string, JsonValue>>
export type Data = Readonly<Record<string, readonly Row[]>>

/** `errors`: each of them is a correct answer. */
export type Refused = { readonly errors: ReadonlySet<ErrorCode> }
export type ReadResult =
  | Refused
  | { readonly item: JsonValue }
  | {
      readonly list: readonly JsonValue[] | null
      readonly total?: number
      readonly next?: JsonValue
      readonly more?: boolean
    }
export type WriteResult = Refused | { readonly data: Data; readonly id: number }

export const TIME = '2026-01-01T00:00:00.000Z'

/** The time of every request. */
export const MOMENT = Date.parse(TIME)

/** A claim if the field can have this value; otherwise null. */
export function fitting(claim: string | number | boolean, { type }: Field): JsonValue {
  const wanted = { integer: 'number', text: 'string', string: 'string', boolean: 'boolean' }[type.name]
  // The ids of relations are integers too.
  if (typeof claim !== (wanted ?? 'number')) return null
  return typeof claim === 'number' && !Number.isInteger(claim) ? null : claim
}

const never: Rule = { kind: 'nobody' }

/** The words of a text, for the texts that the tests use. */
export function words(text: JsonValue): readonly string[] {
  const plain = String(text ?? '')
    .toLowerCase()
    .replaceAll('é', 'e')
  return plain.match(/[a-z]+/g) ?? []
}

/** Matches the text case-insensitively, by simple case folding (ECMA-262, 22.2.2.7.3). */
export function caseless(text: string): RegExp {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
}

/** Whether an item whose entity tag is `current` satisfies the precondition. */
function passes(evaluation: Evaluation, ifMatch: number | undefined): boolean {
  const wanted = ifMatch === undefined ? '*' : evaluation.args[ifMatch]
  return wanted === '*' || (Array.isArray(wanted) && wanted.includes('current'))
}

export class Evaluation {
  readonly model: Model
  readonly data: Data
  readonly who: Principal
  readonly args: readonly JsonValue[]
  readonly errors = new Set<ErrorCode>()

  constructor(model: Model, data: Data, who: Principal, args: readonly JsonValue[]) {
    this.model = model
    this.data = data
    this.who = who
    this.args = args
  }

  collection(name: string): Collection {
    const found = this.model.collections.get(name)
    if (!found) throw new Error(`no ${name}`)
    return found
  }

  rows(name: string): readonly Row[] {
    return this.data[name] ?? []
  }

  // --- the meaning of rules

  holds(rule: Rule, of: Collection, row: Row): boolean {
    if (this.who.access.system) return true
    switch (rule.kind) {
      case 'anyone':
        return true
      case 'nobody':
        return false
      case 'signedIn':
        return this.who.userId !== null
      case 'firstParty':
        return !this.who.access.thirdParty
      case 'role':
        return rule.roles.some(role => role === this.who.access.role)
      case 'scope':
        return !this.isAnonymous() && this.scope(rule.scope)
      case 'and':
        return rule.rules.every(one => this.holds(one, of, row))
      case 'or':
        return rule.rules.some(one => this.holds(one, of, row))
      case 'not':
        return !this.holds(rule.rule, of, row)
      case 'related': {
        const relation = relationOf(of, rule.relation)
        const target = this.collection(relation.target)
        return this.linked(relation, row).some(one => this.holds(rule.rule, target, one))
      }
      case 'compare': {
        const [value, field] = this.valueAt(rule.field, of, row)
        const wanted = this.operand(rule.operand, field, of, row)
        if (rule.operand.kind !== 'literal') return test(value, rule.comparison, wanted)
        if (wanted === null && rule.comparison === 'eq') return value === null
        if (wanted === null && rule.comparison === 'ne') return value !== null
        return test(value, rule.comparison, wanted)
      }
    }
  }

  /** The value at the end of a path along to-one relations, and its field. */
  valueAt(path: string, of: Collection, row: Row | undefined): readonly [JsonValue, Field] {
    const [name = '', ...rest] = path.split('.')
    if (rest.length > 0) {
      const relation = relationOf(of, name)
      const [only] = row === undefined ? [] : this.linked(relation, row)
      return this.valueAt(rest.join('.'), this.collection(relation.target), only)
    }
    const field = of.fields.get(name)
    if (!field) throw new Error(`no ${name}`)
    return [row?.[name] ?? null, field]
  }

  /** The value that a field is compared with; null if there is none. */
  operand(operand: RuleOperand, field: Field, of: Collection, row: Row): JsonValue {
    const { userId, claims } = this.who
    switch (operand.kind) {
      case 'literal':
        return operand.value as JsonValue
      case 'userId':
        return userId
      case 'now':
        return new Date(MOMENT + operand.shiftMs).toISOString()
      case 'field':
        return this.valueAt(operand.field, of, row)[0]
      case 'caller':
        // Like `currentUser`, even if the account was just deleted.
        if (operand.field === 'id') return userId
        return this.rows('users').find(one => userId !== null && one.id === userId)?.[operand.field] ?? null
      case 'claim': {
        const claim = claims?.values.get(operand.claim)
        return claim === undefined ? null : fitting(claim, field)
      }
    }
  }

  /** An app without a user has no user id, but is signed in. */
  isAnonymous(): boolean {
    return this.who.userId === null && this.who.access.scopes === 'all'
  }

  scope(scope: string): boolean {
    const { scopes } = this.who.access
    if (scopes === 'all') return true
    const [action, type] = scope.split(':')
    return scopes.has('*') || scopes.has(scope) || (action === 'read' && scopes.has(`write:${type}`))
  }

  /** The result of a rule if it is the same for every row; otherwise undefined. */
  anyway(rule: Rule, of: Collection): boolean | undefined {
    if (this.who.access.system) return true
    switch (rule.kind) {
      case 'compare': {
        const { operand, comparison } = rule
        if (operand.kind === 'now' || operand.kind === 'field') return undefined
        if (operand.kind !== 'literal') return this.who.userId === null ? false : undefined
        if (operand.value === null) return comparison === 'eq' || comparison === 'ne' ? undefined : false
        const useful = Array.isArray(operand.value) ? operand.value.some(one => one !== null) : true
        return useful ? undefined : false
      }
      case 'related': {
        const target = this.collection(relationOf(of, rule.relation).target)
        return this.anyway(rule.rule, target) === false ? false : undefined
      }
      case 'and': {
        const all = rule.rules.map(one => this.anyway(one, of))
        return all.includes(false) ? false : all.includes(undefined) ? undefined : true
      }
      case 'or': {
        const all = rule.rules.map(one => this.anyway(one, of))
        return all.includes(true) ? true : all.includes(undefined) ? undefined : false
      }
      case 'not': {
        const inner = this.anyway(rule.rule, of)
        return inner === undefined ? undefined : !inner
      }
      default:
        return this.holds(rule, of, {})
    }
  }

  /** The stored rows at the other end. */
  linked(relation: Relation, row: Row): Row[] {
    const targets = this.rows(relation.target)
    if (relation.kind === 'one') return targets.filter(one => one.id === row[relation.field])
    if (relation.kind === 'many') return targets.filter(one => one[relation.field] === row.id)
    return targets.filter(target =>
      this.rows(relation.through).some(
        join => join[relation.from] === row.id && join[relation.to] === target.id,
      ),
    )
  }

  // --- what the caller can see

  exists(of: Collection, name: string): boolean {
    const field = of.fields.get(name)
    if (!field) return false
    if (this.who.access.system) return true
    return !field.internal && !field.writeOnly && this.anyway(field.access.read, of) !== false
  }

  shown(of: Collection, row: Row, name: string): JsonValue {
    const field = of.fields.get(name)
    return field && this.holds(field.access.read, of, row) ? (row[name] ?? null) : null
  }

  visible(of: Collection): Row[] {
    return this.rows(of.name).filter(row => this.holds(of.access.read, of, row))
  }

  /** The rows at the other end that the caller can read. */
  reached(of: Collection, relation: Relation, row: Row): Row[] {
    const target = this.collection(relation.target)
    const targets = this.visible(target)
    if (relation.kind === 'one') {
      const link = this.shown(of, row, relation.field)
      return targets.filter(one => link !== null && one.id === link)
    }
    if (relation.kind === 'many') {
      return targets.filter(one => this.shown(target, one, relation.field) === row.id)
    }
    const through = this.collection(relation.through)
    return targets.filter(one =>
      this.visible(through).some(
        join =>
          this.shown(through, join, relation.from) === row.id &&
          this.shown(through, join, relation.to) === one.id,
      ),
    )
  }

  // --- refusals

  mustHaveScope(action: string, of: Collection): void {
    if (!this.scope(`${action}:${of.singular}`)) this.errors.add('INSUFFICIENT_SCOPE')
  }

  mustBePossible(rule: Rule, of: Collection): void {
    if (this.anyway(rule, of) === false) this.errors.add(this.isAnonymous() ? 'UNAUTHORIZED' : 'FORBIDDEN')
  }

  mustRead(of: Collection): void {
    this.mustHaveScope('read', of)
    this.mustBePossible(of.access.read, of)
  }

  /** The relation, or undefined if it is hidden from the caller. */
  mustReach(of: Collection, name: string): Relation | undefined {
    const relation = of.relations.get(name)
    const target = relation && this.collection(relation.target)
    const known =
      relation &&
      target &&
      (relation.kind === 'one'
        ? this.exists(of, relation.field)
        : relation.kind === 'many'
          ? this.exists(target, relation.field)
          : this.exists(this.collection(relation.through), relation.from) &&
            this.exists(this.collection(relation.through), relation.to))
    if (!known) {
      this.errors.add('BAD_REQUEST')
      return undefined
    }
    this.mustRead(target)
    if (relation.kind === 'manyToMany') this.mustRead(this.collection(relation.through))
    return relation
  }

  mustKnow(of: Collection, name: string): void {
    if (!this.exists(of, name)) this.errors.add('BAD_REQUEST')
  }

  checkFilter(filter: Filter | undefined, of: Collection): void {
    if (filter === undefined) return
    if (filter.kind === 'compare') {
      this.mustKnow(of, filter.field)
      if (!of.fields.get(filter.field)?.type.operators.includes(filter.operator))
        this.errors.add('BAD_REQUEST')
    } else if (filter.kind === 'related') {
      const relation = this.mustReach(of, filter.relation)
      if (relation) this.checkFilter(filter.filter, this.collection(relation.target))
    } else if (filter.kind === 'not') {
      this.checkFilter(filter.filter, of)
    } else {
      for (const one of filter.filters) this.checkFilter(one, of)
    }
  }

  checkSort(sort: readonly Sort[], of: Collection, search?: number): void {
    const keys = totalSort(sort)
    if (keys.some(key => key.field === 'q')) {
      const expected = search === undefined ? [] : totalSort([{ field: 'q', descending: true }])
      if (!isDeepStrictEqual(keys, expected)) this.errors.add('BAD_REQUEST')
      return
    }
    for (const key of keys.filter(one => one.field !== 'id')) {
      this.mustKnow(of, key.field)
      if (!of.fields.get(key.field)?.type.sortable) this.errors.add('BAD_REQUEST')
    }
  }

  checkSelect(select: readonly Selected[], of: Collection): void {
    for (const one of select) {
      if (one.kind === 'field') this.mustKnow(of, one.field)
      if (one.kind !== 'relation') continue
      const relation = this.mustReach(of, one.relation)
      if (!relation) continue
      const target = this.collection(relation.target)
      this.checkSelect(one.select, target)
      if (relation.kind === 'one') continue
      this.checkFilter(one.list?.filter, target)
      this.checkSort(one.list?.sort ?? [], target)
    }
  }

  // --- answers

  fulfils(filter: Filter | undefined, of: Collection, row: Row): boolean {
    if (filter === undefined) return true
    switch (filter.kind) {
      case 'and':
        return filter.filters.every(one => this.fulfils(one, of, row))
      case 'or':
        return filter.filters.some(one => this.fulfils(one, of, row))
      case 'not':
        return !this.fulfils(filter.filter, of, row)
      case 'related': {
        const relation = relationOf(of, filter.relation)
        const target = this.collection(relation.target)
        return this.reached(of, relation, row).some(one => this.fulfils(filter.filter, target, one))
      }
      case 'compare': {
        const value = this.shown(of, row, filter.field)
        const wanted = this.args[filter.param] ?? null
        if (filter.operator === 'null') return (value === null) === wanted
        if (filter.operator === 'contains') return value !== null && String(value).includes(String(wanted))
        if (filter.operator === 'icontains')
          return value !== null && caseless(String(wanted)).test(String(value))
        if (filter.operator === 'starts_with')
          return value !== null && String(value).startsWith(String(wanted))
        return test(value, filter.operator, wanted)
      }
    }
  }

  /** The fields of a search: those that the caller may read in every row. */
  searched(of: Collection): string[] {
    return of.searchable
      .map(field => field.name)
      .filter(name => this.exists(of, name) && this.anyway(of.fields.get(name)?.access.read ?? never, of))
  }

  /** Whether each search term is in one of the fields. */
  finds(search: number, of: Collection, row: Row): boolean {
    const there = this.searched(of).flatMap(name => words(this.shown(of, row, name)))
    const wanted = words(this.args[search] ?? null)
    return wanted.length > 0 && wanted.every(word => there.includes(word))
  }

  pick(select: readonly Selected[], of: Collection, row: Row): JsonValue {
    const picked: Record<string, JsonValue> = {}
    for (const one of select) {
      if (one.kind === 'constant') picked[one.key] = one.value
      if (one.kind === 'field') picked[one.key] = this.shown(of, row, one.field)
      if (one.kind !== 'relation') continue
      const relation = relationOf(of, one.relation)
      const target = this.collection(relation.target)
      const rows = this.reached(of, relation, row)
      if (relation.kind === 'one') {
        const [only] = rows
        picked[one.key] = only ? this.pick(one.select, target, only) : null
      } else {
        picked[one.key] = this.ordered(
          rows.filter(each => this.fulfils(one.list?.filter, target, each)),
          one.list?.sort ?? [],
          target,
        )
          .slice(0, Number(this.args[one.list?.limit ?? 0]))
          .map(each => this.pick(one.select, target, each))
      }
    }
    return picked
  }

  /** The sum over the fields that contain all terms: the shorter the field, the more it adds. */
  rank(search: number | undefined, of: Collection, row: Row): number {
    const wanted = words(this.args[search ?? -1] ?? null)
    const fields = this.searched(of).map(name => this.shown(of, row, name))
    return fields
      .filter(text => wanted.every(word => words(text).includes(word)))
      .reduce<number>(
        (sum, text) => sum + Math.trunc(1_000_000_000 / (100 + Buffer.byteLength(String(text)))),
        0,
      )
  }

  keys(sort: readonly Sort[], of: Collection, row: Row, search?: number): JsonValue[] {
    return totalSort(sort).map(key =>
      key.field === 'q' ? this.rank(search, of, row) : this.shown(of, row, key.field),
    )
  }

  ordered(rows: readonly Row[], sort: readonly Sort[], of: Collection, search?: number): Row[] {
    const keys = (row: Row) => this.keys(sort, of, row, search)
    return [...rows].sort((a, b) => compareKeys(keys(a), keys(b), sort))
  }
}

/** The expected answer to a read. */
export function readReference(
  model: Model,
  data: Data,
  who: Principal,
  plan: Plan<ReadShape>,
  evaluation = new Evaluation(model, data, who, plan.args),
): ReadResult {
  if (plan.shape.kind === 'aggregate') throw new TypeError('see aggregates.ts')
  return plan.shape.kind === 'item' ? readItem(evaluation, plan.shape) : readList(evaluation, plan.shape)
}

function readItem(evaluation: Evaluation, shape: ItemShape): ReadResult {
  const of = evaluation.collection(shape.collection)
  evaluation.mustRead(of)
  evaluation.checkSelect(shape.select, of)
  if (evaluation.errors.size > 0) return evaluation
  const row = evaluation.visible(of).find(one => one.id === evaluation.args[shape.id])
  return { item: row ? evaluation.pick(shape.select, of, row) : null }
}

function readList(evaluation: Evaluation, shape: ListShape): ReadResult {
  const of = evaluation.collection(shape.collection)
  evaluation.mustRead(of)
  const parent = shape.within && evaluation.collection(shape.within.collection)
  if (parent) evaluation.mustRead(parent)
  const relation = parent && shape.within && evaluation.mustReach(parent, shape.within.relation)
  evaluation.checkFilter(shape.filter, of)
  if (shape.search !== undefined && evaluation.searched(of).length === 0) evaluation.errors.add('BAD_REQUEST')
  evaluation.checkSort(shape.sort, of, shape.search)
  evaluation.checkSelect(shape.select, of)
  if (evaluation.errors.size > 0) return evaluation
  const parentRow =
    parent && evaluation.visible(parent).find(one => one.id === evaluation.args[shape.within?.id ?? 0])
  if (parent && !parentRow) return { list: null }
  const members =
    parent && parentRow && relation ? evaluation.reached(parent, relation, parentRow) : evaluation.visible(of)
  const { search } = shape
  const matching = members.filter(
    row =>
      evaluation.fulfils(shape.filter, of, row) &&
      (search === undefined || evaluation.finds(search, of, row)),
  )
  const sorted = evaluation.ordered(matching, shape.sort, of, search)
  const { window } = shape
  const limit = Number(evaluation.args[window.limit])
  const show = (rows: Row[]) => rows.map(row => evaluation.pick(shape.select, of, row))
  if (window.kind === 'page') {
    const offset = Number(evaluation.args[window.offset])
    const list = show(sorted.slice(offset, offset + limit))
    const more = sorted.length > offset + limit
    if (window.total === 'none') return { list, more }
    return { list, total: matching.length, ...(window.total === 'estimate' && { more }) }
  }
  const after = window.after?.map(param => evaluation.args[param] ?? null)
  const following = sorted.filter(
    row =>
      after === undefined || compareKeys(evaluation.keys(shape.sort, of, row, search), after, shape.sort) > 0,
  )
  const page = following.slice(0, limit)
  const last = page.at(-1)
  const next = last && following.length > limit ? evaluation.keys(shape.sort, of, last, search) : null
  return { list: show(page), next }
}

/** The expected data after a write. `nextId`: the id of a new item, if it does not follow from the rows. */
export function writeReference(
  model: Model,
  data: Data,
  who: Principal,
  plan: Plan<WriteShape>,
  nextId?: number,
): WriteResult {
  const evaluation = new Evaluation(model, data, who, plan.args)
  switch (plan.shape.kind) {
    case 'create':
      return create(evaluation, plan.shape, nextId)
    case 'update':
      return update(evaluation, plan.shape)
    case 'delete':
      return remove(evaluation, plan.shape)
  }
}

function create(evaluation: Evaluation, shape: CreateShape, nextId?: number): WriteResult {
  const of = evaluation.collection(shape.collection)
  evaluation.mustHaveScope('write', of)
  evaluation.mustBePossible(of.access.create, of)
  evaluation.checkSelect(shape.select, of)
  checkSet(evaluation, shape.set, of, false)
  if (evaluation.errors.size > 0) return evaluation
  const id = nextId ?? Math.max(0, ...evaluation.rows(of.name).map(row => Number(row.id))) + 1
  const row: Record<string, JsonValue> = { id }
  for (const field of of.fields.values()) {
    if (field.name !== 'id') row[field.name] = initialValue(evaluation, of, field.name)
  }
  for (const one of [...shape.set, ...shape.computed]) row[one.field] = evaluation.args[one.param] ?? null
  const given = new Set([...shape.set, ...shape.computed].map(one => one.field))
  for (const field of of.fields.values()) {
    if (field.name !== 'id' && !given.has(field.name) && !field.optional && row[field.name] === null)
      evaluation.errors.add('VALIDATION_FAILED')
  }
  checkReferences(evaluation, shape.set, of)
  const data = { ...evaluation.data, [of.name]: [...evaluation.rows(of.name), row] }
  const later = new Evaluation(evaluation.model, data, evaluation.who, evaluation.args)
  if (!later.holds(of.access.create, of, row)) evaluation.errors.add('FORBIDDEN')
  for (const one of shape.set) {
    const field = of.fields.get(one.field)
    if (field && !later.holds(field.access.write, of, row)) evaluation.errors.add('FORBIDDEN')
  }
  return evaluation.errors.size > 0 ? evaluation : { data, id }
}

function update(evaluation: Evaluation, shape: UpdateShape): WriteResult {
  const of = evaluation.collection(shape.collection)
  evaluation.mustHaveScope('write', of)
  evaluation.mustBePossible(of.access.update, of)
  evaluation.mustRead(of)
  evaluation.checkSelect(shape.select, of)
  checkSet(evaluation, shape.set, of, true)
  const always = (name: string) =>
    evaluation.anyway(of.fields.get(name)?.access.write ?? { kind: 'nobody' }, of)
  const named = new Set(shape.set.map(one => one.field))
  const reset =
    shape.mode === 'merge'
      ? []
      : [...of.fields.values()].filter(field => {
          const taken = field.name !== 'id' && !field.readOnly && !field.internal && !field.immutable
          return taken && !named.has(field.name) && evaluation.anyway(field.access.write, of) !== false
        })
  const needed = reset.filter(field => !field.optional && initialValue(evaluation, of, field.name) === null)
  if (needed.some(field => always(field.name))) evaluation.errors.add('VALIDATION_FAILED')
  if (evaluation.errors.size > 0) return evaluation
  const id = Number(evaluation.args[shape.id])
  const before = evaluation.visible(of).find(row => row.id === id)
  if (!before) return { errors: new Set(['NOT_FOUND']) }
  const row: Record<string, JsonValue> = { ...before }
  for (const field of reset) {
    if (!evaluation.holds(field.access.write, of, before)) continue
    row[field.name] = initialValue(evaluation, of, field.name)
    if (needed.includes(field)) evaluation.errors.add('VALIDATION_FAILED')
  }
  const kept = new Set<string>()
  for (const one of shape.set) {
    const value = evaluation.args[one.param] ?? null
    const merges = shape.documents === 'merge' && of.fields.get(one.field)?.type.name === 'json'
    row[one.field] = merges ? merged(before[one.field], value) : value
    const same = isDeepStrictEqual(row[one.field], before[one.field] ?? null)
    if (same && seesStored(evaluation, of, before, one.field)) kept.add(one.field)
  }
  const data = {
    ...evaluation.data,
    [of.name]: evaluation.rows(of.name).map(one => (one === before ? row : one)),
  }
  const later = new Evaluation(evaluation.model, data, evaluation.who, evaluation.args)
  if (!passes(evaluation, shape.ifMatch)) evaluation.errors.add('PRECONDITION_FAILED')
  if (!evaluation.holds(of.access.update, of, before)) evaluation.errors.add('FORBIDDEN')
  if (!later.holds(of.access.update, of, row)) evaluation.errors.add('FORBIDDEN')
  const written = shape.set.filter(one => !kept.has(one.field))
  for (const { field: name } of written) {
    const field = of.fields.get(name)
    if (field && !evaluation.holds(field.access.write, of, before)) evaluation.errors.add('FORBIDDEN')
  }
  checkReferences(evaluation, written, of)
  return evaluation.errors.size > 0 ? evaluation : { data, id }
}

/** Whether the caller can read the stored value of the field. */
function seesStored(evaluation: Evaluation, of: Collection, row: Row, name: string): boolean {
  const field = of.fields.get(name)
  return field !== undefined && evaluation.exists(of, name) && evaluation.holds(field.access.read, of, row)
}

/** The algorithm of RFC 7396, section 2. */
function merged(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
  const result: Record<string, JsonValue> = isObject ? { ...(target as object) } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else {
      const made = merged(Object.hasOwn(result, name) ? result[name] : undefined, value)
      // Not by assignment: a member may be named `__proto__`.
      Object.defineProperty(result, name, {
        value: made,
        enumerable: true,
        writable: true,
        configurable: true,
      })
    }
  }
  return result
}

function remove(evaluation: Evaluation, shape: DeleteShape): WriteResult {
  const of = evaluation.collection(shape.collection)
  evaluation.mustHaveScope('write', of)
  evaluation.mustBePossible(of.access.delete, of)
  evaluation.mustRead(of)
  if (evaluation.errors.size > 0) return evaluation
  const id = Number(evaluation.args[shape.id])
  const before = evaluation.visible(of).find(row => row.id === id)
  if (!before) return { errors: new Set(['NOT_FOUND']) }
  if (!evaluation.holds(of.access.delete, of, before)) return { errors: new Set(['FORBIDDEN']) }
  if (!passes(evaluation, shape.ifMatch)) return { errors: new Set(['PRECONDITION_FAILED']) }
  return {
    data: { ...evaluation.data, [of.name]: evaluation.rows(of.name).filter(row => row !== before) },
    id,
  }
}

function checkSet(
  evaluation: Evaluation,
  set: readonly Assignment[],
  of: Collection,
  existing: boolean,
): void {
  const { system } = evaluation.who.access
  for (const one of set) {
    const field = of.fields.get(one.field)
    const closed =
      !field ||
      field.name === 'id' ||
      (!system && (field.internal || field.readOnly || (existing && field.immutable)))
    if (closed) evaluation.errors.add('VALIDATION_FAILED')
    else if (evaluation.anyway(field.access.write, of) !== false) continue
    // An update may set an unwritable field to its current value, so this depends on the row.
    else if (!existing || !evaluation.exists(of, field.name)) evaluation.errors.add('FORBIDDEN')
  }
}

function checkReferences(evaluation: Evaluation, set: readonly Assignment[], of: Collection): void {
  for (const one of set) {
    const target = of.fields.get(one.field)?.reference?.target
    const id = evaluation.args[one.param] ?? null
    if (target === undefined || id === null || (target === 'users' && id === evaluation.who.userId)) continue
    if (!evaluation.visible(evaluation.collection(target)).some(row => row.id === id))
      evaluation.errors.add('VALIDATION_FAILED')
  }
}

function initialValue(evaluation: Evaluation, of: Collection, name: string): JsonValue {
  const standard = of.fields.get(name)?.default
  if (name === 'created_at' || standard?.kind === 'now') return TIME
  if (standard?.kind === 'currentUser') return evaluation.who.userId
  return standard?.kind === 'value' ? standard.value : null
}

function relationOf(of: Collection, name: string): Relation {
  const relation = of.relations.get(name)
  if (!relation) throw new Error(`no ${of.name}.${name}`)
  return relation
}

function test(value: JsonValue, comparison: Comparison, wanted: JsonValue): boolean {
  if (value === null || wanted === null) return false
  switch (comparison) {
    case 'eq':
      return value === wanted
    case 'ne':
      return value !== wanted
    case 'in':
      return Array.isArray(wanted) ? wanted.includes(value) : value === wanted
    case 'gt':
      return order(value, wanted) > 0
    case 'gte':
      return order(value, wanted) >= 0
    case 'lt':
      return order(value, wanted) < 0
    case 'lte':
      return order(value, wanted) <= 0
  }
}

function order(a: JsonValue, b: JsonValue): number {
  if (a === b) return 0
  if (a === null) return -1
  if (b === null) return 1
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Number(a) - Number(b)
}

function totalSort(sort: readonly Sort[]): Sort[] {
  const upToId = sort.findIndex(key => key.field === 'id')
  if (upToId >= 0) return sort.slice(0, upToId + 1)
  const last = sort[sort.length - 1]
  return [...sort, { field: 'id', descending: last?.descending ?? false }]
}

/** Compares two positions in the order; negative if `a` comes first. */
export function compareKeys(a: readonly JsonValue[], b: readonly JsonValue[], sort: readonly Sort[]): number {
  for (const [i, key] of totalSort(sort).entries()) {
    const result = order(a[i] ?? null, b[i] ?? null)
    if (result !== 0) return key.descending ? -result : result
  }
  return 0
}

/** Whether the caller may read the row. */
export function mayRead(model: Model, data: Data, who: Principal, of: Collection, row: Row): boolean {
  const evaluation = new Evaluation(model, data, who, [])
  return evaluation.scope(`read:${of.singular}`) && evaluation.holds(of.access.read, of, row)
}

/** Whether the caller may read the field of a readable row. */
export function maySee(
  model: Model,
  data: Data,
  who: Principal,
  of: Collection,
  row: Row,
  name: string,
): boolean {
  const evaluation = new Evaluation(model, data, who, [])
  const field = of.fields.get(name)
  return field !== undefined && evaluation.exists(of, name) && evaluation.holds(field.access.read, of, row)
}
