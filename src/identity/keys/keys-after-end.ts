/** Deletes API keys and webhooks that are created while their user recovers the account. */
import { ApiError } from '../../base/errors.ts'
import type { Records } from '../../base/records.ts'
import type { Run } from '../../engine/plan/run.ts'
import { deleteShape } from '../../engine/plan/system-plans.ts'
import { msSinceAccountEnd } from '../server/sessions/session-ends.ts'
import { removeItem } from './user-keys.ts'

/**
 * Longer than any request takes: a request that was authenticated before the recovery may store its key after it. Later, every
 * valid credential was issued after the recovery.
 */
const pauseMs = 60_000

/** The deletions, by collection. Webhooks too: one that was created in a session does not end with a credential. */
const removals = new Map(['api_keys', 'webhooks'].map(name => [name, deleteShape(name)]))

/**
 * Returns `run` with a check after each new key and webhook is stored: within a minute after an account recovery, the item is
 * deleted and FORBIDDEN is thrown.
 */
export function keysAfterEnd(run: Run, records: Records, now: () => number = Date.now): Run {
  const writeChecked: Run['write'] = async (plan, principal, steps) => {
    const answer = await run.write(plan, principal, steps)
    const { userId } = principal
    const elapsedMs = userId === null ? undefined : await msSinceAccountEnd(records, userId, now())
    if (elapsedMs === undefined || elapsedMs >= pauseMs) return answer
    const removal = removals.get(plan.shape.collection)
    if (removal) await removeItem(run, removal, answer.id)
    throw new ApiError(
      'FORBIDDEN',
      'The account was recovered a moment ago, which ended its keys and webhooks: try again in a minute.',
    )
  }
  return {
    ...run,
    write: (plan, principal, steps) =>
      plan.shape.kind === 'create' && removals.has(plan.shape.collection)
        ? writeChecked(plan, principal, steps)
        : run.write(plan, principal, steps),
  }
}
