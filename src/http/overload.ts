/**
 * The requests that wait for their turn. One turn of the event loop takes no longer than a slice, so that new
 * connections, and those who look after the service, get their say; what comes beyond waits in line. When the line
 * is so long that a request would wait for longer than it may, the request is refused at once.
 */
import { performance } from 'node:perf_hooks'
import type { Worked } from './backpressure.ts'
import { Queue } from './queue.ts'

/** How long requests are worked on in one phase of a turn, in milliseconds. */
const SLICE = 12
/** The same while requests are refused. */
const SHORT_SLICE = 4
/** The same while connections come: Node accepts one in each turn, however many stand at the door. */
const SHORTEST_SLICE = 1
/** While requests are refused, work has as long as all else had since it was last worked, but no longer than this. */
const LONGEST_SLICE = 200
/** It is over when so long nobody was refused, in milliseconds. */
const CALM = 2000
/** How much the last turn counts in what a request costs. */
const WEIGHT = 0.2
/** A turn with fewer requests says little about what one costs. */
const SAMPLE = 4
/** What a request costs as long as nothing is known, in milliseconds. */
const GUESS = 0.5
/** So much dearer a turn may make a request look: one that was held up says nothing about the next ones. */
const STEEPEST = 4
/** Nobody is refused where fewer wait, or where the line is that young, in turns: it may be gone at once. */
const SHORT_LINE = 16
const YOUNG_LINE = 8

/** A request that waits. */
interface Waiting {
  /** When it came, in milliseconds. */
  readonly start: number
  /** It is worked on when its body is there, and not before. */
  readonly hasBody: boolean
  /** Whether nobody waits for the answer any more. */
  readonly isGone: boolean
  /** Whether the client has ended its side: as a rule it has gone, but it may still read. */
  readonly hasEnded: boolean
  /** Whether it has stood in line. */
  hasWaited: boolean
}

export interface LineOptions<T> {
  /** How long a request may wait, in milliseconds; 0: for ever. */
  readonly delay: number
  readonly run: (request: T) => void
  readonly refuse: (request: T) => void
  /** The line is about to be worked on, for some time. */
  readonly beforeWork?: (() => void) | undefined
  /** The line was worked on, for this turn. */
  readonly onWorked?: ((worked: Worked) => void) | undefined
  /** Requests are refused from now on, or no longer. `refused`: how many were meanwhile. */
  readonly onChange?: ((isOver: boolean, refused: number) => void) | undefined
}

export class Line<T extends Waiting> {
  readonly #options: LineOptions<T>
  readonly #endTurn = (): void => this.#turnEnds()
  readonly #drain = (): void => this.#work()
  readonly #goOn = (): void => this.#workOn()
  readonly #afterThat = (): void => process.nextTick(this.#goOn)
  readonly #waiting = new Queue<T>()
  /** Those whose body has come; they have stood in line before. */
  #ready: (() => void)[] = []
  #isWorking = false
  #workBegan = 0
  #workEnds = 0
  #workEnded = 0
  #inTurn = false
  #turnBegan = 0
  /** Whether a connection came in this turn, or in the last one. */
  #isPressed = false
  #wasPressed = false
  /** Requests of this turn that were worked on. */
  #ran = 0
  /** What a request costs in milliseconds, everything counted that the loop does meanwhile. */
  #cost = GUESS
  /** For how many turns the line has not been empty. */
  #age = 0
  #isRefusing = false
  #lastRefusal = 0
  #refusedBefore = 0
  readonly counts = { refused: 0 }

  constructor(options: LineOptions<T>) {
    this.#options = options
  }

  get length(): number {
    return this.#waiting.length + this.#ready.length
  }

  /** Whether requests are refused these days. */
  get isRefusing(): boolean {
    return this.#isRefusing
  }

  /** A connection was accepted: perhaps another one waits. */
  press(): void {
    this.#isPressed = true
  }

