/** A mutation to execute, and the completion of its fields. */
import type { GraphQLFormattedError } from 'graphql'
import type { Principal } from '../../principal.ts'
import type { ExecutionContext } from '../engine.ts'
import type { Variables } from '../plan/input.ts'
import type { ActStep, MutationVariant, WriteStep } from '../plan/variant.ts'
import { byPlace, Completion } from './completion.ts'
import type { MutationParts, PreparedStep } from './prepare-write.ts'

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

/** What the completion of a field needs. */
export interface Completing {
  readonly parts: Pick<MutationParts, 'run'>
  readonly principal: Principal
  readonly context: ExecutionContext
}

/** Completes the value of a step. `write`: undefined if the step was not executed. */
export function completed(
  { parts, principal, context }: Completing,
  step: WriteStep | ActStep,
  write: PreparedStep | undefined,
  value: () => unknown,
  errors: GraphQLFormattedError[],
): unknown {
  const { refusing } = write ?? {}
  const refusals = refusing ? parts.run.refusals(refusing, write?.refusingAs ?? principal) : []
  const completion = new Completion(byPlace(refusals), refusing?.args ?? [], context, errors)
  return completion.field(step.replyField, value, { before: undefined, key: step.replyField.key })
}
