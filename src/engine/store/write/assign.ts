/** The values of a write's assignments. */
import { randomUUID } from 'node:crypto'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Encoding } from '../../../model/fields/encoding.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Field, FieldDefault } from '../../../model/model.ts'
import type { GuardedAssignment, GuardedPlan } from '../../plan/guarded.ts'
import { encode, type SqlValue } from '../values.ts'

/** In the order of `set`. `now`: ISO 8601 UTC. */
export function assignedValues(
  set: readonly GuardedAssignment[],
  plan: GuardedPlan,
  now: string,
): SqlValue[] {
  return set.map(assignment => assignedValue(assignment, plan, now))
}

/** The value of one assignment. `now`: see `assignedValues`. */
export function assignedValue(assignment: GuardedAssignment, plan: GuardedPlan, now: string): SqlValue {
  return encode(jsonOf(assignment, plan, now), assignment.field.type.encoding)
}

/** The same, as JSON. Null for an increment, whose value depends on the stored one: see `derivedValues`. */
export function jsonOf(
  { field, value, increments }: GuardedAssignment,
  plan: GuardedPlan,
  now: string,
): JsonValue {
  const { principal } = plan
  if (increments) return null
  switch (value.kind) {
    case 'param':
      return plan.args[value.param] ?? null
    case 'literal':
      return value.value
    case 'userId':
      return principal.userId
    case 'default':
      return defaultValue(value.default, principal, now, field.type.encoding) ?? null
  }
}

function defaultValue(
  fieldDefault: FieldDefault,
  { userId, app, actor }: Principal,
  now: string,
  encoding: Encoding,
) {
  if (fieldDefault.kind === 'value') return fieldDefault.value
  if (fieldDefault.kind === 'currentUser') return userId
  // What an action writes as the service is attributed to its caller's app.
  if (fieldDefault.kind === 'currentApp') return app?.id ?? actor?.appId
  if (fieldDefault.kind === 'uuid') return randomUUID()
  return encoding.now?.(now)
}

/** An assignment of a value that the model's own code has set: only its slot contains the value. */
export function assignedBySlot(field: Field): GuardedAssignment {
  return { field, value: { kind: 'literal', value: null } }
}

/**
 * Throws for required fields without a value, e.g. the user's id where nobody is signed in. `changes`: which of the
 * assignments are made; by default all.
 */
export function requireValues(
  set: readonly GuardedAssignment[],
  values: readonly unknown[],
  changes?: readonly boolean[],
): void {
  const missing = set.filter(({ field }, index) => {
    return !field.optional && values[index] === null && changes?.[index] !== false
  })
  if (missing.length === 0) return
  const details = missing.map(({ field, value }) => ({
    field: field.name,
    code: 'required',
    message:
      value.kind === 'default' && value.default.kind === 'currentUser'
        ? 'This field must have a value: its default is the signed-in user, and nobody is signed in.'
        : 'This field must have a value.',
  }))
  throw new ApiError('VALIDATION_FAILED', undefined, { details })
}
