/** A mock clock. */
import type { Clock } from '../../../src/delivery/consumer/timetable.ts'

export interface FakeClock extends Clock {
  /** Advances step by step: runs the due timers in order, and lets the code they call run. */
  advance(milliseconds: number): Promise<void>
  /** Jumps ahead and runs the timers due by then once: for hours and days. */
  jump(milliseconds: number): Promise<void>
  /** Sets the time back. The timers run after the same delays as before. */
  setBack(milliseconds: number): void
}

/** Lets started code run until it waits for more than promises. */
export const settled = () => new Promise<void>(resolve => setImmediate(resolve))

export function fakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let time = start
  const timers = new Set<{ dueAt: number; readonly run: () => void }>()
  return {
    now: () => time,
    after(delayMs, run) {
      const timer = { dueAt: time + delayMs, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    setBack(milliseconds) {
      time -= milliseconds
      for (const timer of timers) timer.dueAt -= milliseconds
    },
    async jump(milliseconds) {
      time += milliseconds
      const due = [...timers].filter(({ dueAt }) => dueAt <= time).sort((a, b) => a.dueAt - b.dueAt)
      for (const timer of due) {
        timers.delete(timer)
        timer.run()
      }
      await settled()
    },
    async advance(milliseconds) {
      const end = time + milliseconds
      for (;;) {
        const [next] = [...timers].filter(({ dueAt }) => dueAt <= end).sort((a, b) => a.dueAt - b.dueAt)
        if (next === undefined) break
        timers.delete(next)
        time = Math.max(time, next.dueAt)
        next.run()
        await settled()
      }
      time = end
      await settled()
    },
  }
}
