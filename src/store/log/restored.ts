/**
 * After a restored backup the database has lost events that clients have seen. Their numbers must not be given to other
 * events, so the log goes on above every number that may ever have been drawn: see `decisions/restored-logs.md`.
 */

/** No log draws more events than this in a millisecond, over its whole life: so a number tells a time that it comes before. */
const numbersPerMs = 64
/** Where the clock cannot be right. */
const stepNumbers = 2 ** 32
/** The numbers must fit 48 bits: see `postgres/log/event-log.ts`. */
const maxByClock = 2 ** 47

/** The number above which a restored log goes on. `drawn`: the last one that it knows; `now` in milliseconds since 1970. */
export function baseAbove(drawn: number, now: number): number {
  const byClock = Math.ceil(now) * numbersPerMs
  return byClock > drawn && byClock < maxByClock ? byClock : drawn + stepNumbers
}

/** The bases of a log whose oldest event is known, with one more. */
export function withBase(
  bases: readonly number[],
  base: number,
  oldest: number | undefined,
): readonly number[] {
  return oldest === undefined ? [] : [...bases.filter(each => each >= oldest), base]
}
