/** The types of expressions and of their parts. */
import type { CheckedExpression, CheckedPart } from '../computed/computed.ts'
import { boolean } from '../fields/boolean.ts'
import { date } from '../fields/date.ts'
import { datetime } from '../fields/datetime.ts'
import type { FieldType } from '../fields/field-type.ts'
import { integer } from '../fields/integer.ts'
import { number } from '../fields/number.ts'
import { textual } from '../fields/textual.ts'
import { canonicalOf } from '../json-schema/faults.ts'
import type { Scalar } from '../rule/rule.ts'

export const wholeType = integer().type
/** GraphQL's Int. */
export const countType = integer({ min: 0, max: 2 ** 31 - 1 }).type
export const realType = number().type
export const textType = textual({ name: 'text', schema: { type: 'string' } })
export const booleanType = boolean().type
export const datetimeType = datetime().type
export const dateType = date().type

/** The type of all values that are stored alike. */
const plainTypes = [wholeType, realType, textType, booleanType, datetimeType, dateType]

/** The type of a part of a date. */
export const datePartType = integer({ min: 0, max: 9999 }).type

/** Whether the part is the constant null, which has no type. */
export function isNull(part: CheckedExpression): boolean {
  return part.kind === 'literal' && part.value === null
}

function isNumeric({ encoding }: FieldType): boolean {
  return encoding === wholeType.encoding || encoding === realType.encoding
}

/** A number other than an id: ids are neither added nor averaged. */
export function isAmount(type: FieldType): boolean {
  return type.summable === true
}

export function typed(part: CheckedPart, type: FieldType, optional: boolean): CheckedExpression {
  return { ...part, type, optional }
}

export function plainTypeOf({ encoding }: FieldType): FieldType {
  return plainTypes.find(type => type.encoding === encoding) ?? textType
}

/** A constant is converted to the type, if it is a valid value; any other part is returned unchanged. */
export function convertedTo(type: FieldType, part: CheckedExpression): CheckedExpression {
  if (part.kind !== 'literal' || part.value === null || part.type.encoding === type.encoding) return part
  const canonical = canonicalOf(plainTypeOf(type), part.value)
  return 'fault' in canonical ? part : { ...part, value: canonical.value as Scalar, type: plainTypeOf(type) }
}

/** The common type of all these values; undefined if there is none. */
export function commonType(types: readonly FieldType[]): FieldType | undefined {
  const [first] = types
  if (first === undefined || types.every(type => type === first)) return first
  if (types.every(type => type.encoding === first.encoding)) return plainTypeOf(first)
  return types.every(isNumeric) ? realType : undefined
}
