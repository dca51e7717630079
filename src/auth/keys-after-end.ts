/** API keys that are made while their user takes the account back. */
import { ApiError } from '../errors.ts'
import type { Run } from '../plan/run.ts'
import type { Records } from '../records.ts'
import { removeKey } from './keys-of.ts'
import { sinceAccountEnd } from './server/ended.ts'

/**
 * Longer than a request takes, in milliseconds: one that was let in before the end may store its key after it. No
 * credential of the API is left then but those that were given since.
 */
const PAUSE = 60_000

/**
 * `run`, whose new keys are looked at once more when they are stored: FORBIDDEN, and no key, for a minute after
 * everything of their user was ended.
 */
export function keysAfterEnd(run: Run, records: Records, now: () => number = Date.now): Run {
  const checked: Run['write'] = async (plan, principal) => {
    const answer = await run.write(plan, principal)
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
    write: (plan, principal) =>
      plan.shape.kind === 'create' && plan.shape.collection === 'api_keys'
        ? checked(plan, principal)
        : run.write(plan, principal),
  }
}
