/** Whether conditions of access rules depend on the caller, who is decided by stored rows, and on the time. */
import { leavesOf, mapLeaves } from '../../../base/predicate.ts'
import { isOfCaller } from '../../../model/rule/rule.ts'
import { always, never, translate } from '../condition.ts'
import type { Condition, Operand } from '../guarded-conditions.ts'
import type { Param } from '../plan.ts'

/** Whether some comparison in it is with the caller's id, app or fields, or with a claim. */
export function dependsOnCaller(condition: Condition): boolean {
  return hasOperand(condition, isOfCaller)
}

export function readsTime(condition: Condition): boolean {
  return hasOperand(condition, ({ kind }) => kind === 'now')
}

function hasOperand(condition: Condition, matches: (operand: Operand) => boolean): boolean {
  return leavesOf(condition).some(leaf => {
    if (leaf.kind === 'compare') return matches(leaf.operand)
    if (leaf.kind !== 'related') return false
    const { path, rows } = leaf
    return hasOperand(rows, matches) || ('joinRows' in path && hasOperand(path.joinRows, matches))
  })
}

/** The condition with the time of an event in place of that of the request. `at`: its parameter. */
export function atTime(condition: Condition, at: Param): Condition {
  return mapLeaves(condition, leaf => {
    if (leaf.kind === 'compare' && leaf.operand.kind === 'now')
      return { ...leaf, operand: { ...leaf.operand, at } }
    if (leaf.kind !== 'related') return leaf
    const { path, rows } = leaf
    const timed = 'joinRows' in path ? { ...path, joinRows: atTime(path.joinRows, at) } : path
    return { ...leaf, path: timed, rows: atTime(rows, at) }
  })
}

/** A condition that holds wherever this one holds for some caller; negated: that fails wherever it fails for every caller. */
export function withoutCaller(condition: Condition, isNegated = false): Condition {
  return translate(
    condition,
    (leaf, negated) => {
      if (!dependsOnCaller(leaf)) return leaf
      if (leaf.kind !== 'related') return negated ? never : always
      const rows = withoutCaller(leaf.rows, negated)
      return rows.kind === 'never' ? never : { ...leaf, rows }
    },
    isNegated,
  )
}
