/** Checks actions, queries, reactions and jobs. */
import type { LogicDeclaration } from '../logic.ts'
import type { Logic } from '../model.ts'
import type { Faults } from './faults.ts'
import { actionsOf, queriesOf } from './operations.ts'
import type { Outlines } from './outline.ts'
import { jobsOf, reactionsOf } from './reactions.ts'
import type { RuleCheck } from './rules.ts'

export interface LogicContext {
  readonly outlines: Outlines
  readonly rules: RuleCheck
  readonly faults: Faults
}

export function logicOf(declared: LogicDeclaration, context: LogicContext): Logic {
  const { outlines, rules, faults } = context
  const actions = actionsOf(declared.actions, context)
  const queries = queriesOf(declared.queries, context)
  const emitted = [...actions.values()].flatMap(({ emits }) => [...emits.keys()])
  const reactions = reactionsOf(declared.reactions, outlines, emitted, faults)
  const jobs = jobsOf(declared.jobs, reactions, rules, faults)
  return { actions, queries, reactions, jobs }
}
