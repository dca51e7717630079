/** Interprets guarded plans on plain rows, exactly as `guarded.ts` defines them: a store without a database. */
import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../../src/base/errors.ts'
import type {
  Check,
  GuardedAssignment,
  GuardedCreate,
  GuardedDelete,
  GuardedItem,
  GuardedList,
  GuardedPlan,
  GuardedRead,
  GuardedSelected,
  GuardedUpdate,
  GuardedWrite,
  ReferenceCheck,
} from '../../../src/engine/plan/guarded.ts'
import type {
  Condition,
  ConditionOperator,
  FieldPath,
  GuardedSort,
  Operand,
  RelationPath,
  VisibleField,
} from '../../../src/engine/plan/guarded-conditions.ts'
import { mergePatch } from '../../../src/engine/store/write/documents.ts'
import { checkBeforeId } from '../../../src/engine/store/write/proposed.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Field } from '../../../src/model/model.ts'

import { currentTag } from './random.ts'
import type { Data, ReadResult, Row } from './reference.ts'
import { caseless, claimValue, requestTime, requestTimeMs, termsOf } from './reference.ts'

class Run {
  readonly data: Data
  readonly plan: GuardedPlan
  /** Every collection that was read. */
  readonly collectionsRead = new Set<string>()
  usesCaller = false
  /** Whether the time or a claim was used. */
  usesTimeOrClaims = false

  constructor(data: Data, plan: GuardedPlan) {
    this.data = data
    this.plan = plan
  }

  rows(name: string): readonly Row[] {
    this.collectionsRead.add(name)
    return this.data[name] ?? []
  }

  value(operand: Operand, field?: Field): JsonValue {
    if (operand.kind === 'param') return this.plan.args[operand.param] ?? null
    if (operand.kind === 'literal') return operand.value
    if (operand.kind === 'now') {
      this.usesTimeOrClaims = true
      return new Date(requestTimeMs + operand.shiftMs).toISOString()
    }
    if (operand.kind === 'claim') {
      this.usesTimeOrClaims = true
      const claim = this.plan.principal.claims?.values.get(operand.claim)
      return claim === undefined || field === undefined ? null : claimValue(claim, field)
    }
    const { userId, app } = this.plan.principal
    if (operand.kind === 'appId') {
      this.usesTimeOrClaims = true
      return app?.id ?? null
    }
    this.usesCaller = true
    if (operand.kind === 'userId') return userId
    const caller = this.rows(operand.users.name).find(row => row.id === userId)
    return caller?.[operand.field.name] ?? null
  }

  /** The value at the end of a path. */
  valueOf({ steps, field }: FieldPath, row: Row): JsonValue {
    let current: Row | undefined = row
    for (const { relation, target } of steps) {
      const id: JsonValue = current?.[relation.field] ?? null
      current = this.rows(target.name).find(row => row.id === id)
    }
    return current?.[field.name] ?? null
  }

  read({ field, when }: VisibleField, row: Row): JsonValue {
    return this.holds(when, row) ? (row[field.name] ?? null) : null
  }

  holds(condition: Condition, row: Row): boolean {
    switch (condition.kind) {
      case 'always':
        return true
      case 'never':
        return false
      case 'compare':
        return compares(
          this.read(condition.field, row),
          condition.operator,
          this.value(condition.operand, condition.field.field),
        )
      case 'fields': {
        const right = this.valueOf(condition.right, row)
        return compares(this.valueOf(condition.left, row), condition.operator, right)
      }
      case 'values':
        throw new Error('computed fields are not supported')
      case 'isNull':
        return this.read(condition.field, row) === null
      case 'nullness':
        return (this.read(condition.field, row) === null) === this.plan.args[condition.param]
      case 'related':
        return this.relatedRows(condition.path, row).some(related => this.holds(condition.rows, related))
      case 'search':
        return this.finds(condition, row)
      case 'fact':
        throw new Error('rows of events are not supported')
      case 'and':
        return condition.parts.every(condition => this.holds(condition, row))
      case 'or':
        return condition.parts.some(condition => this.holds(condition, row))
      case 'not':
        return !this.holds(condition.part, row)
    }
  }

  finds({ fields, param }: Condition & { kind: 'search' }, row: Row): boolean {
    const expected = termsOf(this.plan.args[param] ?? null)
    const found = fields.flatMap(field => termsOf(row[field.name] ?? null))
    return expected.length > 0 && expected.every(word => found.includes(word))
  }

  relatedRows(path: RelationPath, row: Row): readonly Row[] {
    const { relation } = path
    const targets = this.rows(path.target.name)
    if (relation.kind === 'one') return targets.filter(target => target.id === row[relation.field])
    if (relation.kind === 'many') return targets.filter(target => target[relation.field] === row.id)
    if (!('through' in path)) throw new Error('no join collection')
    const joins = this.rows(path.through.name).filter(
      join => join[relation.from] === row.id && this.holds(path.joinRows, join),
    )
    return targets.filter(target => joins.some(join => join[relation.to] === target.id))
  }

