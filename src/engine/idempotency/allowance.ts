/** Limits what one caller may store with idempotency keys in a day (UTC). */

import { type Awaitable, then } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import type { Budget, RateCounters } from '../cluster/cluster.ts'
import { smallPayloadCharacters } from './transaction.ts'

const daySeconds = 24 * 60 * 60
/** A unit is one record with a small payload. */
const maxUnits = 1_500_000
/** Once a caller has used these (64 MiB), only small payloads are stored with their whole body. */
const maxUnitsOfLongPayloads = 32_768

export interface Allowance {
  /** Takes one unit. Returns whether a long payload may be stored. Throws RATE_LIMITED. */
  begin(scope: string): Awaitable<boolean>
  /** Takes the further units of the stored payload; gives back the first one if nothing was stored. */
  end(scope: string, storedCharacters: number): void
}

export function createAllowance(counters: RateCounters): Allowance {
  const keyOf = (scope: string) => `idempotency:${scope}`
  return {
    begin: scope => then(counters.take(keyOf(scope), maxUnits, 1, daySeconds), admit),
    end(scope, storedCharacters) {
      if (storedCharacters === 0) {
        counters.give(keyOf(scope), 1, daySeconds)
        return
      }
      const additionalUnits = Math.ceil(storedCharacters / smallPayloadCharacters) - 1
      if (additionalUnits > 0) void counters.take(keyOf(scope), maxUnits, additionalUnits, daySeconds)
    },
  }
}

function admit({ granted, remaining, resetAt }: Budget): boolean {
  if (granted) return maxUnits - remaining <= maxUnitsOfLongPayloads
  const seconds = Math.max(1, resetAt - Math.floor(Date.now() / 1000))
  throw new ApiError(
    'RATE_LIMITED',
    `The limit of ${maxUnits.toLocaleString('en')} Idempotency-Keys per day is used up: write without the header, or try again in ${seconds} s.`,
    { headers: { 'Retry-After': String(seconds) } },
  )
}
