/** The clock of a service under test. */
import type { Clock } from '../../delivery/consumer/timetable.ts'
import { type Duration, millisecondsOf } from '../../model/fields/marker.ts'

interface Timer {
  readonly at: number
  readonly run: () => void
}

/** Stands still until it is set; then the timers that are due run. */
export class SteppedClock implements Clock {
  #ms: number
  #timers: readonly Timer[] = []

  constructor(time: string | Date) {
    this.#ms = momentOf(time)
  }

  readonly now = (): number => this.#ms

  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.#ms + Math.max(0, delayMs), run }
    this.#timers = [...this.#timers, timer]
    // Asynchronously, as a real timer would.
    if (delayMs <= 0) setImmediate(() => this.#runDue())
    return () => {
      this.#timers = this.#timers.filter(pending => pending !== timer)
    }
  }

  /** Throws a `RangeError` for an invalid time. */
  set(time: string | Date): void {
    this.#ms = momentOf(time)
    this.#runDue()
  }

  advance(duration: Duration): void {
    const shiftMs = millisecondsOf(duration)
    if (!Number.isSafeInteger(shiftMs)) {
      throw new RangeError('`advance` takes a duration, e.g. `{ minutes: 15 }` or `{ days: 2, hours: 1 }`.')
    }
    this.set(new Date(this.#ms + shiftMs))
  }

  #runDue(): void {
    const due = this.#timers.filter(({ at }) => at <= this.#ms).sort((a, b) => a.at - b.at)
    for (const timer of due) {
      // An earlier timer may have cancelled this one.
      if (!this.#timers.includes(timer)) continue
      this.#timers = this.#timers.filter(pending => pending !== timer)
      timer.run()
    }
  }
}

function momentOf(time: string | Date): number {
  const ms = new Date(time).getTime()
  if (Number.isNaN(ms)) throw new RangeError(`${time} is not a time: write it as \`2026-01-31T09:00:00Z\`.`)
  return ms
}
