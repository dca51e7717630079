/** One write with an `Idempotency-Key`. */
import type { Reply } from '../../base/call.ts'
import type { Principal } from '../../base/principal.ts'
import type { WriteAnswer } from '../plan/answer.ts'
import type { Plan, WriteShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import type { ProgramSteps } from '../plan/transaction.ts'
import type { KeyedAttempt, Replayable } from './transaction.ts'

/** Yields the plan and its further steps; returns its answer and the reply to store. */
export type KeyedSteps = (
  plan: Plan<WriteShape>,
) => ProgramSteps<readonly [answer: WriteAnswer, replayable: Replayable]>

/** Runs the write and stores its record in one transaction. Rejects with `KeyTaken` if another request has done so. */
export async function writeOnce(
  run: Run,
  principal: Principal,
  attempt: KeyedAttempt,
  plan: Plan<WriteShape>,
  steps: KeyedSteps,
): Promise<Reply> {
  await run.write(plan, principal, function* (settled) {
    let answer: WriteAnswer | undefined
    yield* attempt.steps(function* () {
      const [writeAnswer, replayable] = yield* steps(settled)
      answer = writeAnswer
      return replayable
    })
    if (answer === undefined) throw new Error('the write has no answer')
    return answer
  })
  if (attempt.reply === undefined) throw new Error('the write has no reply')
  return attempt.reply
}
