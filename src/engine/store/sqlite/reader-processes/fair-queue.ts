/** A queue of jobs that serves its callers in turn: many jobs of one caller do not delay those of others. */

interface CallerJobs<T> {
  readonly waiting: T[]
  running: number
}

export interface FairQueueOptions {
  /** How many jobs of one caller may wait. */
  readonly maxWaitingPerCaller: number
  /** How many jobs of all callers may wait. */
  readonly maxWaiting: number
  /** How many jobs of one caller may run at a time. */
  readonly maxRunningPerCaller: number
}

export class FairQueue<T> {
  readonly #options: FairQueueOptions
  /** In the order in which they are served next. */
  readonly #callers = new Map<string, CallerJobs<T>>()
  #waiting = 0

  constructor(options: FairQueueOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting
  }

  /** Returns false if the queue is full. */
  add(caller: string, job: T): boolean {
    const { maxWaitingPerCaller, maxWaiting } = this.#options
    const jobs = this.#callers.get(caller) ?? { waiting: [], running: 0 }
    if (this.#waiting >= maxWaiting || jobs.waiting.length >= maxWaitingPerCaller) return false
    jobs.waiting.push(job)
    this.#waiting++
    this.#callers.set(caller, jobs)
    return true
  }

  /** The next job, which counts as running until `finish` is called. Undefined: no job waits, or none may run. */
  next(): T | undefined {
    for (const [caller, jobs] of this.#callers) {
      if (jobs.running >= this.#options.maxRunningPerCaller) continue
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

  /** A job of this caller has ended. */
  finish(caller: string): void {
    const jobs = this.#callers.get(caller)
    if (jobs === undefined) return
    jobs.running--
    this.#forget(caller, jobs)
  }

  /** Removes a waiting job. Returns whether it was in the queue. */
  remove(caller: string, job: T): boolean {
    const jobs = this.#callers.get(caller)
    const index = jobs?.waiting.indexOf(job) ?? -1
    if (jobs === undefined || index === -1) return false
    jobs.waiting.splice(index, 1)
    this.#waiting--
    this.#forget(caller, jobs)
    return true
  }

  /** Removes and returns all waiting jobs. */
  takeAll(): T[] {
    const jobs = [...this.#callers.values()].flatMap(({ waiting }) => waiting.splice(0))
    this.#waiting = 0
    for (const [caller, jobs] of this.#callers) this.#forget(caller, jobs)
    return jobs
  }

  #forget(caller: string, { waiting, running }: CallerJobs<T>): void {
    if (waiting.length === 0 && running === 0) this.#callers.delete(caller)
  }
}
