/**
 * Load shedding for one event loop. A request runs as it arrives while this turn of the event loop is young. Otherwise it
 * waits in a queue, on which every turn works for a bounded time, so that new connections and health checks are heard
 * meanwhile. A request that would wait for too long is refused at once. See `decisions/load-shedding.md`.
 */

/** How long requests that arrive in one turn of the event loop run in it. */
const turnMs = 12
/** How long one turn works on the queue: as long as everything else took since it last did, within these bounds. */
const minSliceMs = 4
const maxSliceMs = 100
/** No request is refused before the queue has existed for this long: a burst, or a pause of the machine, is over by then. */
const burstMs = 100
/** No request is refused while fewer wait. */
const shortQueue = 16
/** The overload is over when no request was refused for this long. */
const calmMs = 2000
/** How much the last slice counts in the moving average of what a request costs. */
const costWeight = 0.2
/** A slice raises the average as if a request cost at most this many times the average: one slow request says little. */
const maxCostGrowth = 4
const firstCostMs = 0.5

/** What the load shedder needs to know of a request. */
export interface QueuedRequest {
  /** When it arrived: `performance.now()`. */
  readonly start: number
  readonly hasBody: boolean
  /** Whether the client has closed the connection. */
  readonly isGone: boolean
  /** Whether the client has ended its side: it has probably gone, but it may still read. */
  readonly hasEnded: boolean
}

export interface LoadShedderOptions<T> {
  /** How long a request may wait; 0: no request is queued or refused. */
  readonly maxDelayMs: number
  /** Runs a request. One with a body comes back, by `bodyArrived`, before it costs much. */
  readonly run: (request: T) => void
  readonly refuse: (request: T) => void
  /** A slice of work on the queue begins: replies should leave before it. */
  readonly beforeSlice?: (() => void) | undefined
  /** Requests are refused from now on, or no longer. `refused`: how many were in between. */
  readonly onChange?: ((isOverloaded: boolean, refused: number) => void) | undefined
}

export class LoadShedder<T extends QueuedRequest> {
  readonly #options: LoadShedderOptions<T>
  readonly #queue: T[] = []
  /** Requests whose body has arrived go first: they have waited already. */
  readonly #withBody: (() => void)[] = []
  #isDraining = false
  #queuedSince = 0
  #sliceEnded = 0
  #turnBegan: number | undefined
  /** What a request costs, and all that the event loop does beside it. */
  #costMs = firstCostMs
  #isOverloaded = false
  #lastRefusal = 0
  #refusedBefore = 0
  readonly counts = { refused: 0 }

  constructor(options: LoadShedderOptions<T>) {
    this.#options = options
  }

  /** How many requests wait. */
  get length(): number {
    return this.#queue.length + this.#withBody.length
  }

  /** Whether requests are refused these seconds. */
  get isOverloaded(): boolean {
    return this.#isOverloaded
  }

  /** Runs a request now, queues it, or refuses it. */
  take(request: T): void {
    const { maxDelayMs, run } = this.#options
    const { start } = request
    if (maxDelayMs === 0 || (this.length === 0 && this.#hasTime(start))) run(request)
    else if (this.length * this.#costMs > maxDelayMs && this.#isPersistent(start)) this.#refuse(request)
    else {
      this.#queue.push(request)
      this.#schedule()
    }
  }

  /** When a request whose body has arrived may go on; undefined: now. */
  bodyArrived(): Promise<void> | undefined {
    const isFree = this.length === 0 && !this.#isDraining && this.#hasTime(performance.now())
    if (this.#options.maxDelayMs === 0 || isFree) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#withBody.push(resolve)
    this.#schedule()
    return promise
  }

  #isPersistent(now: number): boolean {
    return this.length >= shortQueue && (this.#isOverloaded || now - this.#queuedSince > burstMs)
  }

  /** Whether requests have not run for all of their time in this turn of the event loop. */
  #hasTime(now: number): boolean {
    if (this.#turnBegan !== undefined) return now - this.#turnBegan < turnMs
    this.#turnBegan = now
    setImmediate(() => {
      this.#turnBegan = undefined
    })
    return true
  }

  #schedule(): void {
    if (this.#isDraining) return
    this.#isDraining = true
    this.#queuedSince = performance.now()
    this.#sliceEnded = this.#queuedSince
    setImmediate(() => void this.#drain())
  }

  /** One slice of work on the queue. */
  async #drain(): Promise<void> {
    this.#options.beforeSlice?.()
    const began = performance.now()
    const elsewhereMs = began - this.#sliceEnded
    const end = began + Math.min(maxSliceMs, Math.max(minSliceMs, elsewhereMs))
    let served = 0
    for (let now = began; this.length > 0 && now < end; now = performance.now()) {
      if (this.#runNext(now)) served++
      await microtasksDone()
    }
    const now = performance.now()
    const isEmpty = this.length === 0
    // What empties the queue could have served more: only its own time counts.
    if (served > 0) this.#learn((isEmpty ? now - began : now - this.#sliceEnded) / served)
    this.#sliceEnded = now
    if (isEmpty) this.#isDraining = false
    else setImmediate(() => void this.#drain())
  }

  /** Returns whether a request was served, in contrast to one that has only begun to wait for its body. */
  #runNext(now: number): boolean {
    const resume = this.#withBody.shift()
    if (resume !== undefined) {
      resume()
      return true
    }
    const request = this.#queue.shift()
    if (request === undefined || request.isGone) return false
    const isLate = now - request.start > 2 * this.#options.maxDelayMs && this.#isPersistent(now)
    if (isLate || (this.#isOverloaded && request.hasEnded)) {
      this.#refuse(request)
      return false
    }
    this.#options.run(request)
    return !request.hasBody
  }

  #learn(costMs: number): void {
    const sample = Math.min(costMs, maxCostGrowth * this.#costMs)
    this.#costMs += costWeight * (sample - this.#costMs)
  }

  #refuse(request: T): void {
    this.#lastRefusal = performance.now()
    if (!this.#isOverloaded) {
      this.#isOverloaded = true
      this.#refusedBefore = this.counts.refused
      this.#options.onChange?.(true, 0)
      this.#relaxAfter(calmMs)
    }
    this.counts.refused++
    this.#options.refuse(request)
  }

  /** By a timer: requests to upgrade, which are refused under overload, do not pass through `take`. */
  #relaxAfter(delayMs: number): void {
    setTimeout(() => {
      const remainingMs = this.#lastRefusal + calmMs - performance.now()
      if (remainingMs > 0) return this.#relaxAfter(remainingMs)
      this.#isOverloaded = false
      this.#options.onChange?.(false, this.counts.refused - this.#refusedBefore)
    }, delayMs).unref()
  }
}

/** Resolves when everything that follows from resolved promises has run, which is most of the work on a request. */
function microtasksDone(): Promise<void> {
  return new Promise(resolve => queueMicrotask(() => process.nextTick(resolve)))
}
