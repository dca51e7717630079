/** The records of a service that runs on this database, as another process of it would open them. */
import { openRecords } from '../../../src/auth/sealing/open.ts'
import type { Records } from '../../../src/records.ts'
import type { Store } from '../../../src/store/store.ts'

export function recordsBeside(store: Pick<Store, 'records' | 'rewrite'>, database: string): Promise<Records> {
  return openRecords({
    records: store.records,
    keys: undefined,
    database,
    note: () => undefined,
    rewrite: () => store.rewrite(),
  })
}
