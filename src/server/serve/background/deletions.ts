/** Deletes accounts in a service that one transaction may not delete. */
import { ApiError } from '../../../base/errors.ts'
import { systemClock } from '../../../delivery/consumer/timetable.ts'
import { AccountDeletions } from '../../../delivery/deletions/accounts.ts'
import { CascadeTooLarge } from '../../../engine/plan/cascade-too-large.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { Model } from '../../../model/model.ts'
import type { Log } from '../../observability/log.ts'
import type { FaultLog } from '../monitoring/fault-log.ts'

interface DeletionServices {
  readonly model: Model
  readonly run: Run
  readonly store: Store
  readonly log: Log
  readonly faults: Pick<FaultLog, 'report'>
}

/** Of a refusal its message, of a failure the error. */
function reasonOf(error: unknown): object {
  // Its message recommends slices, which were tried.
  if (error instanceof CascadeTooLarge)
    return {
      reason: 'Items form a cycle of cascading relations, with more items than `quotas.cascade` allows.',
    }
  if (!(error instanceof ApiError) || error.status >= 500) return { err: error }
  return { reason: [error.message, ...(error.details ?? []).map(({ message }) => message)].join(' ') }
}

export function openDeletions({ model, run, store, log, faults }: DeletionServices): AccountDeletions {
  return new AccountDeletions({
    ...{ model, run, records: store.records, log: store.changes, clock: systemClock },
    elapsed: () => performance.now(),
    onFault: error => faults.report(error, 'the deletion of an account failed'),
    onBlocked: (userId, error) =>
      log.logger.error(
        { user_id: userId, ...reasonOf(error) },
        'an account cannot be deleted further, and remains disabled: remove the reason, and the deletion continues',
      ),
  })
}
