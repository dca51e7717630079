/** Whether conditions of access rules depend on the caller, who is decided by stored rows, and on the time. */
import { always, and, never, not, or } from '../condition.ts'
import type { Condition, Operand } from '../guarded-conditions.ts'
import type { Param } from '../plan.ts'

/** Whether some comparison in it is with the caller's id, one of the caller's fields, or a claim. */
export function dependsOnCaller(condition: Condition): boolean {
  return hasOperand(condition, ({ kind }) => kind === 'userId' || kind === 'caller' || kind === 'claim')
}

export function readsTime(condition: Condition): boolean {
  return hasOperand(condition, ({ kind }) => kind === 'now')
}

function hasOperand(condition: Condition, matches: (operand: Operand) => boolean): boolean {
  const inner = (part: Condition) => hasOperand(part, matches)
  switch (condition.kind) {
    case 'compare':
      return matches(condition.operand)
    case 'related':
      return inner(condition.rows) || ('joinRows' in condition.path && inner(condition.path.joinRows))
    case 'not':
      return inner(condition.condition)
    case 'and':
    case 'or':
      return condition.conditions.some(inner)
    default:
      return false
  }
}

/** The condition with the time of an event in place of that of the request. `at`: its parameter. */
export function atTime(condition: Condition, at: Param): Condition {
  const inner = (part: Condition) => atTime(part, at)
  switch (condition.kind) {
    case 'compare':
      return condition.operand.kind === 'now'
        ? { ...condition, operand: { ...condition.operand, at } }
        : condition
    case 'related': {
      const { path, rows } = condition
      const timed = 'joinRows' in path ? { ...path, joinRows: inner(path.joinRows) } : path
      return { ...condition, path: timed, rows: inner(rows) }
    }
    case 'not':
      return { ...condition, condition: inner(condition.condition) }
    case 'and':
    case 'or':
      return { ...condition, conditions: condition.conditions.map(inner) }
    default:
      return condition
  }
}

/** A condition that holds wherever this one holds for some caller. */
export function withoutCaller(condition: Condition): Condition {
  return boundOf(condition, true)
}

/** `result`: of the comparisons that depend on the caller. */
function boundOf(condition: Condition, result: boolean): Condition {
  const inner = (part: Condition) => boundOf(part, result)
  if (!dependsOnCaller(condition)) return condition
  switch (condition.kind) {
    case 'and':
      return and(...condition.conditions.map(inner))
    case 'or':
      return or(...condition.conditions.map(inner))
    case 'not':
      return not(boundOf(condition.condition, !result))
    case 'related': {
      const rows = inner(condition.rows)
      return rows.kind === 'never' ? never : { ...condition, rows }
    }
    default:
      return result ? always : never
  }
}
