/** Checks actions, queries, reactions and jobs. */
import type { LogicDeclaration } from '../logic/logic.ts'
import type { Logic } from '../model.ts'
import { actionsOf, queriesOf } from './operations.ts'
import { jobsOf, reactionsOf } from './reactions.ts'
import type { OperationCheckContext } from './values.ts'

export function logicOf(declared: LogicDeclaration, context: OperationCheckContext): Logic {
  const { outlines, rules, faults } = context
  const actions = actionsOf(declared.actions, context)
  const queries = queriesOf(declared.queries, context)
  const emitted = [...actions.values()].flatMap(({ emits }) => [...emits.keys()])
  const reactions = reactionsOf(declared.reactions, outlines, emitted, faults)
  const jobs = jobsOf(declared.jobs, reactions, rules, faults)
  return { actions, queries, reactions, jobs }
}
