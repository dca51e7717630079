/** A mutation to execute, and the completion of its fields. */
import type { GraphQLFormattedError } from 'graphql'
import type { Principal } from '../../../base/principal.ts'
import { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import type { ExecutionContext } from '../engine.ts'
import type { Variables } from '../plan/input.ts'
import type { LogicStep, MutationVariant, WriteStep } from '../plan/variant.ts'
import { byPlace, Completion } from './completion.ts'
import type { MutationParts, PreparedStep } from './prepare-write.ts'
import { replySize } from './reply-size.ts'

export interface BoundMutation {
  readonly variant: MutationVariant
  readonly variables: Variables
  readonly cost: number
}

/** A mutation, its caller, and what executes it. */
export interface MutationRequest {
  readonly parts: MutationParts
  readonly bound: BoundMutation
  readonly principal: Principal
  readonly context: ExecutionContext
}

/** What is needed to complete a field. */
export interface CompletionParts {
  readonly parts: Pick<MutationParts, 'run' | 'logic'>
  readonly principal: Principal
  readonly context: ExecutionContext
}

/** Completes the value of a step. `write`: undefined if the step was not executed. Throws ANSWER_TOO_LARGE. */
export function completeStep(
  { parts, principal, context }: CompletionParts,
  step: WriteStep | LogicStep,
  write: PreparedStep | undefined,
  value: () => unknown,
  errors: GraphQLFormattedError[],
): unknown {
  const { refusalPlan } = write ?? {}
  const refusals = refusalPlan ? parts.run.refusals(refusalPlan, principal) : []
  const size = replySize([step.replyField], new AnswerBound(parts.logic.limits.answers, 'writeBytes'))
  const completion = new Completion(byPlace(refusals), refusalPlan?.args ?? [], context, size, errors)
  return completion.field(step.replyField, value, { parent: undefined, key: step.replyField.key })
}