  show(select: readonly GuardedSelected[], row: Row): JsonValue {
    return Object.fromEntries(select.map(selection => [selection.key, this.showSelected(selection, row)]))
  }

  showSelected(selection: GuardedSelected, row: Row): JsonValue {
    if (selection.kind === 'constant') return selection.value
    if (selection.kind === 'field') return this.read(selection.field, row)
    const rows = this.holds(selection.when, row)
      ? this.relatedRows(selection.path, row).filter(related => this.holds(selection.rows, related))
      : []
    if (!selection.list) return rows[0] ? this.show(selection.select, rows[0]) : null
    const limit = Number(this.plan.args[selection.list.limit])
    return this.sorted(rows, selection.list.sort)
      .slice(0, limit)
      .map(related => this.show(selection.select, related))
  }

  sorted(rows: readonly Row[], sort: readonly GuardedSort[], search?: Condition): Row[] {
    return [...rows].sort((a, b) =>
      this.compareKeys(this.keys(sort, a, search), this.keys(sort, b, search), sort),
    )
  }

  /** `of`: the condition that contains the search for ranking by `q`. */
  keys(sort: readonly GuardedSort[], row: Row, search?: Condition): JsonValue[] {
    return sort.map(key =>
      key.field.field.name === 'q' ? this.rank(search, row) : this.read(key.field, row),
    )
  }

  rank(condition: Condition | undefined, row: Row): number {
    const parts = condition?.kind === 'and' ? condition.parts : [condition]
    const search = parts.find(part => part?.kind === 'search')
    const ranks = (search?.fields ?? [])
      .filter(field => search && this.finds({ ...search, fields: [field] }, row))
      .map(({ name }) => Math.trunc(1_000_000_000 / (100 + Buffer.byteLength(String(row[name])))))
    return ranks.reduce((sum, rank) => sum + rank, 0)
  }

  compareKeys(a: readonly JsonValue[], b: readonly JsonValue[], sort: readonly GuardedSort[]): number {
    for (const [i, key] of sort.entries()) {
      const result = order(a[i] ?? null, b[i] ?? null)
      if (result !== 0) return key.descending ? -result : result
    }
    return 0
  }
}

export interface Interpreted {
  readonly result: ReadResult
  readonly collectionsRead: ReadonlySet<string>
  readonly usesCaller: boolean
  readonly usesTimeOrClaims: boolean
}

export function interpretRead(data: Data, plan: GuardedRead): Interpreted {
  const run = new Run(data, plan)
  const { shape } = plan
  if (shape.kind === 'aggregate') throw new TypeError('aggregates are interpreted in `aggregates.ts`')
  const result = shape.kind === 'item' ? item(run, shape) : list(run, shape)
  const { collectionsRead, usesCaller, usesTimeOrClaims } = run
  return { result, collectionsRead, usesCaller, usesTimeOrClaims }
}

function item(run: Run, shape: GuardedItem): ReadResult {
  const row = run
    .rows(shape.collection.name)
    .find(row => row.id === run.plan.args[shape.id] && run.holds(shape.rows, row))
  return { item: row ? run.show(shape.select, row) : null }
}

function list(run: Run, shape: GuardedList): ReadResult {
  const { within, window } = shape
  let rows = run.rows(shape.collection.name)
  if (within) {
    const parent = run
      .rows(within.collection.name)
      .find(row => row.id === run.plan.args[within.id] && run.holds(within.rows, row))
    if (!parent) return { list: null }
    rows = run.relatedRows(within.path, parent)
  }
  const matching = run.sorted(
    rows.filter(row => run.holds(shape.rows, row)),
    shape.sort,
    shape.rows,
  )
  const limit = Number(run.plan.args[window.limit])
  const show = (page: readonly Row[]) => page.map(row => run.show(shape.select, row))
  if (window.kind === 'page') {
    const offset = Number(run.plan.args[window.offset])
    const page = show(matching.slice(offset, offset + limit))
    const hasMore = matching.length > offset + limit
    if (window.total === 'none') return { list: page, hasMore }
    return { list: page, total: matching.length, ...(window.total === 'estimate' && { hasMore }) }
  }
  const after = window.after?.map(param => run.plan.args[param] ?? null)
  const following = matching.filter(
    row =>
      after === undefined || run.compareKeys(run.keys(shape.sort, row, shape.rows), after, shape.sort) > 0,
  )
  const last = following[limit - 1]
  const next = last && following.length > limit ? run.keys(shape.sort, last, shape.rows) : null
  return { list: show(following.slice(0, limit)), next }
}

