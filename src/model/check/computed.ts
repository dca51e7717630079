/** Checks computed fields. */
import type { ComputedField } from '../model.ts'
import type { Faults } from './faults.ts'
import type { Outline } from './outline.ts'
import type { RuleCheck } from './rules.ts'

export function computedOf(
  _outline: Outline,
  _rules: RuleCheck,
  _faults: Faults,
): ReadonlyMap<string, ComputedField> {
  return new Map()
}
