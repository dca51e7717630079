/** The computed fields of a checked model. */
import type { CheckedExpression } from './computed.ts'
import type { ComputedField, Field } from './model.ts'

/** Whether the field of a model is a computed one. */
export function isComputed(field: Field): field is ComputedField {
  return 'expression' in field
}

/** How many lists of related items the expression reads. */
export function manyRelations(expression: CheckedExpression): number {
  const all = (parts: readonly CheckedExpression[]) =>
    parts.reduce((count, part) => count + manyRelations(part), 0)
  switch (expression.kind) {
    case 'field':
    case 'literal':
      return 0
    case 'aggregate':
    case 'first':
      return 1
    case 'arithmetic':
      return all([expression.left, expression.right])
    case 'when':
      return all([expression.value, expression.otherwise])
    case 'datePart':
      return manyRelations(expression.of)
    default:
      return all(expression.parts)
  }
}
