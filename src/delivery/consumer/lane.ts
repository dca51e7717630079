/**
 * A lane limits how many attempts run in parallel, per host and in total. Hosts take turns, and so do the targets of a
 * host. There is a lane for targets that answer quickly and one for the others, so that slow endpoints delay only each
 * other.
 */

export interface LaneLimits {
  readonly maxInFlight: number
  readonly maxPerHost: number
}

/** A target, e.g. a webhook. */
export interface LaneTarget {
  readonly host: string
}

interface Host<T> {
  readonly name: string
  inFlight: number
  /** In the order of their turns. */
  readonly waiting: Set<T>
}

export class Lane<T extends LaneTarget> {
  readonly #limits: LaneLimits
  readonly #hosts = new Map<string, Host<T>>()
  /** Hosts with a target that waits and with a free slot, in the order of their turns. */
  readonly #turns = new Set<Host<T>>()
  #inFlight = 0

  constructor(limits: LaneLimits) {
    this.#limits = limits
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Lets the target wait for a slot. Has no effect if it already does. */
  wait(target: T): void {
    const host = this.#hostOf(target)
    host.waiting.add(target)
    this.#takeTurns(host)
  }

  /** Stops the target from waiting. */
  leave(target: T): void {
    const host = this.#hosts.get(target.host)
    if (host === undefined) return
    host.waiting.delete(target)
    this.#removeIdle(host)
  }

  /** Returns the target whose turn it is, which then no longer waits; undefined if none waits, or no slot is free. */
  next(): T | undefined {
    if (this.#inFlight >= this.#limits.maxInFlight) return undefined
    const [host] = this.#turns
    if (host === undefined) return undefined
    this.#turns.delete(host)
    const [target] = host.waiting
    if (target !== undefined) host.waiting.delete(target)
    this.#takeTurns(host)
    this.#removeIdle(host)
    return target
  }

  /** Takes a slot, even beyond the limits: a slow attempt moves here from the other lane. */
  enter(target: T): void {
    const host = this.#hostOf(target)
    this.#inFlight++
    host.inFlight++
    if (host.inFlight >= this.#limits.maxPerHost) this.#turns.delete(host)
  }

  release(target: T): void {
    const host = this.#hostOf(target)
    this.#inFlight--
    host.inFlight--
    this.#takeTurns(host)
    this.#removeIdle(host)
  }

  #takeTurns(host: Host<T>): void {
    if (host.waiting.size > 0 && host.inFlight < this.#limits.maxPerHost) this.#turns.add(host)
  }

  #hostOf({ host: name }: T): Host<T> {
    const existing = this.#hosts.get(name)
    if (existing) return existing
    const host: Host<T> = { name, inFlight: 0, waiting: new Set() }
    this.#hosts.set(name, host)
    return host
  }

  #removeIdle(host: Host<T>): void {
    if (host.waiting.size === 0) this.#turns.delete(host)
    if (host.waiting.size === 0 && host.inFlight === 0) this.#hosts.delete(host.name)
  }
}
