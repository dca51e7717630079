/**
 * The fields of a mutation run one after the other. Each is a write, whose result is read back in the same transaction.
 * With `@atomic` or an `Idempotency-Key`, all fields share one transaction.
 */
import type { GraphQLFormattedError } from 'graphql'
import type { Principal } from '../../../base/principal.ts'
import type { WriteAnswer } from '../../../engine/plan/answer.ts'
import { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import { writeStep, writeWith } from '../../../engine/plan/run.ts'
import type { ProgramSteps } from '../../../engine/plan/transaction.ts'
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
import { repeatsValues } from './reply-size.ts'

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
  const answerBound = new AnswerBound(request.parts.logic.limits.answers, 'readBytes')
  try {
    for (const step of variant.steps) {
      data[step.replyField.key] =
        step.kind === 'constant' ? step.value : await executeStep(request, step, errors, answerBound)
    }
    return executed(JSON.stringify(data), errors, cost)
  } catch (error) {
    if (!(error instanceof FieldFailure)) throw error
    return executed('null', [...errors, error.formatted], cost)
  }
}

/**
 * The value of one mutation in the reply. Throws a `FieldFailure` when a non-null mutation fails. `answerBound`: of the
 * answers to all of them. A mutation is not executed once its answer might not fit any more.
 */
async function executeStep(
  request: MutationRequest,
  step: WriteStep | LogicStep,
  errors: GraphQLFormattedError[],
  answerBound: AnswerBound,
): Promise<unknown> {
  const { parts, bound, principal } = request
  const { answers } = parts.logic.limits
  let write: PreparedStep | undefined
  let value: () => unknown
  try {
    if (answerBound.leftBytes < Math.min(answers.writeBytes, answers.readBytes)) throw answerBound.refusal()
    const prepared = await prepareStep(parts, step, bound.variables, principal)
    const answer = await runPrepared(request, step, prepared)
    answerBound.count(answer.text)
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
  request: MutationRequest,
  step: WriteStep | LogicStep,
  prepared: PreparedWrite | PreparedLogic,
): Promise<WriteAnswer> {
  const {
    parts: { run },
    principal,
  } = request
  /** Rolls the write back if the reply would be too large. */
  function* checked(steps: ProgramSteps<WriteAnswer>): ProgramSteps<WriteAnswer> {
    const answer = yield* steps
    requireReplySize(request, step, prepared, answer)
    return answer
  }
  const repeats = repeatsValues([step.replyField])
  if ('asyncSteps' in prepared) {
    const { asyncSteps, steps } = prepared
    return run.transaction({
      ...{ principal, serial: {}, asyncSteps },
      steps: repeats ? () => checked(steps()) : steps,
    })
  }
  const { plan, afterwards } = prepared
  const steps = afterwards && writeWith(afterwards)
  if (!repeats) return run.write(plan, principal, steps)
  return run.write(plan, principal, writePlan => checked((steps ?? writeStep)(writePlan)))
}

/** Throws ANSWER_TOO_LARGE. Other failures of fields do not undo the write. */
function requireReplySize(
  request: MutationRequest,
  step: WriteStep | LogicStep,
  prepared: PreparedStep,
  answer: WriteAnswer,
): void {
  // Failures are reported when the value is completed once more.
  const context = { ...request.context, onFault: () => {}, onError: undefined }
  try {
    completeStep({ ...request, context }, step, prepared, () => prepared.value(answer), [])
  } catch (error) {
    if (!(error instanceof FieldFailure)) throw error
  }
}
