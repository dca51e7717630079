/** The values of computed fields, computed naively. Shares no code with the guard or the store. */

import type { Principal } from '../../../src/base/principal.ts'
import type { CheckedExpression } from '../../../src/model/computed/computed.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection, ComputedField, Field, Model, Relation } from '../../../src/model/model.ts'
import type { Rule, RuleOperand } from '../../../src/model/rule/rule.ts'
import { type Data, Evaluation, type Row } from '../plan/reference.ts'

const computedOf = (field: Field | undefined): CheckedExpression | undefined =>
  (field as ComputedField | undefined)?.expression

function relationOf(collection: Collection, name: string): Relation {
  const relation = collection.relations.get(name)
  if (!relation) throw new Error(`no ${name}`)
  return relation
}

/** Evaluates rules on what the caller can read: without hidden rows, and with hidden fields as null. */
class SeenRules extends Evaluation {
  readonly #caller: Evaluation

  constructor(caller: Evaluation) {
    const { model, data, who, args } = caller
    super(model, data, { ...who, access: { ...who.access, system: false } }, args)
    this.#caller = caller
  }

  override collection(name: string): Collection {
    return this.#caller.collection(name)
  }

  override holds(rule: Rule, collection: Collection, row: Row): boolean {
    // Portico itself has no user id, but is not anonymous.
    const isSystem = this.#caller.who.access.system
    if (isSystem && (rule.kind === 'signedIn' || rule.kind === 'scope')) return true
    if (rule.kind !== 'related') return super.holds(rule, collection, row)
    const relation = relationOf(collection, rule.relation)
    const target = this.collection(relation.target)
    return this.#caller
      .readableRows(collection, relation, row)
      .some(related => this.holds(rule.rule, target, related))
  }

  override valueAt(path: string, collection: Collection, row: Row | undefined): readonly [JsonValue, Field] {
    const [name = '', ...rest] = path.split('.')
    if (rest.length > 0) {
      const relation = relationOf(collection, name)
      const [only] = row === undefined ? [] : this.#caller.readableRows(collection, relation, row)
      return this.valueAt(rest.join('.'), this.collection(relation.target), only)
    }
    const field = collection.fields.get(name)
    if (!field) throw new Error(`no ${name}`)
    const isSeen = row !== undefined && this.#caller.exists(collection, name)
    return [isSeen ? this.#caller.valueOf(collection, row, name) : null, field]
  }

  override operand(operand: RuleOperand, field: Field, collection: Collection, row: Row): JsonValue {
    // The caller's own fields are not hidden from the caller.
    if (operand.kind !== 'caller' || operand.field === 'id')
      return super.operand(operand, field, collection, row)
    const users = this.collection('users')
    const caller = this.#caller.visible(users).find(user => user.id === this.who.userId)
    const isSeen = caller !== undefined && this.#caller.valueOf(users, caller, operand.field) !== null
    return isSeen ? super.operand(operand, field, collection, row) : null
  }
}

function moderate(value: number): number | null {
  if (Math.abs(value) > 1e150) return null
  return Math.abs(value) < 1e-150 ? 0 : value
}

function safeNumber(value: number | null): number | null {
  return value === null || Math.abs(value) > Number.MAX_SAFE_INTEGER ? null : value + 0
}

const operations: Record<string, (a: number, b: number) => number | null> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0 ? null : a / b),
}

function least(values: readonly JsonValue[], sign: 1 | -1): JsonValue {
  const order = (a: JsonValue, b: JsonValue) =>
    typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(String(b))) : Number(a) - Number(b)
  return [...values].sort((a, b) => sign * order(a, b))[0] ?? null
}

const parts: Record<string, (date: Date, text: string) => JsonValue> = {
  year: date => date.getUTCFullYear(),
  month: date => date.getUTCMonth() + 1,
  day: date => date.getUTCDate(),
  hour: date => date.getUTCHours(),
  weekday: date => date.getUTCDay() || 7,
  date: (_, text) => text.slice(0, 10),
}

export class ComputedEvaluation extends Evaluation {
  readonly #rules: SeenRules
  /** Rules on stored rows: no row is hidden from them. */
  readonly #stored: Evaluation

  constructor(model: Model, data: Data, who: Principal, args: readonly JsonValue[]) {
    super(model, data, who, args)
    this.#rules = new SeenRules(this)
    this.#stored = new Evaluation(model, data, { ...who, access: { ...who.access, system: false } }, args)
  }

  /** Also handles computed fields. */
  override collection(name: string): Collection {
    const collection = super.collection(name)
    return { ...collection, fields: new Map<string, Field>([...collection.fields, ...collection.computed]) }
  }

  override mustKnow(collection: Collection, name: string): void {
    super.mustKnow(collection, name)
    const expression = computedOf(collection.fields.get(name))
    if (expression && this.exists(collection, name)) this.#mustReadAll(expression, collection)
  }

  override valueOf(collection: Collection, row: Row, name: string): JsonValue {
    const field = collection.fields.get(name)
    const expression = computedOf(field)
    if (!field || !expression)
      return this.exists(collection, name) ? super.valueOf(collection, row, name) : null
    return this.holds(field.access.read, collection, row) ? this.compute(expression, collection, row) : null
  }

