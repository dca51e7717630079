/** Checks actions, queries, reactions and jobs. */
import type { LogicDeclaration } from '../logic.ts'
import type { Logic } from '../model.ts'
import type { Faults } from './faults.ts'
import type { Outlines } from './outline.ts'
import { jobsOf, reactionsOf } from './reactions.ts'
import type { RuleCheck } from './rules.ts'

export function logicOf(
  declared: LogicDeclaration,
  outlines: Outlines,
  rules: RuleCheck,
  faults: Faults,
): Logic {
  const emitted = Object.values(declared.actions ?? {}).flatMap(action =>
    Object.keys(action?.options?.emits ?? {}),
  )
  const reactions = reactionsOf(declared.reactions, outlines, emitted, faults)
  const jobs = jobsOf(declared.jobs, reactions, rules, faults)
  return { actions: new Map(), queries: new Map(), reactions, jobs }
}
