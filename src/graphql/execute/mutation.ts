/**
 * The fields of a mutation run one after the other. Each is a write, whose result is read back in the same transaction.
 * With `@atomic` or an `Idempotency-Key`, all fields share one transaction.
 */
import type { GraphQLFormattedError } from 'graphql'
import type { WriteAnswer } from '../../plan/answer.ts'
import { type Run, writeWith } from '../../plan/run.ts'
import type { Principal } from '../../principal.ts'
import type { Executed, ExecutionContext } from '../engine.ts'
import type { LogicStep, WriteStep } from '../plan/variant.ts'
import { executed } from '../response.ts'
import { FieldFailure } from './completion.ts'
import { type BoundMutation, completeStep, type MutationRequest } from './mutation-request.ts'
import { executeInTransaction } from './mutation-transaction.ts'
import type { PreparedLogic } from './prepare-logic.ts'
import { prepareStep } from './prepare-step.ts'
import {
  type MutationParts,
  type PreparedStep,
  type PreparedWrite,
  withArgumentNames,
} from './prepare-write.ts'

export type ExecuteMutation = (
  bound: BoundMutation,
  principal: Principal,
  context: ExecutionContext,
) => Promise<Executed>

export function createMutation(parts: MutationParts): ExecuteMutation {
  return (bound, principal, context) => {
    const request = { parts, bound, principal, context }
    const isPlain = !bound.variant.isAtomic && context.idempotent === undefined
    return isPlain ? executeSeparately(request) : executeInTransaction(request)
  }
}

async function executeSeparately(request: MutationRequest): Promise<Executed> {
  const { variant, cost } = request.bound
  const errors: GraphQLFormattedError[] = []
  const data: Record<string, unknown> = Object.create(null)
  try {
    for (const step of variant.steps) {
      data[step.replyField.key] =
        step.kind === 'constant' ? step.value : await executeStep(request, step, errors)
    }
    return executed(JSON.stringify(data), errors, cost)
  } catch (error) {
    if (!(error instanceof FieldFailure)) throw error
    return executed('null', [...errors, error.formatted], cost)
  }
}

/** The value of one mutation in the reply. Throws a `FieldFailure` when a non-null mutation fails. */
async function executeStep(
  request: MutationRequest,
  step: WriteStep | LogicStep,
  errors: GraphQLFormattedError[],
): Promise<unknown> {
  const { parts, bound, principal } = request
  let write: PreparedStep | undefined
  let value: () => unknown
  try {
    const prepared = await prepareStep(parts, step, bound.variables, principal)
    const answer = await runPrepared(parts.run, prepared, principal)
    write = prepared
    value = () => prepared.value(answer)
  } catch (error) {
    value = () => {
      throw withArgumentNames(error)
    }
  }
  return completeStep(request, step, write, value, errors)
}

function runPrepared(
  run: Run,
  prepared: PreparedWrite | PreparedLogic,
  principal: Principal,
): Promise<WriteAnswer> {
  if ('asyncSteps' in prepared) {
    const { asyncSteps, steps } = prepared
    return run.transaction({ principal, serial: {}, asyncSteps, steps })
  }
  const { plan, afterwards } = prepared
  return run.write(plan, principal, afterwards && writeWith(afterwards))
}
