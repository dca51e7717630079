/** Deletes accounts in a service that one transaction may not delete. */
import { systemClock } from '../../../delivery/consumer/timetable.ts'
import { AccountDeletions } from '../../../delivery/deletions/accounts.ts'
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

export function openDeletions({ model, run, store, log, faults }: DeletionServices): AccountDeletions {
  return new AccountDeletions({
    ...{ model, run, records: store.records, log: store.changes, clock: systemClock },
    elapsed: () => performance.now(),
    onFault: error => faults.report(error, 'the deletion of an account failed'),
    onBlocked: (userId, { message }) =>
      log.logger.error(
        { user_id: userId, reason: message },
        'an account cannot be deleted further, and remains disabled: delete what the reason names, and the deletion continues',
      ),
  })
}
