/**
 * A database that was restored from a backup lacks events that clients have seen. No other event may get their numbers,
 * so the log continues above every number that may ever have been drawn: see `decisions/restored-logs.md`.
 */

import type { EpochMs } from '../../../base/epoch-ms.ts'

/** On average over its life, no log draws more numbers per millisecond: so the clock gives a bound for all of them. */
const numbersPerMs = 64
/** Added instead where the clock is obviously wrong. */
const stepNumbers = 2 ** 32
/** The numbers must fit in 48 bits (see `postgres/log/event-log.ts`). The clock reaches this bound in the year 2100. */
const maxByClock = 2 ** 48 - 2 ** 44

/** The number above which a restored log continues. `drawn`: its last number. */
export function baseAbove(drawn: number, now: EpochMs): number {
  const byClock = Math.ceil(now) * numbersPerMs
  return byClock > drawn && byClock < maxByClock ? byClock : drawn + stepNumbers
}

/** The bases of a log with one more, without those below its oldest event. */
export function withBase(
  bases: readonly number[],
  base: number,
  oldest: number | undefined,
): readonly number[] {
  return oldest === undefined ? [] : [...bases.filter(number => number >= oldest), base]
}
