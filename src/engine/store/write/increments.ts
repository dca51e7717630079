/** Increments of stored numbers, computed from the locked row: no concurrent one is lost. */
import { ApiError, type FieldFault } from '../../../base/errors.ts'
import type { Field } from '../../../model/model.ts'
import { requireDocuments } from '../../../model/validate.ts'
import type { GuardedAssignment, GuardedPlan } from '../../plan/guarded.ts'
import type { Increment } from '../../plan/plan.ts'
import type { RowAlias } from '../sql/row-alias.ts'
import type { Sql } from '../sql/writer.ts'
import type { ResultRow } from '../values.ts'
import { storedValueSql } from './documents.ts'

/** The result of an increment, which replaces the assignment's value. */
interface IncrementedNumber extends Increment {
  /** Which of the assignments. */
  readonly index: number
  readonly field: Field
  /** Null if there is no stored value. */
  readonly value: number | null
  readonly changed: boolean
  readonly hidden: boolean
}

/** The outputs of the stored row that `incrementedNumbers` needs: two for each assignment that increments. */
export function incrementOutputs(set: readonly GuardedAssignment[], row: RowAlias): Sql[] {
  return set.flatMap(assignment => (assignment.increments ? storedValueSql(assignment, row) : []))
}

/** The stored numbers with the plan's increments applied. Their outputs begin `at`. */
export function incrementedNumbers(
  set: readonly GuardedAssignment[],
  { args }: GuardedPlan,
  stored: ResultRow,
  at: number,
): readonly IncrementedNumber[] {
  let next = at
  return set.flatMap(({ field, value, increments }, index) => {
    if (!increments || value.kind !== 'param') return []
    const [text, hidden] = [stored[next], stored[next + 1]]
    next += 2
    const change = args[value.param] as unknown as Increment
    // SQLite writes the JSON of a number as a number.
    const before = text === null || text === undefined ? null : Number(text)
    const after = before === null ? null : before + change.increment
    return [{ ...change, index, field, value: after, changed: after !== before, hidden: hidden === 1 }]
  })
}

/**
 * Throws CONFLICT for numbers beyond the bounds of their increments, FORBIDDEN for those that the caller may not read, and
 * VALIDATION_FAILED for those beyond the bounds of their fields.
 */
export function requireInBounds(numbers: readonly IncrementedNumber[]): void {
  if (numbers.length === 0) return
  // A bound would reveal the hidden value.
  if (numbers.some(({ hidden }) => hidden)) throw new ApiError('FORBIDDEN')
  const faults = numbers.flatMap(number => boundFault(number) ?? [])
  if (faults[0] !== undefined) throw new ApiError('CONFLICT', faults[0].message, { details: faults })
  requireDocuments(numbers.map(({ field, value }) => ({ field, value, maxLength: undefined })))
}

function boundFault({
  field,
  value,
  min,
  max,
  increment,
  changed,
}: IncrementedNumber): FieldFault | undefined {
  const fault = (code: string, message: string) => ({
    field: field.name,
    code,
    message: `${field.name} ${message}`,
  })
  if (value === null) return fault('required', 'has no value that can be incremented.')
  if (min !== undefined && value < min) return fault('too_small', `must not go below ${min}.`)
  if (max !== undefined && value > max) return fault('too_large', `must not go above ${max}.`)
  // Beyond it, an increment by 1 would be lost.
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return fault('out_of_range', 'must stay within ±(2^53 − 1).')
  if (!changed && increment !== 0) return fault('out_of_range', 'is too large to change by so little.')
  return undefined
}
