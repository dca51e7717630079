/** Builders of computed fields. `checkModel` checks what they return. */

import { isObject } from '../../base/json.ts'
import type { Rule, Scalar } from '../rule/rule.ts'
import type {
  CoalescedValue,
  ComputedNumber,
  ComputedOperand,
  GuardedValue,
  NumberUse,
  OperandNeeds,
  OperandValue,
  OptionsNeeds,
  OverNeeds,
  RelatedValue,
  TimeUse,
} from '../types/computed.ts'
import type { AccessRule, FieldRules, RelationNeeds } from '../types/rule.ts'
import type {
  AggregateFunction,
  ComputedDeclaration,
  ComputedOptions,
  DatePart,
  Expression,
} from './computed.ts'

function declare<Value>(expression: Expression, options: ComputedOptions = {}): ComputedDeclaration<Value> {
  return Object.freeze({ kind: 'computed', expression: Object.freeze(expression), options })
}

/** An operand that is neither becomes a literal, which `checkModel` reports. */
function expressionOf(operand: unknown): Expression {
  if (typeof operand === 'object' && operand !== null) {
    if ('expression' in operand) return operand.expression as Expression
    if ('field' in operand) return { kind: 'field', field: String(operand.field) }
  }
  return { kind: 'literal', value: operand as Scalar }
}

/** An invalid rule is returned unchanged: `checkModel` reports it. */
function ruleOf(rule: AccessRule<never> | undefined): Rule | undefined {
  return rule === undefined ? undefined : (rule?.rule ?? (rule as unknown as Rule))
}

/** The condition for the related items, or options. */
type RelatedRows<Needs> = AccessRule<Needs> | AggregateOptions<Needs>

interface AggregateOptions<Needs> {
  readonly where?: AccessRule<Needs>
  /** Publishes the value of all related items, whether or not the caller may read them. `where` cannot depend on the caller. */
  readonly asSystem?: boolean
  /**
   * Keeps a count or a sum of integers with the item, for filters and sorts by an index. Needs `asSystem: true`, and a `where` that
   * compares the related item's own fields with constants.
   */
  readonly stored?: boolean
}

const aggregateOptions = ['where', 'asSystem', 'stored']

/** A value that is neither options nor a rule counts as a rule, which `checkModel` reports. */
function isOptions(rows: RelatedRows<never>): rows is AggregateOptions<never> {
  return isObject(rows) && Object.keys(rows).every(key => aggregateOptions.includes(key))
}

function aggregate<Value>(
  name: AggregateFunction,
  relation: string,
  fieldName: string | undefined,
  rows: RelatedRows<never> = {},
): ComputedDeclaration<Value> {
  const { where, asSystem = false, stored = false } = isOptions(rows) ? rows : { where: rows }
  return declare({
    ...{ kind: 'aggregate', function: name, relation, field: fieldName },
    ...{ where: ruleOf(where), asSystem, stored },
  })
}

/** A computed field with its options: a read rule of its own, a description. */
export function computed<const E extends ComputedDeclaration | FieldRules, const O extends ComputedOptions>(
  expression: E,
  options: O,
): ComputedDeclaration<GuardedValue<OperandValue<E>, O>, OperandNeeds<E> & OptionsNeeds<O>> {
  return declare(expressionOf(expression), options)
}

/** The number of related items that the caller may read and for which `where` holds; of all with `asSystem: true`. */
export function count<const R extends string, Needs = unknown>(
  relation: R,
  where?: RelatedRows<Needs>,
): ComputedDeclaration<number, RelationNeeds<R, Needs>> {
  return aggregate('count', relation, undefined, where)
}

/** The sum of a field of the related items; 0 if none has a value. */
export function sum<const R extends string, const F extends string, Needs = unknown>(
  relation: R,
  fieldName: F,
  where?: RelatedRows<Needs>,
): ComputedDeclaration<number, OverNeeds<R, F, Needs, NumberUse>> {
  return aggregate('sum', relation, fieldName, where)
}

/** The minimum of a field of the related items; null if none has a value. */
export function min<const R extends string, const F extends string, Needs = unknown>(
  relation: R,
  fieldName: F,
  where?: RelatedRows<Needs>,
): ComputedDeclaration<RelatedValue<R, F> | null, OverNeeds<R, F, Needs>> {
  return aggregate('min', relation, fieldName, where)
}

/** The maximum of a field of the related items; null if none has a value. */
export function max<const R extends string, const F extends string, Needs = unknown>(
  relation: R,
  fieldName: F,
  where?: RelatedRows<Needs>,
): ComputedDeclaration<RelatedValue<R, F> | null, OverNeeds<R, F, Needs>> {
  return aggregate('max', relation, fieldName, where)
}

