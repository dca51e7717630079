/** Decides conditions over a row from the values that are about to be written, without the database. */
import type { JsonValue } from '../../model/fields/type.ts'
import type { GuardedAssignment } from './guarded.ts'
import { type Condition, type ConditionOperator, isValue, type Value } from './guarded-conditions.ts'

/** Undefined: only the database can decide. */
export type Decision = boolean | undefined

/**
 * Whether `condition` will hold for a row after `assignments`. Fields that are not assigned are unknown.
 * `userId` null: nobody is signed in.
 */
export function decide(
  condition: Condition,
  assignments: readonly GuardedAssignment[],
  args: readonly JsonValue[],
  userId: number | null,
): Decision {
  const decidePart = (part: Condition) => decide(part, assignments, args, userId)
  switch (condition.kind) {
    case 'always':
      return true
    case 'never':
      return false
    case 'not':
      return opposite(decidePart(condition.part))
    case 'and':
      return all(condition.parts, decidePart)
    case 'or':
      return opposite(all(condition.parts, part => opposite(decidePart(part))))
    case 'isNull':
    case 'compare': {
      if (condition.field.when.kind !== 'always') return undefined
      const value = valueAfter(condition.field.field.name, assignments, args, userId)
      if (value === undefined) return undefined
      if (condition.kind === 'isNull') return value === null
      const { operand } = condition
      return isValue(operand)
        ? compare(value, condition.operator, knownValue(operand, args, userId))
        : undefined
    }
    default:
      return undefined
  }
}

function opposite(decision: Decision): Decision {
  return decision === undefined ? undefined : !decision
}

function all(conditions: readonly Condition[], decidePart: (part: Condition) => Decision): Decision {
  let result: Decision = true
  for (const condition of conditions) {
    const decision = decidePart(condition)
    if (decision === false) return false
    if (decision === undefined) result = undefined
  }
  return result
}

function valueAfter(
  name: string,
  assignments: readonly GuardedAssignment[],
  args: readonly JsonValue[],
  userId: number | null,
): JsonValue | undefined {
  const assignment = assignments.find(candidate => candidate.field.name === name)
  // A withheld value is not written.
  if (assignment === undefined || assignment.when !== undefined || assignment.withheld) return undefined
  const { value } = assignment
  if (value.kind !== 'default') return knownValue(value, args, userId)
  if (value.default.kind === 'value') return value.default.value
  return value.default.kind === 'currentUser' ? userId : undefined
}

function knownValue(operand: Value, args: readonly JsonValue[], userId: number | null): JsonValue {
  if (operand.kind === 'userId') return userId
  return operand.kind === 'literal' ? operand.value : (args[operand.param] ?? null)
}

function compare(value: JsonValue, operator: ConditionOperator, other: JsonValue): Decision {
  if (value === null || other === null) return false
  if (typeof value === 'object') return undefined
  if (operator === 'in') return Array.isArray(other) ? other.includes(value) : undefined
  if (typeof other !== typeof value) return undefined
  if (operator === 'eq') return value === other
  if (operator === 'ne') return value !== other
  // Left to the database, which orders text by code point; JavaScript orders it by UTF-16 unit.
  return typeof value === 'number' && typeof other === 'number'
    ? compareNumbers(value, operator, other)
    : undefined
}

function compareNumbers(value: number, operator: ConditionOperator, other: number): Decision {
  switch (operator) {
    case 'gt':
      return value > other
    case 'gte':
      return value >= other
    case 'lt':
      return value < other
    case 'lte':
      return value <= other
    default:
      return undefined
  }
}
