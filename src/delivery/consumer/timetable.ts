/** Scheduled calls, with one timer for all of them. */

import type { EpochMs } from '../../base/epoch-ms.ts'

/** The time, and timers. Tests pass their own clock. */
export interface Clock {
  now(): EpochMs
  /** Returns a function that cancels the call. */
  after(delayMs: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

/**
 * Calls `run` once the delay has passed on the clock or in real time: a clock of tests may stand still. Returns a function that
 * cancels the call.
 */
export function afterAtMost(clock: Clock, delayMs: number, run: () => void): () => void {
  const cancels = (clock === systemClock ? [clock] : [clock, systemClock]).map(of => of.after(delayMs, run))
  return () => {
    for (const cancel of cancels) cancel()
  }
}

/** Longer delays are split, so that a change of the clock is noticed. Node's limit is 2^31 ms. */
const maxTimerMs = 60_000

interface TimetableEntry {
  readonly dueAt: EpochMs
  readonly run: () => void
}

/** A binary heap; the earliest entry is first. */
export class Timetable {
  readonly #clock: Clock
  readonly #entries: TimetableEntry[] = []
  #timer: { readonly dueAt: EpochMs; readonly cancel: () => void } | undefined
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `run` at `dueAt`, never synchronously. */
  add(dueAt: EpochMs, run: () => void): void {
    if (this.#isClosed) return
    const entries = this.#entries
    let index = entries.length
    const entry = { dueAt, run }
    while (index > 0) {
      const parent = (index - 1) >> 1
      const parentEntry = entries[parent]
      if (parentEntry === undefined || parentEntry.dueAt <= dueAt) break
      entries[index] = parentEntry
      index = parent
    }
    entries[index] = entry
    this.#arm()
  }

  /** Makes the calls that are due: the clock may have been set. */
  runDue(): void {
    if (!this.#isClosed) this.#callDue()
  }

  /** Cancels all calls. */
  close(): void {
    this.#isClosed = true
    this.#entries.length = 0
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(): void {
    const first = this.#entries[0]
    if (first === undefined || this.#isClosed) return
    if (this.#timer !== undefined && this.#timer.dueAt <= first.dueAt) return
    this.#timer?.cancel()
    const delayMs = Math.min(Math.max(first.dueAt - this.#clock.now(), 0), maxTimerMs)
    this.#timer = { dueAt: first.dueAt, cancel: this.#clock.after(delayMs, () => this.#callDue()) }
  }

  #callDue(): void {
    this.#timer = undefined
    const now = this.#clock.now()
    const due: TimetableEntry[] = []
    for (let first = this.#entries[0]; first !== undefined && first.dueAt <= now; first = this.#entries[0]) {
      due.push(first)
      this.#removeFirst()
    }
    for (const { run } of due) run()
    this.#arm()
  }

  #removeFirst(): void {
    const entries = this.#entries
    const last = entries.pop()
    if (last === undefined || entries.length === 0) return
    let index = 0
    for (;;) {
      const child = this.#smallerChild(index)
      if (child === undefined || child.entry.dueAt >= last.dueAt) break
      entries[index] = child.entry
      index = child.index
    }
    entries[index] = last
  }

  #smallerChild(parent: number): { readonly index: number; readonly entry: TimetableEntry } | undefined {
    const index = 2 * parent + 1
    const [left, right] = [this.#entries[index], this.#entries[index + 1]]
    if (left === undefined) return undefined
    return right === undefined || left.dueAt <= right.dueAt
      ? { index, entry: left }
      : { index: index + 1, entry: right }
  }
}
