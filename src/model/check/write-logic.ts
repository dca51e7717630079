/** Checks what every write of a collection goes through: `prepare`, `check`, and limits. */
import type { Collection } from '../model.ts'
import type { Faults } from './faults.ts'
import type { Outline } from './outline.ts'
import type { RuleCheck } from './rules.ts'

export function writeLogicOf(
  outline: Outline,
  _rules: RuleCheck,
  _faults: Faults,
): Pick<Collection, 'prepare' | 'check' | 'limits'> {
  return { prepare: outline.options.prepare, check: outline.options.check, limits: [] }
}
