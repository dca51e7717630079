/** Builders of computed fields. `checkModel` checks what they return. */
import type { AccessRule, FieldRules } from './access.ts'
import type {
  AggregateFunction,
  ComputedDeclaration,
  ComputedOptions,
  DatePart,
  Expression,
} from './computed.ts'
import type { Rule, Scalar } from './rule.ts'

/** A part of an expression: another one, a field (`field('title')`), or a constant. A text is a constant. */
export type ComputedOperand<Value = Scalar> =
  | ComputedDeclaration<Value>
  | FieldRules
  | (Value & Scalar)
  | null

/** What an operand is worth; of a field, unknown here. */
type ValueOf<O> = O extends ComputedDeclaration<infer Value> ? Value : O extends FieldRules ? unknown : O

function made<Value>(expression: Expression, options: ComputedOptions = {}): ComputedDeclaration<Value> {
  return Object.freeze({ kind: 'computed', expression: Object.freeze(expression), options })
}

/** `checkModel` reports what is neither. */
function expressionOf(operand: unknown): Expression {
  if (typeof operand === 'object' && operand !== null) {
    if ('expression' in operand) return operand.expression as Expression
    if ('field' in operand) return { kind: 'field', field: String(operand.field) }
  }
  return { kind: 'literal', value: operand as Scalar }
}

/** What is no rule stays as it is: `checkModel` reports it. */
function ruleOf(rule: AccessRule | undefined): Rule | undefined {
  return rule === undefined ? undefined : (rule?.rule ?? (rule as unknown as Rule))
}

function aggregate<Value>(
  name: AggregateFunction,
  relation: string,
  fieldName: string | undefined,
  where: AccessRule | undefined,
): ComputedDeclaration<Value> {
  return made({ kind: 'aggregate', function: name, relation, field: fieldName, where: ruleOf(where) })
}

/** A computed field with its options: a read rule of its own, a description. */
export function computed<Value>(
  expression: ComputedDeclaration<Value> | FieldRules,
  options: ComputedOptions,
): ComputedDeclaration<Value> {
  return made(expressionOf(expression), options)
}

/** How many related items there are, of those that the caller may read and `where` holds for. */
export function count(relation: string, where?: AccessRule): ComputedDeclaration<number> {
  return aggregate('count', relation, undefined, where)
}

/** The sum of a field of the related items; 0 where none has a value. */
export function sum(relation: string, fieldName: string, where?: AccessRule): ComputedDeclaration<number> {
  return aggregate('sum', relation, fieldName, where)
}

/** The least value of a field of the related items. Null where none has a value. */
export function min<Value extends Scalar = string | number>(
  relation: string,
  fieldName: string,
  where?: AccessRule,
): ComputedDeclaration<Value | null> {
  return aggregate('min', relation, fieldName, where)
}

/** The greatest value of a field of the related items. Null where none has a value. */
export function max<Value extends Scalar = string | number>(
  relation: string,
  fieldName: string,
  where?: AccessRule,
): ComputedDeclaration<Value | null> {
  return aggregate('max', relation, fieldName, where)
}

/** The mean of a field of the related items. Null where none has a value. */
export function avg(
  relation: string,
  fieldName: string,
  where?: AccessRule,
): ComputedDeclaration<number | null> {
  return aggregate('avg', relation, fieldName, where)
}

interface FirstOptions {
  /** As in `?sort=`: `-created_at`, or several. The id decides among equals. */
  readonly sort?: string | readonly string[]
  readonly where?: AccessRule
}

/** A field of the first related item in this order. Null where none is there. */
export function first<Value extends Scalar = Scalar>(
  relation: string,
  fieldName: string,
  options: FirstOptions = {},
): ComputedDeclaration<Value | null> {
  const { sort = [], where } = options ?? {}
  const keys = typeof sort === 'string' ? [sort] : sort
  return made({ kind: 'first', relation, field: fieldName, sort: keys, where: ruleOf(where) })
}

function arithmetic(
  operator: '+' | '-' | '*' | '/',
  left: ComputedOperand<number | null>,
  right: ComputedOperand<number | null>,
): ComputedDeclaration<number | null> {
  return made({ kind: 'arithmetic', operator, left: expressionOf(left), right: expressionOf(right) })
}

/** Null where an operand is null, as in all arithmetic. */
export function plus(
  left: ComputedOperand<number | null>,
  right: ComputedOperand<number | null>,
): ComputedDeclaration<number | null> {
  return arithmetic('+', left, right)
}

export function minus(
  left: ComputedOperand<number | null>,
  right: ComputedOperand<number | null>,
): ComputedDeclaration<number | null> {
  return arithmetic('-', left, right)
}

export function times(
  left: ComputedOperand<number | null>,
  right: ComputedOperand<number | null>,
): ComputedDeclaration<number | null> {
  return arithmetic('*', left, right)
}

/** A number with its fraction, also of whole numbers. Null where the divisor is 0. */
export function dividedBy(
  left: ComputedOperand<number | null>,
  right: ComputedOperand<number | null>,
): ComputedDeclaration<number | null> {
  return arithmetic('/', left, right)
}

/** The texts, whole numbers and dates one after another. What has no value is left out. */
export function concat(...parts: readonly ComputedOperand[]): ComputedDeclaration<string> {
  return made({ kind: 'concat', parts: parts.map(expressionOf) })
}

/** The first of these that has a value. */
export function coalesce<const Parts extends readonly ComputedOperand[]>(
  ...parts: Parts
): ComputedDeclaration<ValueOf<Parts[number]>> {
  return made({ kind: 'coalesce', parts: parts.map(expressionOf) })
}

/** `then` where the rule holds for what the caller may read of the item, else `otherwise`. */
export function when<const Then extends ComputedOperand, const Otherwise extends ComputedOperand = null>(
  rule: AccessRule,
  then: Then,
  otherwise?: Otherwise,
): ComputedDeclaration<ValueOf<Then> | ValueOf<Otherwise>> {
  return made({
    kind: 'when',
    rule: ruleOf(rule) as Rule,
    value: expressionOf(then),
    otherwise: expressionOf(otherwise ?? null),
  })
}

/** A part of a date or time, in UTC: `weekday` is 1 (Monday) to 7, `date` the day as `YYYY-MM-DD`, others numbers. */
export function datePart<const Part extends DatePart>(
  part: Part,
  of: ComputedOperand<string | null>,
): ComputedDeclaration<(Part extends 'date' ? string : number) | null> {
  return made({ kind: 'datePart', part, of: expressionOf(of) })
}
