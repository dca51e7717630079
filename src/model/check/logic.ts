/** Checks actions, queries, reactions, jobs and routes. */
import type { LogicDeclaration } from '../logic/logic.ts'
import type { Logic } from '../model.ts'
import { checksOf } from './checks.ts'
import { actionsOf, queriesOf } from './operations.ts'
import { jobsOf, reactionsOf } from './reactions.ts'
import { routesOf } from './routes.ts'
import type { OperationCheckContext } from './values.ts'

export function logicOf(declared: LogicDeclaration, context: OperationCheckContext): Logic {
  const { outlines, rules, faults } = context
  const checks = checksOf(declared.checks, outlines, faults)
  const actions = actionsOf(declared.actions, context)
  const queries = queriesOf(declared.queries, context)
  const emitted = [...actions.values()].flatMap(({ emits }) => [...emits.keys()])
  const reactions = reactionsOf(declared.reactions, outlines, emitted, faults)
  const jobs = jobsOf(declared.jobs, reactions, rules, faults)
  const routes = routesOf(declared.routes, context)
  return { checks, actions, queries, reactions, jobs, routes }
}
