/**
 * The reference: the expected result of a plan, computed naively on plain rows from the definitions of rules, plans and
 * fields. Shares no code with the guard.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ErrorCode } from '../../../src/base/errors.ts'
import type { Principal } from '../../../src/base/principal.ts'
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
} from '../../../src/engine/plan/plan.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection, Field, Model, Relation } from '../../../src/model/model.ts'
import type { Comparison, Rule, RuleOperand } from '../../../src/model/rule/rule.ts'

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
      readonly hasMore?: boolean
    }
export type WriteResult = Refused | { readonly data: Data; readonly id: number }

export const requestTime = '2026-01-01T00:00:00.000Z'

/** The time of every request. */
export const requestTimeMs = Date.parse(requestTime)

/** A claim if the field can have this value; otherwise null. */
export function claimValue(claim: string | number | boolean, { type }: Field): JsonValue {
  const expected = { integer: 'number', text: 'string', string: 'string', boolean: 'boolean' }[type.name]
  // The ids of relations are integers too.
  if (typeof claim !== (expected ?? 'number')) return null
  return typeof claim === 'number' && !Number.isInteger(claim) ? null : claim
}

const never: Rule = { kind: 'nobody' }

/** The words of a text, for the texts that the tests use. */
export function termsOf(text: JsonValue): readonly string[] {
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
  const expected = ifMatch === undefined ? '*' : evaluation.args[ifMatch]
  return expected === '*' || (Array.isArray(expected) && expected.includes('current'))
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
    const collection = this.model.collections.get(name)
    if (!collection) throw new Error(`no ${name}`)
    return collection
  }

  rows(name: string): readonly Row[] {
    return this.data[name] ?? []
  }

  // --- the meaning of rules

  holds(rule: Rule, collection: Collection, row: Row): boolean {
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
        return rule.parts.every(part => this.holds(part, collection, row))
      case 'or':
        return rule.parts.some(part => this.holds(part, collection, row))
      case 'not':
        return !this.holds(rule.part, collection, row)
      case 'related': {
        const relation = relationOf(collection, rule.relation)
        const target = this.collection(relation.target)
        return this.linkedRows(relation, row).some(related => this.holds(rule.rule, target, related))
      }
      case 'compare': {
        const [value, field] = this.valueAt(rule.field, collection, row)
        const expected = this.operand(rule.operand, field, collection, row)
        if (rule.operand.kind !== 'literal') return test(value, rule.comparison, expected)
        if (expected === null && rule.comparison === 'eq') return value === null
        if (expected === null && rule.comparison === 'ne') return value !== null
        return test(value, rule.comparison, expected)
      }
    }
  }

  /** The value at the end of a path along to-one relations, and its field. */
  valueAt(path: string, collection: Collection, row: Row | undefined): readonly [JsonValue, Field] {
    const [name = '', ...rest] = path.split('.')
    if (rest.length > 0) {
      const relation = relationOf(collection, name)
      const [only] = row === undefined ? [] : this.linkedRows(relation, row)
      return this.valueAt(rest.join('.'), this.collection(relation.target), only)
    }
    const field = collection.fields.get(name)
    if (!field) throw new Error(`no ${name}`)
    return [row?.[name] ?? null, field]
  }

  /** The value that a field is compared with; null if there is none. */
  operand(operand: RuleOperand, field: Field, collection: Collection, row: Row): JsonValue {
    const { userId, app, claims } = this.who
    switch (operand.kind) {
      case 'literal':
        return operand.value as JsonValue
      case 'userId':
        return userId
      case 'appId':
        return app?.id ?? null
      case 'now':
        return new Date(requestTimeMs + operand.shiftMs).toISOString()
      case 'field':
        return this.valueAt(operand.field, collection, row)[0]
      case 'caller':
        // Like `currentUser`, even if the account was just deleted.
        if (operand.field === 'id') return userId
        return this.rows('users').find(row => userId !== null && row.id === userId)?.[operand.field] ?? null
      case 'claim': {
        const claim = claims?.values.get(operand.claim)
        return claim === undefined ? null : claimValue(claim, field)
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
  constantResult(rule: Rule, collection: Collection): boolean | undefined {
    if (this.who.access.system) return true
    switch (rule.kind) {
      case 'compare': {
        const { operand, comparison } = rule
        if (operand.kind === 'now' || operand.kind === 'field') return undefined
        if (operand.kind !== 'literal') return this.who.userId === null ? false : undefined
        if (operand.value === null) return comparison === 'eq' || comparison === 'ne' ? undefined : false
        const canMatch = Array.isArray(operand.value) ? operand.value.some(value => value !== null) : true
        return canMatch ? undefined : false
      }
      case 'related': {
        const target = this.collection(relationOf(collection, rule.relation).target)
        return this.constantResult(rule.rule, target) === false ? false : undefined
      }
      case 'and': {
        const all = rule.parts.map(part => this.constantResult(part, collection))
        return all.includes(false) ? false : all.includes(undefined) ? undefined : true
      }
      case 'or': {
        const all = rule.parts.map(part => this.constantResult(part, collection))
        return all.includes(true) ? true : all.includes(undefined) ? undefined : false
      }
      case 'not': {
        const inner = this.constantResult(rule.part, collection)
        return inner === undefined ? undefined : !inner
      }
      default:
        return this.holds(rule, collection, {})
    }
  }

  /** The stored rows at the other end. */
  linkedRows(relation: Relation, row: Row): Row[] {
    const targets = this.rows(relation.target)
    if (relation.kind === 'one') return targets.filter(target => target.id === row[relation.field])
    if (relation.kind === 'many') return targets.filter(target => target[relation.field] === row.id)
    return targets.filter(target =>
      this.rows(relation.through).some(
        join => join[relation.from] === row.id && join[relation.to] === target.id,
      ),
    )
  }

  // --- what the caller can see

  exists(collection: Collection, name: string): boolean {
    const field = collection.fields.get(name)
    if (!field) return false
    if (this.who.access.system) return true
    return !field.internal && !field.writeOnly && this.constantResult(field.access.read, collection) !== false
  }

  valueOf(collection: Collection, row: Row, name: string): JsonValue {
    const field = collection.fields.get(name)
    return field && this.holds(field.access.read, collection, row) ? (row[name] ?? null) : null
  }

  visible(collection: Collection): Row[] {
    return this.rows(collection.name).filter(row => this.holds(collection.access.read, collection, row))
  }

  /** The rows at the other end that the caller can read. */
  readableRows(collection: Collection, relation: Relation, row: Row): Row[] {
    const target = this.collection(relation.target)
    const targets = this.visible(target)
    if (relation.kind === 'one') {
      const link = this.valueOf(collection, row, relation.field)
      return targets.filter(target => link !== null && target.id === link)
    }
    if (relation.kind === 'many') {
      return targets.filter(other => this.valueOf(target, other, relation.field) === row.id)
    }
    const through = this.collection(relation.through)
    return targets.filter(target =>
      this.visible(through).some(
        join =>
          this.valueOf(through, join, relation.from) === row.id &&
          this.valueOf(through, join, relation.to) === target.id,
      ),
    )
  }

  // --- refusals

  mustHaveScope(action: string, collection: Collection): void {
    if (!this.scope(`${action}:${collection.singular}`)) this.errors.add('INSUFFICIENT_SCOPE')
  }

  mustBePossible(rule: Rule, collection: Collection): void {
    if (this.constantResult(rule, collection) === false)
      this.errors.add(this.isAnonymous() ? 'UNAUTHORIZED' : 'FORBIDDEN')
  }

  mustRead(collection: Collection): void {
    this.mustHaveScope('read', collection)
    this.mustBePossible(collection.access.read, collection)
  }

  /** The relation, or undefined if it is hidden from the caller. */
  mustReach(collection: Collection, name: string): Relation | undefined {
    const relation = collection.relations.get(name)
    const target = relation && this.collection(relation.target)
    const isKnown =
      relation &&
      target &&
      (relation.kind === 'one'
        ? this.exists(collection, relation.field)
        : relation.kind === 'many'
          ? this.exists(target, relation.field)
          : this.exists(this.collection(relation.through), relation.from) &&
            this.exists(this.collection(relation.through), relation.to))
    if (!isKnown) {
      this.errors.add('BAD_REQUEST')
      return undefined
    }
    this.mustRead(target)
    if (relation.kind === 'manyToMany') this.mustRead(this.collection(relation.through))
    return relation
  }

  mustKnow(collection: Collection, name: string): void {
    if (!this.exists(collection, name)) this.errors.add('BAD_REQUEST')
  }

  checkFilter(filter: Filter | undefined, collection: Collection): void {
    if (filter === undefined) return
    if (filter.kind === 'compare') {
      this.mustKnow(collection, filter.field)
      if (!collection.fields.get(filter.field)?.type.operators.includes(filter.operator))
        this.errors.add('BAD_REQUEST')
    } else if (filter.kind === 'related') {
      const relation = this.mustReach(collection, filter.relation)
      if (relation) this.checkFilter(filter.filter, this.collection(relation.target))
    } else if (filter.kind === 'not') {
      this.checkFilter(filter.part, collection)
    } else {
      for (const part of filter.parts) this.checkFilter(part, collection)
    }
  }

  checkSort(sort: readonly Sort[], collection: Collection, search?: number): void {
    const keys = totalSort(sort)
    if (keys.some(key => key.field === 'q')) {
      const expected = search === undefined ? [] : totalSort([{ field: 'q', descending: true }])
      if (!isDeepStrictEqual(keys, expected)) this.errors.add('BAD_REQUEST')
      return
    }
    for (const key of keys.filter(key => key.field !== 'id')) {
      this.mustKnow(collection, key.field)
      if (!collection.fields.get(key.field)?.type.sortable) this.errors.add('BAD_REQUEST')
    }
  }

  checkSelect(select: readonly Selected[], collection: Collection): void {
    for (const selection of select) {
      if (selection.kind === 'field') this.mustKnow(collection, selection.field)
      if (selection.kind !== 'relation') continue
      const relation = this.mustReach(collection, selection.relation)
      if (!relation) continue
      const target = this.collection(relation.target)
      this.checkSelect(selection.select, target)
      if (relation.kind === 'one') continue
      this.checkFilter(selection.list?.filter, target)
      this.checkSort(selection.list?.sort ?? [], target)
    }
  }

  // --- answers

  fulfils(filter: Filter | undefined, collection: Collection, row: Row): boolean {
    if (filter === undefined) return true
    switch (filter.kind) {
      case 'and':
        return filter.parts.every(part => this.fulfils(part, collection, row))
      case 'or':
        return filter.parts.some(filter => this.fulfils(filter, collection, row))
      case 'not':
        return !this.fulfils(filter.part, collection, row)
      case 'related': {
        const relation = relationOf(collection, filter.relation)
        const target = this.collection(relation.target)
        return this.readableRows(collection, relation, row).some(related =>
          this.fulfils(filter.filter, target, related),
        )
      }
      case 'compare': {
        const value = this.valueOf(collection, row, filter.field)
        const expected = this.args[filter.param] ?? null
        if (filter.operator === 'null') return (value === null) === expected
        if (filter.operator === 'contains') return value !== null && String(value).includes(String(expected))
        if (filter.operator === 'icontains')
          return value !== null && caseless(String(expected)).test(String(value))
        if (filter.operator === 'starts_with')
          return value !== null && String(value).startsWith(String(expected))
        return test(value, filter.operator, expected)
      }
    }
  }

  /** The fields of a search: those that the caller may read in every row. */
  searchFields(collection: Collection): string[] {
    return collection.searchable
      .map(field => field.name)
      .filter(
        name =>
          this.exists(collection, name) &&
          this.constantResult(collection.fields.get(name)?.access.read ?? never, collection),
      )
  }

  /** Whether each search term is in one of the fields. */
  finds(search: number, collection: Collection, row: Row): boolean {
    const found = this.searchFields(collection).flatMap(name => termsOf(this.valueOf(collection, row, name)))
    const expected = termsOf(this.args[search] ?? null)
    return expected.length > 0 && expected.every(word => found.includes(word))
  }

  represent(select: readonly Selected[], collection: Collection, row: Row): JsonValue {
    const representation: Record<string, JsonValue> = {}
    for (const selection of select) {
      if (selection.kind === 'constant') representation[selection.key] = selection.value
      if (selection.kind === 'field')
        representation[selection.key] = this.valueOf(collection, row, selection.field)
      if (selection.kind !== 'relation') continue
      const relation = relationOf(collection, selection.relation)
      const target = this.collection(relation.target)
      const rows = this.readableRows(collection, relation, row)
      if (relation.kind === 'one') {
        const [only] = rows
        representation[selection.key] = only ? this.represent(selection.select, target, only) : null
      } else {
        representation[selection.key] = this.sortRows(
          rows.filter(row => this.fulfils(selection.list?.filter, target, row)),
          selection.list?.sort ?? [],
          target,
        )
          .slice(0, Number(this.args[selection.list?.limit ?? 0]))
          .map(related => this.represent(selection.select, target, related))
      }
    }
    return representation
  }

  /** The sum over the fields that contain all terms: the shorter the field, the more it adds. */
  rank(search: number | undefined, collection: Collection, row: Row): number {
    const expected = termsOf(this.args[search ?? -1] ?? null)
    const fields = this.searchFields(collection).map(name => this.valueOf(collection, row, name))
    return fields
      .filter(text => expected.every(word => termsOf(text).includes(word)))
      .reduce<number>(
        (sum, text) => sum + Math.trunc(1_000_000_000 / (100 + Buffer.byteLength(String(text)))),
        0,
      )
  }

  keys(sort: readonly Sort[], collection: Collection, row: Row, search?: number): JsonValue[] {
    return totalSort(sort).map(key =>
      key.field === 'q' ? this.rank(search, collection, row) : this.valueOf(collection, row, key.field),
    )
  }

  sortRows(rows: readonly Row[], sort: readonly Sort[], collection: Collection, search?: number): Row[] {
    const keys = (row: Row) => this.keys(sort, collection, row, search)
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
  const collection = evaluation.collection(shape.collection)
  evaluation.mustRead(collection)
  evaluation.checkSelect(shape.select, collection)
  if (evaluation.errors.size > 0) return evaluation
  const row = evaluation.visible(collection).find(row => row.id === evaluation.args[shape.id])
  return { item: row ? evaluation.represent(shape.select, collection, row) : null }
}

function readList(evaluation: Evaluation, shape: ListShape): ReadResult {
  const collection = evaluation.collection(shape.collection)
  evaluation.mustRead(collection)
  const parent = shape.within && evaluation.collection(shape.within.collection)
  if (parent) evaluation.mustRead(parent)
  const relation = parent && shape.within && evaluation.mustReach(parent, shape.within.relation)
  evaluation.checkFilter(shape.filter, collection)
  if (shape.search !== undefined && evaluation.searchFields(collection).length === 0)
    evaluation.errors.add('BAD_REQUEST')
  evaluation.checkSort(shape.sort, collection, shape.search)
  evaluation.checkSelect(shape.select, collection)
  if (evaluation.errors.size > 0) return evaluation
  const parentRow =
    parent && evaluation.visible(parent).find(row => row.id === evaluation.args[shape.within?.id ?? 0])
  if (parent && !parentRow) return { list: null }
  const members =
    parent && parentRow && relation
      ? evaluation.readableRows(parent, relation, parentRow)
      : evaluation.visible(collection)
  const { search } = shape
  const matching = members.filter(
    row =>
      evaluation.fulfils(shape.filter, collection, row) &&
      (search === undefined || evaluation.finds(search, collection, row)),
  )
  const sorted = evaluation.sortRows(matching, shape.sort, collection, search)
  const { window } = shape
  const limit = Number(evaluation.args[window.limit])
  const show = (rows: Row[]) => rows.map(row => evaluation.represent(shape.select, collection, row))
  if (window.kind === 'page') {
    const offset = Number(evaluation.args[window.offset])
    const list = show(sorted.slice(offset, offset + limit))
    const hasMore = sorted.length > offset + limit
    if (window.total === 'none') return { list, hasMore }
    return { list, total: matching.length, ...(window.total === 'estimate' && { hasMore }) }
  }
  const after = window.after?.map(param => evaluation.args[param] ?? null)
  const following = sorted.filter(
    row =>
      after === undefined ||
      compareKeys(evaluation.keys(shape.sort, collection, row, search), after, shape.sort) > 0,
  )
  const page = following.slice(0, limit)
  const last = page.at(-1)
  const next = last && following.length > limit ? evaluation.keys(shape.sort, collection, last, search) : null
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
  const collection = evaluation.collection(shape.collection)
  evaluation.mustHaveScope('write', collection)
  evaluation.mustBePossible(collection.access.create, collection)
  evaluation.checkSelect(shape.select, collection)
  checkSet(evaluation, shape.set, collection, false)
  if (evaluation.errors.size > 0) return evaluation
  const id = nextId ?? Math.max(0, ...evaluation.rows(collection.name).map(row => Number(row.id))) + 1
  const row: Record<string, JsonValue> = { id }
  for (const field of collection.fields.values()) {
    if (field.name !== 'id') row[field.name] = initialValue(evaluation, collection, field.name)
  }
  for (const assignment of [...shape.set, ...shape.computed])
    row[assignment.field] = evaluation.args[assignment.param] ?? null
  const provided = new Set([...shape.set, ...shape.computed].map(assignment => assignment.field))
  for (const field of collection.fields.values()) {
    if (field.name !== 'id' && !provided.has(field.name) && !field.optional && row[field.name] === null)
      evaluation.errors.add('VALIDATION_FAILED')
  }
  checkReferences(evaluation, shape.set, collection)
  const data = { ...evaluation.data, [collection.name]: [...evaluation.rows(collection.name), row] }
  // The rules hold among all items and, where the new id does not matter, among the other items alone.
  const rules = [
    collection.access.create,
    ...shape.set.flatMap(({ field }) => collection.fields.get(field)?.access.write ?? []),
  ]
  const later = new Evaluation(evaluation.model, data, evaluation.who, evaluation.args)
  for (const rule of rules) {
    const isPossible = evaluation.holds(possibly(rule, collection.name, true), collection, row)
    if (!isPossible || !later.holds(rule, collection, row)) evaluation.errors.add('FORBIDDEN')
  }
  return evaluation.errors.size > 0 ? evaluation : { data, id }
}

/** The rule with `result` in place of comparisons of the item's own id. A new user never is the caller. */
function possibly(rule: Rule, collection: string, result: boolean): Rule {
  if (rule.kind === 'and' || rule.kind === 'or')
    return { ...rule, parts: rule.parts.map(part => possibly(part, collection, result)) }
  if (rule.kind === 'not') return { ...rule, part: possibly(rule.part, collection, !result) }
  if (rule.kind !== 'compare') return rule
  const { field, comparison, operand } = rule
  if (field !== 'id' && !(operand.kind === 'field' && operand.field === 'id')) return rule
  const isCaller = collection === 'users' && comparison === 'eq' && operand.kind === 'userId'
  return { kind: result && !isCaller ? 'anyone' : 'nobody' }
}

function update(evaluation: Evaluation, shape: UpdateShape): WriteResult {
  const collection = evaluation.collection(shape.collection)
  evaluation.mustHaveScope('write', collection)
  evaluation.mustBePossible(collection.access.update, collection)
  evaluation.mustRead(collection)
  evaluation.checkSelect(shape.select, collection)
  checkSet(evaluation, shape.set, collection, true)
  const always = (name: string) =>
    evaluation.constantResult(collection.fields.get(name)?.access.write ?? { kind: 'nobody' }, collection)
  const provided = new Set(shape.set.map(assignment => assignment.field))
  const reset =
    shape.mode === 'merge'
      ? []
      : [...collection.fields.values()].filter(field => {
          const isReset = field.name !== 'id' && !field.readOnly && !field.internal && !field.immutable
          return (
            isReset &&
            !provided.has(field.name) &&
            evaluation.constantResult(field.access.write, collection) !== false
          )
        })
  const needed = reset.filter(
    field => !field.optional && initialValue(evaluation, collection, field.name) === null,
  )
  if (needed.some(field => always(field.name))) evaluation.errors.add('VALIDATION_FAILED')
  if (evaluation.errors.size > 0) return evaluation
  const id = Number(evaluation.args[shape.id])
  const before = evaluation.visible(collection).find(row => row.id === id)
  if (!before) return { errors: new Set(['NOT_FOUND']) }
  const row: Record<string, JsonValue> = { ...before }
  for (const field of reset) {
    if (!evaluation.holds(field.access.write, collection, before)) continue
    row[field.name] = initialValue(evaluation, collection, field.name)
    if (needed.includes(field)) evaluation.errors.add('VALIDATION_FAILED')
  }
  const unchanged = new Set<string>()
  for (const assignment of shape.set) {
    const value = evaluation.args[assignment.param] ?? null
    const merges =
      shape.documents === 'merge' && collection.fields.get(assignment.field)?.type.name === 'json'
    row[assignment.field] = merges ? mergePatch(structuredClone(before[assignment.field]), value) : value
    const isSame = isDeepStrictEqual(row[assignment.field], before[assignment.field] ?? null)
    if (isSame && canReadStored(evaluation, collection, before, assignment.field))
      unchanged.add(assignment.field)
  }
  const data = {
    ...evaluation.data,
    [collection.name]: evaluation.rows(collection.name).map(other => (other === before ? row : other)),
  }
  const later = new Evaluation(evaluation.model, data, evaluation.who, evaluation.args)
  if (!passes(evaluation, shape.ifMatch)) evaluation.errors.add('PRECONDITION_FAILED')
  if (!evaluation.holds(collection.access.update, collection, before)) evaluation.errors.add('FORBIDDEN')
  // The item as it will be, among the items as they are and as they will be.
  for (const state of [evaluation, later]) {
    if (!state.holds(collection.access.update, collection, row)) evaluation.errors.add('FORBIDDEN')
  }
  const written = shape.set.filter(assignment => !unchanged.has(assignment.field))
  for (const { field: name } of written) {
    const field = collection.fields.get(name)
    if (field && !evaluation.holds(field.access.write, collection, before)) evaluation.errors.add('FORBIDDEN')
  }
  checkReferences(evaluation, written, collection)
  return evaluation.errors.size > 0 ? evaluation : { data, id }
}

/** Whether the caller can read the stored value of the field. */
function canReadStored(evaluation: Evaluation, collection: Collection, row: Row, name: string): boolean {
  const field = collection.fields.get(name)
  return (
    field !== undefined &&
    evaluation.exists(collection, name) &&
    evaluation.holds(field.access.read, collection, row)
  )
}

/** The algorithm of RFC 7396, section 2. */
function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
  const result: Record<string, JsonValue> = isObject ? { ...(target as object) } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else {
      const mergedValue = mergePatch(
        structuredClone(Object.hasOwn(result, name) ? result[name] : undefined),
        value,
      )
      // Not by assignment: a member may be named `__proto__`.
      Object.defineProperty(result, name, {
        value: mergedValue,
        enumerable: true,
        writable: true,
        configurable: true,
      })
    }
  }
  return result
}

function remove(evaluation: Evaluation, shape: DeleteShape): WriteResult {
  const collection = evaluation.collection(shape.collection)
  evaluation.mustHaveScope('write', collection)
  evaluation.mustBePossible(collection.access.delete, collection)
  evaluation.mustRead(collection)
  if (evaluation.errors.size > 0) return evaluation
  const id = Number(evaluation.args[shape.id])
  const before = evaluation.visible(collection).find(row => row.id === id)
  if (!before) return { errors: new Set(['NOT_FOUND']) }
  if (!evaluation.holds(collection.access.delete, collection, before))
    return { errors: new Set(['FORBIDDEN']) }
  if (!passes(evaluation, shape.ifMatch)) return { errors: new Set(['PRECONDITION_FAILED']) }
  return {
    data: {
      ...evaluation.data,
      [collection.name]: evaluation.rows(collection.name).filter(row => row !== before),
    },
    id,
  }
}

function checkSet(
  evaluation: Evaluation,
  set: readonly Assignment[],
  collection: Collection,
  existing: boolean,
): void {
  const { system } = evaluation.who.access
  for (const assignment of set) {
    const field = collection.fields.get(assignment.field)
    const closed =
      !field ||
      field.name === 'id' ||
      (!system && (field.internal || field.readOnly || (existing && field.immutable)))
    if (closed) evaluation.errors.add('VALIDATION_FAILED')
    else if (evaluation.constantResult(field.access.write, collection) !== false) continue
    // An update may set an unwritable field to its current value, so this depends on the row.
    else if (!existing || !evaluation.exists(collection, field.name)) evaluation.errors.add('FORBIDDEN')
  }
}

function checkReferences(evaluation: Evaluation, set: readonly Assignment[], collection: Collection): void {
  for (const assignment of set) {
    const target = collection.fields.get(assignment.field)?.reference?.target
    const id = evaluation.args[assignment.param] ?? null
    if (target === undefined || id === null || (target === 'users' && id === evaluation.who.userId)) continue
    if (!evaluation.visible(evaluation.collection(target)).some(row => row.id === id))
      evaluation.errors.add('VALIDATION_FAILED')
  }
}

function initialValue(evaluation: Evaluation, collection: Collection, name: string): JsonValue {
  const standard = collection.fields.get(name)?.default
  if (name === 'created_at' || standard?.kind === 'now') return requestTime
  if (standard?.kind === 'currentUser') return evaluation.who.userId
  return standard?.kind === 'value' ? standard.value : null
}

function relationOf(collection: Collection, name: string): Relation {
  const relation = collection.relations.get(name)
  if (!relation) throw new Error(`no ${collection.name}.${name}`)
  return relation
}

function test(value: JsonValue, comparison: Comparison, expected: JsonValue): boolean {
  if (value === null || expected === null) return false
  switch (comparison) {
    case 'eq':
      return value === expected
    case 'ne':
      return value !== expected
    case 'in':
      return Array.isArray(expected) ? expected.includes(value) : value === expected
    case 'gt':
      return order(value, expected) > 0
    case 'gte':
      return order(value, expected) >= 0
    case 'lt':
      return order(value, expected) < 0
    case 'lte':
      return order(value, expected) <= 0
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
export function canRead(model: Model, data: Data, who: Principal, collection: Collection, row: Row): boolean {
  const evaluation = new Evaluation(model, data, who, [])
  return (
    evaluation.scope(`read:${collection.singular}`) &&
    evaluation.holds(collection.access.read, collection, row)
  )
}

/** Whether the caller may read the field of a readable row. */
export function maySee(
  model: Model,
  data: Data,
  who: Principal,
  collection: Collection,
  row: Row,
  name: string,
): boolean {
  const evaluation = new Evaluation(model, data, who, [])
  const field = collection.fields.get(name)
  return (
    field !== undefined &&
    evaluation.exists(collection, name) &&
    evaluation.holds(field.access.read, collection, row)
  )
}
