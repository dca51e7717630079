/** The values of computed fields, computed naively. Shares no code with the guard or the store. */

import type { CheckedExpression } from '../../src/model/computed.ts'
import type { JsonValue } from '../../src/model/fields/type.ts'
import type { Collection, ComputedField, Field, Model, Relation } from '../../src/model/model.ts'
import type { Rule, RuleOperand } from '../../src/model/rule.ts'
import type { Principal } from '../../src/principal.ts'
import { type Data, Evaluation, type Row } from '../plan/reference.ts'

const computedOf = (field: Field | undefined): CheckedExpression | undefined =>
  (field as ComputedField | undefined)?.expression

function relationOf(of: Collection, name: string): Relation {
  const found = of.relations.get(name)
  if (!found) throw new Error(`no ${name}`)
  return found
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

  override holds(rule: Rule, of: Collection, row: Row): boolean {
    // Portico itself has no user id, but is not anonymous.
    const isSystem = this.#caller.who.access.system
    if (isSystem && (rule.kind === 'signedIn' || rule.kind === 'scope')) return true
    if (rule.kind !== 'related') return super.holds(rule, of, row)
    const relation = relationOf(of, rule.relation)
    const target = this.collection(relation.target)
    return this.#caller.reached(of, relation, row).some(one => this.holds(rule.rule, target, one))
  }

  override valueAt(path: string, of: Collection, row: Row | undefined): readonly [JsonValue, Field] {
    const [name = '', ...rest] = path.split('.')
    if (rest.length > 0) {
      const relation = relationOf(of, name)
      const [only] = row === undefined ? [] : this.#caller.reached(of, relation, row)
      return this.valueAt(rest.join('.'), this.collection(relation.target), only)
    }
    const field = of.fields.get(name)
    if (!field) throw new Error(`no ${name}`)
    const isSeen = row !== undefined && this.#caller.exists(of, name)
    return [isSeen ? this.#caller.shown(of, row, name) : null, field]
  }

  override operand(operand: RuleOperand, field: Field, of: Collection, row: Row): JsonValue {
    // The caller's own fields are not hidden from the caller.
    if (operand.kind !== 'caller' || operand.field === 'id') return super.operand(operand, field, of, row)
    const users = this.collection('users')
    const own = this.#caller.visible(users).find(one => one.id === this.who.userId)
    const isSeen = own !== undefined && this.#caller.shown(users, own, operand.field) !== null
    return isSeen ? super.operand(operand, field, of, row) : null
  }
}

function moderate(value: number): number | null {
  if (Math.abs(value) > 1e150) return null
  return Math.abs(value) < 1e-150 ? 0 : value
}

function whole(value: number | null): number | null {
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

  constructor(model: Model, data: Data, who: Principal, args: readonly JsonValue[]) {
    super(model, data, who, args)
    this.#rules = new SeenRules(this)
  }

  /** Also handles computed fields. */
  override collection(name: string): Collection {
    const found = super.collection(name)
    return { ...found, fields: new Map<string, Field>([...found.fields, ...found.computed]) }
  }

  override mustKnow(of: Collection, name: string): void {
    super.mustKnow(of, name)
    const expression = computedOf(of.fields.get(name))
    if (expression && this.exists(of, name)) this.#mustReadAll(expression, of)
  }

  override shown(of: Collection, row: Row, name: string): JsonValue {
    const field = of.fields.get(name)
    const expression = computedOf(field)
    if (!field || !expression) return this.exists(of, name) ? super.shown(of, row, name) : null
    return this.holds(field.access.read, of, row) ? this.compute(expression, of, row) : null
  }

  compute(expression: CheckedExpression, of: Collection, row: Row): JsonValue {
    const inner = (part: CheckedExpression) => this.compute(part, of, row)
    switch (expression.kind) {
      case 'literal':
        return expression.value
      case 'field':
        return this.#along([...expression.path], expression.field, of, row)
      case 'aggregate':
        return this.#aggregate(expression, of, row)
      case 'first': {
        const target = this.collection(relationOf(of, expression.relation).target)
        const [only] = this.ordered(this.#counted(expression, of, row), expression.sort, target)
        return only ? this.shown(target, only, expression.field) : null
      }
      case 'arithmetic': {
        const [a, b] = [inner(expression.left), inner(expression.right)]
        if (a === null || b === null) return null
        const [x, y] = [moderate(Number(a)), moderate(Number(b))]
        const result = x === null || y === null ? null : (operations[expression.operator]?.(x, y) ?? null)
        return expression.type.encoding.sqlite.type === 'INTEGER'
          ? whole(result)
          : result === null
            ? null
            : result + 0
      }
      case 'concat':
        return expression.parts
          .map(inner)
          .filter(part => part !== null)
          .join('')
      case 'coalesce':
        return expression.parts.map(inner).find(part => part !== null) ?? null
      case 'when':
        return inner(this.#rules.holds(expression.rule, of, row) ? expression.value : expression.otherwise)
      case 'datePart': {
        const text = inner(expression.of)
        return text === null ? null : (parts[expression.part]?.(new Date(String(text)), String(text)) ?? null)
      }
    }
  }

  #along(path: string[], field: string, of: Collection, row: Row): JsonValue {
    const [name, ...rest] = path
    if (name === undefined) return this.shown(of, row, field)
    const relation = relationOf(of, name)
    const [only] = this.reached(of, relation, row)
    return only ? this.#along(rest, field, this.collection(relation.target), only) : null
  }

  #counted({ relation, where }: { relation: string; where: Rule }, of: Collection, row: Row): Row[] {
    const found = relationOf(of, relation)
    const target = this.collection(found.target)
    return this.reached(of, found, row).filter(one => this.#rules.holds(where, target, one))
  }

  #aggregate(expression: CheckedExpression & { kind: 'aggregate' }, of: Collection, row: Row): JsonValue {
    const rows = this.#counted(expression, of, row)
    const { function: name, field } = expression
    if (name === 'count') return rows.length
    const target = this.collection(relationOf(of, expression.relation).target)
    const values = rows.map(one => this.shown(target, one, String(field))).filter(value => value !== null)
    if (name === 'min' || name === 'max') return least(values, name === 'min' ? 1 : -1)
    const sum = values.reduce<number>((total, value) => total + Number(value), 0)
    if (name === 'sum') return sum
    return values.length === 0 ? null : sum / values.length
  }

  // --- the required scopes: those of every collection used

  #mustReadAll(expression: CheckedExpression, of: Collection): void {
    const relation = 'relation' in expression ? this.#mustFollow(of, expression.relation) : of
    if ('where' in expression) this.#mustReadRule(expression.where, relation)
    if ('rule' in expression) this.#mustReadRule(expression.rule, of)
    if (expression.kind === 'field') this.#mustReadPath(expression.path, of)
    for (const part of Object.values(expression)) {
      const all = Array.isArray(part) ? part : [part]
      for (const one of all) {
        if (typeof one === 'object' && one !== null && 'optional' in one) this.#mustReadAll(one, of)
      }
    }
  }

  #mustReadRule(rule: Rule, of: Collection): void {
    if (rule.kind === 'and' || rule.kind === 'or') for (const one of rule.rules) this.#mustReadRule(one, of)
    if (rule.kind === 'not') this.#mustReadRule(rule.rule, of)
    if (rule.kind === 'related') this.#mustReadRule(rule.rule, this.#mustFollow(of, rule.relation))
    if (rule.kind !== 'compare') return
    this.#mustReadPath(rule.field.split('.').slice(0, -1), of)
    if (rule.operand.kind === 'field') this.#mustReadPath(rule.operand.field.split('.').slice(0, -1), of)
  }

  #mustReadPath(path: readonly string[], of: Collection): void {
    path.reduce((at, name) => this.#mustFollow(at, name), of)
  }

  #mustFollow(of: Collection, name: string): Collection {
    const relation = relationOf(of, name)
    const target = this.collection(relation.target)
    this.mustHaveScope('read', target)
    if (relation.kind === 'manyToMany') this.mustHaveScope('read', this.collection(relation.through))
    return target
  }
}
