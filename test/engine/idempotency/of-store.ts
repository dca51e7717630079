/** Idempotent writes on a store without a service. */
import { memoryCounters } from '../../../src/engine/cluster/memory-counters.ts'
import { createIdempotency, type Idempotency } from '../../../src/engine/idempotency/idempotency.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import type { Store } from '../../../src/engine/store/store.ts'

/** Its records are not encrypted. */
export function idempotencyOf({ records }: Pick<Store, 'records'>, run: Run): Idempotency {
  return createIdempotency({ run, records, counters: memoryCounters() })
}