  compute(expression: CheckedExpression, collection: Collection, row: Row): JsonValue {
    const inner = (part: CheckedExpression) => this.compute(part, collection, row)
    switch (expression.kind) {
      case 'literal':
        return expression.value
      case 'field':
        return this.#along([...expression.path], expression.field, collection, row)
      case 'aggregate':
        return this.#aggregate(expression, collection, row)
      case 'first': {
        const target = this.collection(relationOf(collection, expression.relation).target)
        const [only] = this.sortRows(this.#counted(expression, collection, row), expression.sort, target)
        return only ? this.valueOf(target, only, expression.field) : null
      }
      case 'arithmetic': {
        const [a, b] = [inner(expression.left), inner(expression.right)]
        if (a === null || b === null) return null
        const [x, y] = [moderate(Number(a)), moderate(Number(b))]
        const result = x === null || y === null ? null : (operations[expression.operator]?.(x, y) ?? null)
        return expression.type.encoding.sqlite.type === 'INTEGER'
          ? safeNumber(result)
          : result === null
            ? null
            : result + 0
      }
      case 'round': {
        const value = inner(expression.of)
        if (value === null) return null
        const size = Math.abs(Number(value))
        return safeNumber(Math.sign(Number(value)) * (size % 1 >= 0.5 ? Math.ceil(size) : Math.floor(size)))
      }
      case 'concat':
        return expression.parts
          .map(inner)
          .filter(part => part !== null)
          .join('')
      case 'coalesce':
        return expression.parts.map(inner).find(part => part !== null) ?? null
      case 'when':
        return inner(
          this.#rules.holds(expression.rule, collection, row) ? expression.value : expression.otherwise,
        )
      case 'datePart': {
        const text = inner(expression.of)
        return text === null ? null : (parts[expression.part]?.(new Date(String(text)), String(text)) ?? null)
      }
    }
  }

  #along(path: string[], field: string, collection: Collection, row: Row): JsonValue {
    const [name, ...rest] = path
    if (name === undefined) return this.valueOf(collection, row, field)
    const relation = relationOf(collection, name)
    const [only] = this.readableRows(collection, relation, row)
    return only ? this.#along(rest, field, this.collection(relation.target), only) : null
  }

  #counted({ relation, where }: { relation: string; where: Rule }, collection: Collection, row: Row): Row[] {
    const counted = relationOf(collection, relation)
    const target = this.collection(counted.target)
    return this.readableRows(collection, counted, row).filter(related =>
      this.#rules.holds(where, target, related),
    )
  }

  #aggregate(
    expression: CheckedExpression & { kind: 'aggregate' },
    collection: Collection,
    row: Row,
  ): JsonValue {
    const { function: name, field, asSystem } = expression
    const counted = relationOf(collection, expression.relation)
    const target = this.collection(counted.target)
    const rows = asSystem
      ? this.linkedRows(counted, row).filter(linked => this.#stored.holds(expression.where, target, linked))
      : this.#counted(expression, collection, row)
    if (name === 'count') return rows.length
    const values = rows
      .map(row => (asSystem ? (row[String(field)] ?? null) : this.valueOf(target, row, String(field))))
      .filter(value => value !== null)
    if (name === 'min' || name === 'max') return least(values, name === 'min' ? 1 : -1)
    const sum = values.reduce<number>((total, value) => total + Number(value), 0)
    if (name === 'sum') return sum
    return values.length === 0 ? null : sum / values.length
  }

  // --- the required scopes: those of every collection used

  #mustReadAll(expression: CheckedExpression, collection: Collection): void {
    if (expression.kind === 'aggregate' && expression.asSystem) return
    const relation = 'relation' in expression ? this.#mustFollow(collection, expression.relation) : collection
    if ('where' in expression) this.#mustReadRule(expression.where, relation)
    if ('rule' in expression) this.#mustReadRule(expression.rule, collection)
    if (expression.kind === 'field') this.#mustReadPath(expression.path, collection)
    for (const part of Object.values(expression)) {
      const all = Array.isArray(part) ? part : [part]
      for (const part of all) {
        if (typeof part === 'object' && part !== null && 'optional' in part)
          this.#mustReadAll(part, collection)
      }
    }
  }

  #mustReadRule(rule: Rule, collection: Collection): void {
    if (rule.kind === 'and' || rule.kind === 'or')
      for (const part of rule.parts) this.#mustReadRule(part, collection)
    if (rule.kind === 'not') this.#mustReadRule(rule.part, collection)
    if (rule.kind === 'related') this.#mustReadRule(rule.rule, this.#mustFollow(collection, rule.relation))
    if (rule.kind !== 'compare') return
    this.#mustReadPath(rule.field.split('.').slice(0, -1), collection)
    if (rule.operand.kind === 'field')
      this.#mustReadPath(rule.operand.field.split('.').slice(0, -1), collection)
  }

  #mustReadPath(path: readonly string[], collection: Collection): void {
    path.reduce((collection, name) => this.#mustFollow(collection, name), collection)
  }

  #mustFollow(collection: Collection, name: string): Collection {
    const relation = relationOf(collection, name)
    const target = this.collection(relation.target)
    this.mustHaveScope('read', target)
    if (relation.kind === 'manyToMany') this.mustHaveScope('read', this.collection(relation.through))
    return target
  }
}
