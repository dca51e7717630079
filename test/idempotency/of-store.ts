/** Idempotent writes on a store without a service. */
import { memoryCounters } from '../../src/cluster/memory-counters.ts'
import { createIdempotency, type Idempotency } from '../../src/idempotency.ts'
import type { Run } from '../../src/plan/run.ts'
import type { Store } from '../../src/store/store.ts'

/** Its records are not encrypted. */
export function idempotencyOf({ records }: Pick<Store, 'records'>, run: Run): Idempotency {
  return createIdempotency({ run, records, counters: memoryCounters() })
}
