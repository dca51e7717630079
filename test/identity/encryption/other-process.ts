/** The records of a running service, as another process of it would open them. */

import type { Records } from '../../../src/base/records.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { openRecords } from '../../../src/identity/encryption/open-records.ts'
import type { Deployment } from '../../setups/setup.ts'

export function recordsOfOtherProcess(
  store: Pick<Store, 'records'>,
  { database, settings }: Pick<Deployment, 'database' | 'settings'>,
): Promise<Records> {
  return openRecords({
    records: store.records,
    keys: settings.secretKeys,
    database,
    note: () => undefined,
  })
}