/** Returns the data after the write. Throws an `ApiError` if the write is refused. */
export function interpretWrite(data: Data, plan: GuardedWrite): { readonly data: Data; readonly id: number } {
  const run = new Run(data, plan)
  const { shape } = plan
  if (shape.kind === 'create') return create(run, shape)
  const id = Number(plan.args[shape.id])
  const row = run.rows(shape.collection.name).find(row => row.id === id && run.holds(shape.rows, row))
  if (!row) throw new ApiError('NOT_FOUND')
  if (shape.kind === 'update') return { data: update(run, shape, row), id }
  check(run, shape.before, row)
  match(run, shape.ifMatch)
  return { data: remove(run, shape, row), id }
}

function match({ plan }: Run, ifMatch: number | undefined): void {
  const expected = ifMatch === undefined ? '*' : plan.args[ifMatch]
  if (expected !== '*' && !(Array.isArray(expected) && expected.includes(currentTag))) {
    throw new ApiError('PRECONDITION_FAILED')
  }
}

/** The checks of the new item hold among all items and, where its id does not matter, among the items as they were. */
function create(run: Run, shape: GuardedCreate): { readonly data: Data; readonly id: number } {
  const { name } = shape.collection
  const id = Math.max(0, ...run.rows(name).map(row => Number(row.id))) + 1
  const row = { id, ...assign(run, shape.set) }
  const data = { ...run.data, [name]: [...run.rows(name), row] }
  checkReferences(run, shape.references)
  check(
    run,
    shape.after.map(check => checkBeforeId(check, shape.collection)),
    row,
  )
  check(new Run(data, run.plan), shape.after, row)
  return { data, id }
}

function update(run: Run, shape: GuardedUpdate, before: Row): Data {
  const { name } = shape.collection
  const set = shape.set.filter(({ when }) => when === undefined || run.holds(when, before))
  const row = { ...before, ...assign(run, set, before) }
  const unchanged = set.filter(({ field, readableWhen }) => {
    const isSame = isDeepStrictEqual(row[field.name] ?? null, before[field.name] ?? null)
    return isSame && (readableWhen === undefined || run.holds(readableWhen, before))
  })
  const isWritten = (check: Check | ReferenceCheck) => unchanged.every(({ field }) => field !== check.field)
  check(run, shape.before.filter(isWritten), before)
  match(run, shape.ifMatch)
  if (set.some(({ field }) => !field.optional && row[field.name] === null)) {
    throw new ApiError('VALIDATION_FAILED')
  }
  const data = { ...run.data, [name]: run.rows(name).map(other => (other === before ? row : other)) }
  checkReferences(run, shape.references.filter(isWritten))
  check(run, shape.after, row)
  check(new Run(data, run.plan), shape.after, row)
  return data
}

function remove(run: Run, shape: GuardedDelete, row: Row): Data {
  const { name } = shape.collection
  return { ...run.data, [name]: run.rows(name).filter(other => other !== row) }
}

function assign(run: Run, set: readonly GuardedAssignment[], before: Row = {}): Row {
  return Object.fromEntries(
    set.map(({ field, value, merges }) => {
      const initial = value.kind === 'default' ? defaultValue(run, value.default) : run.value(value)
      return [field.name, merges ? mergePatch(structuredClone(before[field.name]), initial) : initial]
    }),
  )
}

function defaultValue(run: Run, standard: NonNullable<GuardedAssignment['field']['default']>): JsonValue {
  if (standard.kind === 'value') return standard.value
  return standard.kind === 'currentUser' ? run.plan.principal.userId : requestTime
}

function check(run: Run, checks: readonly Check[], row: Row): void {
  if (!checks.every(check => run.holds(check.condition, row))) throw new ApiError('FORBIDDEN')
}

function checkReferences(run: Run, references: readonly ReferenceCheck[]): void {
  for (const { value, target, rows, self } of references) {
    const id = run.value(value)
    if (id === null || (self === 'userId' && id === run.plan.principal.userId)) continue
    const exists = run.rows(target.name).some(row => row.id === id && run.holds(rows, row))
    if (!exists) throw new ApiError('VALIDATION_FAILED')
  }
}

function compares(value: JsonValue, operator: ConditionOperator, other: JsonValue): boolean {
  if (value === null || other === null) return false
  const ordering = order(value, other)
  const answers: Record<ConditionOperator, () => boolean> = {
    eq: () => value === other,
    ne: () => value !== other,
    gt: () => ordering > 0,
    gte: () => ordering >= 0,
    lt: () => ordering < 0,
    lte: () => ordering <= 0,
    in: () => Array.isArray(other) && other.includes(value),
    contains: () => String(value).includes(String(other)),
    icontains: () => caseless(String(other)).test(String(value)),
    starts_with: () => String(value).startsWith(String(other)),
  }
  return answers[operator]()
}

function order(a: JsonValue, b: JsonValue): number {
  if (a === b) return 0
  if (a === null) return -1
  if (b === null) return 1
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Number(a) - Number(b)
}
