/** An action as a transaction of its own, called by the model's code or a program. */
import { ApiError } from '../../../base/errors.ts'
import type { Run } from '../../plan/run.ts'
import { asyncStepsOf, type OperationCall, type OperationParts, qualifiedName } from './call.ts'
import { callSteps } from './operation.ts'

/** Rejects with what its code threw. */
export async function runAction(
  parts: OperationParts,
  run: Pick<Run, 'transaction'>,
  call: OperationCall,
): Promise<unknown> {
  try {
    return await run.transaction({
      principal: call.principal,
      serial: {},
      asyncSteps: asyncStepsOf(parts.limits, [qualifiedName(call.operation)]),
      steps: () => callSteps(parts, call),
    })
  } catch (error) {
    throw error instanceof ApiError && error.code === 'INTERNAL_ERROR' ? causeOf(error) : error
  }
}

/** The store wraps what the code threw, and says where. */
function causeOf({ cause }: ApiError): unknown {
  return cause instanceof Error ? (cause.cause ?? cause) : cause
}
