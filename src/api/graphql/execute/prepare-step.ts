/** A field of a mutation, ready to run. */
import type { Awaitable } from '../../../base/awaitable.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Variables } from '../plan/input.ts'
import type { LogicStep, WriteStep } from '../plan/variant.ts'
import { type PreparedLogic, prepareLogic } from './prepare-logic.ts'
import { type MutationParts, type PreparedWrite, prepareWrite } from './prepare-write.ts'

export function prepareStep(
  parts: MutationParts,
  step: WriteStep | LogicStep,
  variables: Variables,
  principal: Principal,
): Awaitable<PreparedWrite | PreparedLogic> {
  if (step.kind === 'logic') return prepareLogic(parts.logic, step, variables, principal)
  return prepareWrite(parts, { step, variables, principal })
}
