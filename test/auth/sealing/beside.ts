/** The records of a service that runs on this database, as another process of it would open them. */
import { openRecords } from '../../../src/auth/sealing/open.ts'
import type { Records } from '../../../src/records.ts'

export function recordsBeside(
  { records }: { readonly records: Records },
  database: string,
): Promise<Records> {
  return openRecords({ records, keys: undefined, database, note: () => undefined })
}