/** The average of a field of the related items; null if none has a value. */
export function avg<const R extends string, const F extends string, Needs = unknown>(
  relation: R,
  fieldName: F,
  where?: RelatedRows<Needs>,
): ComputedDeclaration<number | null, OverNeeds<R, F, Needs, NumberUse>> {
  return aggregate('avg', relation, fieldName, where)
}

interface FirstOptions<Needs> {
  /** As in `?sort=`: `-created_at`, or several. The id decides among equals. */
  readonly sort?: string | readonly string[]
  readonly where?: AccessRule<Needs>
  /** Only a number or a time is published: see `max`. */
  readonly asSystem?: false
}

/** A field of the first related item in this order; null if there is none. */
export function first<const R extends string, const F extends string, Needs = unknown>(
  relation: R,
  fieldName: F,
  options: FirstOptions<Needs> = {},
): ComputedDeclaration<RelatedValue<R, F> | null, OverNeeds<R, F, Needs>> {
  const { sort = [], where, asSystem = false } = options ?? {}
  const keys = typeof sort === 'string' ? [sort] : sort
  return declare({ kind: 'first', relation, field: fieldName, sort: keys, where: ruleOf(where), asSystem })
}

type Arithmetic<L, R> = ComputedDeclaration<number | null, OperandNeeds<L | R, NumberUse>>

function arithmetic(
  operator: '+' | '-' | '*' | '/',
  left: ComputedNumber,
  right: ComputedNumber,
): ComputedDeclaration<number | null> {
  return declare({ kind: 'arithmetic', operator, left: expressionOf(left), right: expressionOf(right) })
}

/** Null if an operand is null, as in all arithmetic. */
export function plus<const L extends ComputedNumber, const R extends ComputedNumber>(
  left: L,
  right: R,
): Arithmetic<L, R> {
  return arithmetic('+', left, right)
}

/** Null if an operand is null. */
export function minus<const L extends ComputedNumber, const R extends ComputedNumber>(
  left: L,
  right: R,
): Arithmetic<L, R> {
  return arithmetic('-', left, right)
}

/** Null if an operand is null. */
export function times<const L extends ComputedNumber, const R extends ComputedNumber>(
  left: L,
  right: R,
): Arithmetic<L, R> {
  return arithmetic('*', left, right)
}

/** A number with its fraction, also for whole numbers; null if the divisor is 0. */
export function dividedBy<const L extends ComputedNumber, const R extends ComputedNumber>(
  left: L,
  right: R,
): Arithmetic<L, R> {
  return arithmetic('/', left, right)
}

/** The nearest whole number, of two equally near ones that further from zero; null beyond ±(2^53 − 1). */
export function round<const O extends ComputedNumber>(
  of: O,
): ComputedDeclaration<number | null, OperandNeeds<O, NumberUse>> {
  return declare({ kind: 'round', of: expressionOf(of) })
}

/** Concatenates texts, whole numbers and dates. Missing values are omitted. */
export function concat<const Parts extends readonly ComputedOperand[]>(
  ...parts: Parts
): ComputedDeclaration<string, OperandNeeds<Parts[number]>> {
  return declare({ kind: 'concat', parts: parts.map(expressionOf) })
}

/** The first of these that has a value. */
export function coalesce<const Parts extends readonly ComputedOperand[]>(
  ...parts: Parts
): ComputedDeclaration<CoalescedValue<Parts>, OperandNeeds<Parts[number]>> {
  return declare({ kind: 'coalesce', parts: parts.map(expressionOf) })
}

/** `then` if the rule holds for what the caller may read of the item, else `otherwise`. */
export function when<
  const Then extends ComputedOperand,
  const Otherwise extends ComputedOperand = null,
  Needs = unknown,
>(
  rule: AccessRule<Needs>,
  then: Then,
  otherwise?: Otherwise,
): ComputedDeclaration<OperandValue<Then | Otherwise>, OperandNeeds<Then | Otherwise> & Needs> {
  return declare({
    kind: 'when',
    rule: ruleOf(rule) as Rule,
    value: expressionOf(then),
    otherwise: expressionOf(otherwise ?? null),
  })
}

/** A part of a date or time, in UTC: `date` is `YYYY-MM-DD`, other parts are numbers; `weekday` is 1 (Monday) to 7. */
export function datePart<const Part extends DatePart, const O extends ComputedOperand<string>>(
  part: Part,
  of: O,
): ComputedDeclaration<(Part extends 'date' ? string : number) | null, OperandNeeds<O, TimeUse>> {
  return declare({ kind: 'datePart', part, of: expressionOf(of) })
}
