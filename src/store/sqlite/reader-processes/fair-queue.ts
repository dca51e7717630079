/** Jobs that wait, served in turns by caller: whoever has many waits behind whoever has few. */

interface CallerJobs<T> {
  readonly waiting: T[]
  running: number
}

export interface FairQueueOptions {
  /** How many jobs of one caller may wait. */
  readonly maxOfCaller: number
  /** How many may wait in all. */
  readonly maxWaiting: number
  /** How many jobs of one caller may run at a time. */
  readonly maxRunningOfCaller: number
}

export class FairQueue<T> {
  readonly #options: FairQueueOptions
  /** The one that is served next comes first. */
  readonly #callers = new Map<string, CallerJobs<T>>()
  #waiting = 0

  constructor(options: FairQueueOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting
  }

  /** Returns whether there was room. */
  add(caller: string, job: T): boolean {
    const { maxOfCaller, maxWaiting } = this.#options
    const jobs = this.#callers.get(caller) ?? { waiting: [], running: 0 }
    if (this.#waiting >= maxWaiting || jobs.waiting.length >= maxOfCaller) return false
    jobs.waiting.push(job)
    this.#waiting++
    this.#callers.set(caller, jobs)
    return true
  }

  /** The next job, which now counts as running until `done`. Undefined: none waits, or none may run. */
  next(): T | undefined {
    for (const [caller, jobs] of this.#callers) {
      if (jobs.running >= this.#options.maxRunningOfCaller) continue
      const job = jobs.waiting.shift()
      if (job === undefined) continue
      jobs.running++
      this.#waiting--
      this.#callers.delete(caller)
      this.#callers.set(caller, jobs)
      return job
    }
    return undefined
  }

  /** A job of this caller's runs no more. */
  done(caller: string): void {
    const jobs = this.#callers.get(caller)
    if (jobs === undefined) return
    jobs.running--
    this.#forget(caller, jobs)
  }

  /** Takes a waiting job out. Returns whether it was there. */
  remove(caller: string, job: T): boolean {
    const jobs = this.#callers.get(caller)
    const at = jobs?.waiting.indexOf(job) ?? -1
    if (jobs === undefined || at === -1) return false
    jobs.waiting.splice(at, 1)
    this.#waiting--
    this.#forget(caller, jobs)
    return true
  }

  /** Takes all that wait. */
  takeAll(): T[] {
    const all = [...this.#callers.values()].flatMap(({ waiting }) => waiting.splice(0))
    this.#waiting = 0
    for (const [caller, jobs] of this.#callers) this.#forget(caller, jobs)
    return all
  }

  #forget(caller: string, { waiting, running }: CallerJobs<T>): void {
    if (waiting.length === 0 && running === 0) this.#callers.delete(caller)
  }
}
