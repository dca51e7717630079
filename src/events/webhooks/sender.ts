/** Sends webhooks: one node at a time does, the others watch whether it still does. */
import { randomUUID } from 'node:crypto'
import type { Run } from '../../plan/run.ts'
import { listShape, readFirst } from '../../plan/system-plans.ts'
import { Outage } from '../outage.ts'
import { isOutdated } from './enqueuer.ts'
import { Lease, renewIntervalMs } from './lease.ts'
import { NoLongerSender } from './position.ts'
import { Session, type SessionParts } from './session.ts'

export interface SenderCounts {
  /** Attempts, by what became of them. */
  succeeded: number
  retried: number
  failed: number
  dropped: number
  /** Webhooks that were paused here. */
  paused: number
}

/** How it is now; zeros on nodes that do not send. */
export interface SenderState {
  readonly isSending: boolean
  readonly queued: number
  readonly inFlight: number
  /** Events that have not become deliveries, and for how many seconds there have been some. */
  readonly lagEvents: number
  readonly lagSeconds: number
  /** Webhooks that are paused or not enabled. */
  readonly stopped: number
}

export interface SenderParts extends Omit<SessionParts, 'counts'> {
  /** In milliseconds, from any beginning; never set back. */
  readonly elapsed: () => number
}

/** How often the sender looks for what no commit of this process told of. */
const pollIntervalMs = 1000
/** How often a node looks whether there are webhooks at all. */
const dormantIntervalMs = 2000
/** Attempts under way are awaited for so long when the service stops. */
const stopTimeoutMs = 5000

/**
 * A transaction is refused where a webhook or a user went while it was made. What is made of those that are left
 * succeeds; one that is refused again and again is reported.
 */
const maxRefusals = 3

const anyWebhook = listShape('webhooks', ['id'])

export class WebhookSender {
  readonly counts: SenderCounts = { succeeded: 0, retried: 0, failed: 0, dropped: 0, paused: 0 }
  readonly #parts: SenderParts
  readonly #lease: Lease
  readonly #outage: Outage
  #session: Session | undefined
  #endSession: () => void = () => undefined
  #running: Promise<void> | undefined
  #isStopping = false
  #wake: (() => void) | undefined
  #isWoken = false
  #known: { readonly version: number; readonly hasWebhooks: boolean } | undefined
  #behindSince: number | undefined
  #refusals = 0

  constructor(parts: SenderParts) {
    this.#parts = parts
    const { records, elapsed, log, onFault } = parts
    this.#lease = new Lease({ records, elapsed, holder: randomUUID() })
    this.#outage = new Outage(() => log.last(), onFault)
  }

  get state(): SenderState {
    const session = this.#session
    const lagMs = this.#behindSince === undefined ? 0 : this.#parts.elapsed() - this.#behindSince
    return {
      isSending: session !== undefined,
      queued: session?.queued ?? 0,
      inFlight: session?.inFlight ?? 0,
      lagEvents: session?.lag ?? 0,
      lagSeconds: lagMs / 1000,
      stopped: session?.stopped ?? 0,
    }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Awaits what is under way for a bounded time, and lets another node send. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#notify()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      if (!(await this.#turn())) await this.#idle()
    }
    await this.#leave(session => session.stop(stopTimeoutMs))
  }

  /** Returns whether to go on at once. */
  async #turn(): Promise<boolean> {
    try {
      const hasMore = await this.#work()
      this.#outage.over()
      this.#refusals = 0
      return hasMore
    } catch (error) {
      if (error instanceof NoLongerSender) await this.#leave(session => session.drop())
      else if (!isOutdated(error) || ++this.#refusals === maxRefusals) this.#outage.report(error)
      await this.#outage.pause()
      return false
    }
  }

  async #work(): Promise<boolean> {
    const session = this.#session ?? (await this.#begin())
    if (session === undefined) return false
    if (!this.#lease.isHeld && !(await this.#lease.renew())) throw new NoLongerSender()
    await this.#parts.log.look()
    const hasMore = await session.work()
    this.#noteLag(session)
    if (session.webhooks === 0) await this.#leave(async () => undefined)
    return hasMore
  }

  #noteLag({ lag }: Session): void {
    if (lag === 0) this.#behindSince = undefined
    else this.#behindSince ??= this.#parts.elapsed()
  }

  async #begin(): Promise<Session | undefined> {
    if (!(await this.#hasWebhooks())) return undefined
    const term = await this.#lease.take()
    if (term === undefined) return undefined
    const isHeld = () => this.#lease.isHeld
    const session = new Session({ ...this.#parts, counts: this.counts }, { term, isHeld })
    this.#session = session
    const off = this.#parts.log.onCommit(() => this.#notify())
    const cancel = this.#renewals()
    this.#endSession = () => {
      off()
      cancel()
    }
    return session
  }

  async #hasWebhooks(): Promise<boolean> {
    const { run, log, version } = this.#parts
    await log.look()
    const current = version()
    if (this.#known?.version !== current) {
      this.#known = { version: current, hasWebhooks: await hasAny(run) }
    }
    return this.#known.hasWebhooks
  }

  /** Renews the lease, also while a turn takes long. */
  #renewals(): () => void {
    const { clock } = this.#parts
    let isEnded = false
    let cancel: () => void = () => undefined
    const next = () => {
      cancel = clock.after(renewIntervalMs, async () => {
        try {
          if (!isEnded && !(await this.#lease.renew())) this.#notify()
        } catch (error) {
          this.#outage.report(error)
        }
        if (!isEnded) next()
      })
    }
    next()
    return () => {
      isEnded = true
      cancel()
    }
  }

  async #leave(end: (session: Session) => Promise<void>): Promise<void> {
    const session = this.#session
    if (session === undefined) return
    this.#session = undefined
    this.#behindSince = undefined
    await end(session)
    this.#endSession()
    // A database that is away lets the lease run out.
    await this.#lease.release().catch(() => undefined)
  }

  #notify(): void {
    this.#isWoken = true
    this.#wake?.()
  }

  /** Resolves after a while, or when it is notified. */
  async #idle(): Promise<void> {
    if (!this.#isWoken && !this.#isStopping) {
      const delayMs = this.#known?.hasWebhooks === false ? dormantIntervalMs : pollIntervalMs
      const { promise, resolve } = Promise.withResolvers<void>()
      const cancel = this.#parts.clock.after(delayMs, resolve)
      this.#wake = resolve
      await promise
      this.#wake = undefined
      cancel()
    }
    this.#isWoken = false
  }
}

async function hasAny(run: Run): Promise<boolean> {
  return (await readFirst(run, anyWebhook)) !== undefined
}
