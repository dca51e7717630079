/** API keys that are created while their user recovers the account. */
import { ApiError } from '../errors.ts'
import type { Run } from '../plan/run.ts'
import type { Records } from '../records.ts'
import { sinceAccountEnd } from './server/sessions/session-ends.ts'
import { removeKey } from './user-keys.ts'

/**
 * Longer than a request takes: one that was authenticated before the recovery may store its key after it. By then no
 * credential is left but those issued since.
 */
const PAUSE = 60_000

/**
 * `run` that checks each new key again after it is stored: for a minute after an account recovery it deletes the key and
 * throws FORBIDDEN.
 */
export function keysAfterEnd(run: Run, records: Records, now: () => number = Date.now): Run {
  const checked: Run['write'] = async (plan, principal, within) => {
    const answer = await run.write(plan, principal, within)
    const { userId } = principal
    const since = userId === null ? undefined : await sinceAccountEnd(records, userId, now())
    if (since === undefined || since >= PAUSE) return answer
    await removeKey(run, answer.id)
    throw new ApiError(
      'FORBIDDEN',
      'What the account had given away was ended a moment ago: make the key in a minute.',
    )
  }
  return {
    ...run,
    write: (plan, principal, within) =>
      plan.shape.kind === 'create' && plan.shape.collection === 'api_keys'
        ? checked(plan, principal, within)
        : run.write(plan, principal, within),
  }
}