  /** Runs the request now, or later, or refuses it. */
  take(request: T): void {
    const { delay, run } = this.#options
    const { length } = this
    if (delay === 0 || (length === 0 && this.#hasTime(request.start))) {
      if (!request.hasBody) this.#ran++
      run(request)
    } else if (length * this.#cost > delay && this.#isStanding(length)) {
      this.#refuse(request)
    } else {
      this.#waiting.push(request)
      this.#schedule()
    }
  }

  /**
   * When a request whose body has come may be worked on; undefined: now. It goes before those that have not begun.
   * The bodies of those that have waited come all at once, so each has to wait for the work on the one before.
   */
  turn({ hasWaited }: T): Promise<void> | undefined {
    if (this.#options.delay === 0) return undefined
    if (!hasWaited && this.#ready.length === 0 && this.#hasTime(performance.now())) {
      this.#ran++
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#ready.push(resolve)
    this.#schedule()
    return promise
  }

  /** Whether it is a line that does not go away by itself. */
  #isStanding(length: number): boolean {
    return length >= SHORT_LINE && (this.#isRefusing || this.#age >= YOUNG_LINE)
  }

  get #slice(): number {
    if (this.#isPressed || this.#wasPressed) return SHORTEST_SLICE
    return this.#isRefusing ? SHORT_SLICE : SLICE
  }

  /** Whether the slice of this turn is not used up. */
  #hasTime(now: number): boolean {
    if (this.#inTurn) return now - this.#turnBegan < this.#slice
    this.#inTurn = true
    this.#turnBegan = now
    setImmediate(this.#endTurn)
    if (this.#isRefusing && now - this.#lastRefusal > CALM) this.#relax()
    return true
  }

  #turnEnds(): void {
    this.#inTurn = false
    this.#wasPressed = this.#isPressed
    this.#isPressed = false
    if (this.#isWorking) return
    if (this.#ran >= SAMPLE) this.#learn(performance.now() - this.#turnBegan)
    this.#ran = 0
  }

  /** `elapsed`: how long it took to work on the requests that were, in milliseconds. */
  #learn(elapsed: number): void {
    const sample = Math.min(elapsed / this.#ran, STEEPEST * this.#cost)
    this.#cost += WEIGHT * (sample - this.#cost)
  }

  #schedule(): void {
    if (this.#isWorking) return
    this.#isWorking = true
    // What was before the line is no part of the time between two works on it.
    this.#workEnded = performance.now()
    setImmediate(this.#drain)
  }

  #work(): void {
    this.#options.beforeWork?.()
    const now = performance.now()
    const elsewhere = this.#isRefusing ? Math.min(LONGEST_SLICE, now - this.#workEnded) : 0
    // What was done before there was a line says nothing about how fast it moves.
    this.#ran = 0
    this.#workBegan = now
    this.#workEnds = now + Math.max(this.#slice, elsewhere)
    this.#age++
    this.#workOn()
  }

  #workOn(): void {
    for (let now = performance.now(); this.length > 0 && now < this.#workEnds; now = performance.now()) {
      if (this.#resumeReady() || this.#runFirst(now)) {
        // What follows a promise is done when this function has returned, before the next tick.
        queueMicrotask(this.#afterThat)
        return
      }
    }
    this.#endWork()
  }

  /** Whether there is one whose body has come: it goes on. */
  #resumeReady(): boolean {
    const resolve = this.#ready.shift()
    if (resolve === undefined) return false
    this.#ran++
    resolve()
    return true
  }

  #endWork(): void {
    const now = performance.now()
    const worked = now - this.#workBegan
    // How fast the line moves: work has a part of the time, and the line may be empty before that is over.
    const given = Math.max(worked, this.#workEnds - this.#workBegan)
    const part = given / (this.#workBegan - this.#workEnded + given)
    const requests = this.#ran
    if (requests > 0) this.#learn(worked / part)
    const isShort = this.length * this.#cost < this.#options.delay / 2
    this.#options.onWorked?.({ time: worked, requests, isShort })
    this.#ran = 0
    this.#workEnded = now
    if (this.length > 0) setImmediate(this.#drain)
    else {
      this.#isWorking = false
      this.#age = 0
    }
  }

  /** Returns whether it has a body, which is there as a rule: then it is ready at once. */
  #runFirst(now: number): boolean {
    const request = this.#waiting.shift()
    if (request === undefined || request.isGone) return false
    request.hasWaited = true
    // The line has become slower than it was thought to be, or has no time for those who do not wait for it.
    const isLate = now - request.start > 2 * this.#options.delay && this.#isStanding(this.length)
    if (isLate || (this.#isRefusing && request.hasEnded)) {
      this.#refuse(request)
      return false
    }
    if (!request.hasBody) this.#ran++
    this.#options.run(request)
    return request.hasBody
  }

  #refuse(request: T): void {
    this.#lastRefusal = performance.now()
    if (!this.#isRefusing) {
      this.#isRefusing = true
      this.#refusedBefore = this.counts.refused
      this.#options.onChange?.(true, 0)
    }
    this.counts.refused++
    this.#options.refuse(request)
  }

  #relax(): void {
    this.#isRefusing = false
    this.#options.onChange?.(false, this.counts.refused - this.#refusedBefore)
  }
}
