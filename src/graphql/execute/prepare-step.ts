/** A field of a mutation, ready to run. */
import type { Awaitable } from '../../plan/answer.ts'
import type { Principal } from '../../principal.ts'
import type { Variables } from '../plan/input.ts'
import type { ActStep, WriteStep } from '../plan/variant.ts'
import { type PreparedAct, prepareAct } from './prepare-act.ts'
import { type MutationParts, type PreparedWrite, prepareWrite } from './prepare-write.ts'

export function prepareStep(
  parts: MutationParts,
  step: WriteStep | ActStep,
  variables: Variables,
  principal: Principal,
): Awaitable<PreparedWrite | PreparedAct> {
  if (step.kind === 'act') return prepareAct(parts.logic, step, variables, principal)
  return prepareWrite(parts, { step, variables, principal })
}
