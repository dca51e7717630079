/** The clock of a service under test. */
import { type Duration, millisecondsOf } from '../model/fields/marker.ts'

export interface TestClock {
  /** ISO 8601 UTC. */
  now(): string
  /** Throws a `RangeError` for a text that is no time. */
  set(time: string | Date): void
  advance(by: Duration): void
}

/** Stands still until it is set. */
export class SteppedClock implements TestClock {
  #ms: number

  constructor(time: string | Date) {
    this.#ms = momentOf(time)
  }

  get ms(): number {
    return this.#ms
  }

  now(): string {
    return new Date(this.#ms).toISOString()
  }

  set(time: string | Date): void {
    this.#ms = momentOf(time)
  }

  advance(by: Duration): void {
    const shift = millisecondsOf(by)
    if (!Number.isSafeInteger(shift)) {
      throw new RangeError(
        '`advance` takes a length of time, e.g. `{ minutes: 15 }` or `{ days: 2, hours: 1 }`.',
      )
    }
    this.#ms += shift
  }
}

function momentOf(time: string | Date): number {
  const ms = new Date(time).getTime()
  if (Number.isNaN(ms)) throw new RangeError(`${time} is no time: write it as \`2026-01-31T09:00:00Z\`.`)
  return ms
}
