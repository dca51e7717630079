/** Checks actions, queries, reactions and jobs. */
import type { LogicDeclaration } from '../logic.ts'
import type { Logic } from '../model.ts'
import type { Faults } from './faults.ts'
import type { Outlines } from './outline.ts'
import type { RuleCheck } from './rules.ts'

export function logicOf(
  _declared: LogicDeclaration,
  _outlines: Outlines,
  _rules: RuleCheck,
  _faults: Faults,
): Logic {
  return { actions: new Map(), queries: new Map(), reactions: new Map(), jobs: new Map() }
}
