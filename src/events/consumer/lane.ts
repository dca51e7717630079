/**
 * A lane bounds how many attempts run at once, to one host and in all. Hosts take turns, and so do the webhooks of a
 * host. There is a lane for webhooks that answer quickly and one for the others, so that slow endpoints delay only
 * each other.
 */

export interface LaneLimits {
  readonly maxInFlight: number
  readonly maxPerHost: number
}

/** `W`: a webhook, which knows its host. */
export interface OfHost {
  readonly host: string
}

interface Host<W> {
  readonly name: string
  inFlight: number
  /** In the order of their turns. */
  readonly waiting: Set<W>
}

export class Lane<W extends OfHost> {
  readonly #limits: LaneLimits
  readonly #hosts = new Map<string, Host<W>>()
  /** Hosts with webhooks that wait and with a free slot, in the order of their turns. */
  readonly #turns = new Set<Host<W>>()
  #inFlight = 0

  constructor(limits: LaneLimits) {
    this.#limits = limits
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** The webhook waits for a slot; nothing changes where it already does. */
  wait(webhook: W): void {
    const host = this.#hostOf(webhook)
    host.waiting.add(webhook)
    this.#takeTurns(host)
  }

  /** The webhook waits no longer. */
  leave(webhook: W): void {
    const host = this.#hosts.get(webhook.host)
    if (host === undefined) return
    host.waiting.delete(webhook)
    this.#settle(host)
  }

  /** The webhook whose turn it is, which waits no longer; undefined where there is none or no slot. */
  next(): W | undefined {
    if (this.#inFlight >= this.#limits.maxInFlight) return undefined
    const [host] = this.#turns
    if (host === undefined) return undefined
    this.#turns.delete(host)
    const [webhook] = host.waiting
    if (webhook !== undefined) host.waiting.delete(webhook)
    this.#takeTurns(host)
    this.#settle(host)
    return webhook
  }

  /** Takes a slot, also one beyond the limits: an attempt that turned out slow has come from the other lane. */
  enter(webhook: W): void {
    const host = this.#hostOf(webhook)
    this.#inFlight++
    host.inFlight++
    if (host.inFlight >= this.#limits.maxPerHost) this.#turns.delete(host)
  }

  release(webhook: W): void {
    const host = this.#hostOf(webhook)
    this.#inFlight--
    host.inFlight--
    this.#takeTurns(host)
    this.#settle(host)
  }

  #takeTurns(host: Host<W>): void {
    if (host.waiting.size > 0 && host.inFlight < this.#limits.maxPerHost) this.#turns.add(host)
  }

  #hostOf({ host: name }: W): Host<W> {
    const known = this.#hosts.get(name)
    if (known) return known
    const host: Host<W> = { name, inFlight: 0, waiting: new Set() }
    this.#hosts.set(name, host)
    return host
  }

  #settle(host: Host<W>): void {
    if (host.waiting.size === 0) this.#turns.delete(host)
    if (host.waiting.size === 0 && host.inFlight === 0) this.#hosts.delete(host.name)
  }
}
