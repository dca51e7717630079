/**
 * Load shedding for one event loop. A request runs as it arrives while this turn of the event loop is young. Otherwise it
 * waits in a queue. Each turn works on the queue for a bounded time, so that new connections and health checks are served
 * in between. A request that would wait for too long is refused at once. See `decisions/load-shedding.md`.
 */

/** How long one turn of the event loop runs requests as they arrive. */
const turnMs = 12
/** How long one turn works on the queue: as long as all other work took since the last slice, within these bounds. */
const minSliceMs = 4
const maxSliceMs = 100
/** No request is refused before the queue has existed for this long, by which time a burst or a pause of the machine is over. */
const burstMs = 100
/** No request is refused while fewer requests wait. */
const shortQueue = 16
/** The overload is over when no request was refused for this long. */
const calmMs = 2000
/** The weight of the last slice in the moving average of the cost of a request. */
const costWeight = 0.2
/** A slice counts at most this many times the average: one slow request says little. */
const maxCostGrowth = 4
const firstCostMs = 0.5

/** What the load shedder needs to know about a request. */
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
  /** Runs a request. A request with a body calls `bodyArrived` before it costs much. */
  readonly run: (request: T) => void
  readonly refuse: (request: T) => void
  /** Called before each slice of work on the queue, so that waiting replies can be sent. */
  readonly beforeSlice?: (() => void) | undefined
  /** Called when overload begins or ends. `refused`: how many requests were refused in between. */
  readonly onChange?: ((isOverloaded: boolean, refused: number) => void) | undefined
}

export class LoadShedder<T extends QueuedRequest> {
  readonly #options: LoadShedderOptions<T>
  readonly #queue: T[] = []
  /** Continues requests whose body has arrived. They go first, since they have waited already. */
  readonly #resumptions: (() => void)[] = []
  #isDraining = false
  #queuedSince = 0
  #sliceEnded = 0
  #turnBegan: number | undefined
  /** The time that a request takes, with everything else that the event loop does meanwhile. */
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
    return this.#queue.length + this.#resumptions.length
  }

  /** Whether requests are being refused. */
  get isOverloaded(): boolean {
    return this.#isOverloaded
  }

  /** Runs a request now, queues it, or refuses it. */
  submit(request: T): void {
    const { maxDelayMs, run } = this.#options
    const { start } = request
    if (maxDelayMs === 0 || (this.length === 0 && this.#hasTime(start))) run(request)
    else if (this.length * this.#costMs > maxDelayMs && this.#isPersistent(start)) this.#refuse(request)
    else {
      this.#queue.push(request)
      this.#schedule()
    }
  }

  /** Resolves when a request whose body has arrived may continue; undefined: it may continue now. */
  bodyArrived(): Promise<void> | undefined {
    const canContinue = this.length === 0 && !this.#isDraining && this.#hasTime(performance.now())
    if (this.#options.maxDelayMs === 0 || canContinue) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resumptions.push(resolve)
    this.#schedule()
    return promise
  }

  #isPersistent(now: number): boolean {
    return this.length >= shortQueue && (this.#isOverloaded || now - this.#queuedSince > burstMs)
  }

  /** Whether this turn of the event loop has time left to run requests as they arrive. */
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
    const otherWorkMs = began - this.#sliceEnded
    const end = began + Math.min(maxSliceMs, Math.max(minSliceMs, otherWorkMs))
    let served = 0
    for (let now = began; this.length > 0 && now < end; now = performance.now()) {
      if (this.#runNext(now)) served++
      await microtasksDone()
    }
    const now = performance.now()
    const isEmpty = this.length === 0
    // A slice that empties the queue could have served more: only its own time counts.
    if (served > 0) this.#updateCost((isEmpty ? now - began : now - this.#sliceEnded) / served)
    this.#sliceEnded = now
    if (isEmpty) this.#isDraining = false
    else setImmediate(() => void this.#drain())
  }

  /** Returns whether a request was served. One that only begins to wait for its body does not count. */
  #runNext(now: number): boolean {
    const resume = this.#resumptions.shift()
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

  #updateCost(costMs: number): void {
    const sample = Math.min(costMs, maxCostGrowth * this.#costMs)
    this.#costMs += costWeight * (sample - this.#costMs)
  }

  #refuse(request: T): void {
    this.#lastRefusal = performance.now()
    if (!this.#isOverloaded) {
      this.#isOverloaded = true
      this.#refusedBefore = this.counts.refused
      this.#options.onChange?.(true, 0)
      this.#endOverloadAfter(calmMs)
    }
    this.counts.refused++
    this.#options.refuse(request)
  }

  /** Uses a timer, since requests to upgrade, which are refused under overload, do not pass through `submit`. */
  #endOverloadAfter(delayMs: number): void {
    setTimeout(() => {
      const remainingMs = this.#lastRefusal + calmMs - performance.now()
      if (remainingMs > 0) return this.#endOverloadAfter(remainingMs)
      this.#isOverloaded = false
      this.#options.onChange?.(false, this.counts.refused - this.#refusedBefore)
    }, delayMs).unref()
  }
}

/** Resolves when all microtasks have run, which are most of the work on a request. */
function microtasksDone(): Promise<void> {
  return new Promise(resolve => queueMicrotask(() => process.nextTick(resolve)))
}
