/** Sends webhooks. One node sends at a time; the others check whether it still does. */
import type { Run } from '../../engine/plan/run.ts'
import { listShape, readFirst } from '../../engine/plan/system-plans.ts'
import { LeasedLoop, type LeasedLoopParts } from '../consumer/leased-loop.ts'
import { isBatchOutdated } from './enqueuer.ts'
import { leaseKey } from './position.ts'
import { SenderSession, type SenderSessionParts } from './session.ts'

export interface SenderCounts {
  /** Attempts by their outcome. */
  succeeded: number
  retried: number
  failed: number
  dropped: number
  /** Webhooks that this node has paused. */
  paused: number
}

/** The current state; zeros on nodes that do not send. */
export interface SenderState {
  readonly isSending: boolean
  readonly queued: number
  readonly inFlight: number
  /** How many events have no deliveries yet, and for how many seconds that number has not been 0. */
  readonly lagEvents: number
  readonly lagSeconds: number
  /** Webhooks that are paused or not enabled. */
  readonly stopped: number
}

export interface SenderParts
  extends Omit<SenderSessionParts, 'counts'>,
    Pick<LeasedLoopParts<SenderSession>, 'elapsed'> {}

const anyWebhook = listShape('webhooks', ['id'])

export class WebhookSender {
  readonly counts: SenderCounts = { succeeded: 0, retried: 0, failed: 0, dropped: 0, paused: 0 }
  readonly #parts: SenderParts
  readonly #loop: LeasedLoop<SenderSession>
  #cached: { readonly version: number; readonly hasWebhooks: boolean } | undefined

  constructor(parts: SenderParts) {
    this.#parts = parts
    const { records, elapsed, log, clock, onFault } = parts
    this.#loop = new LeasedLoop({
      ...{ leaseKey, records, elapsed, log, clock, onFault },
      begin: holding => new SenderSession({ ...parts, counts: this.counts }, holding),
      isWanted: () => this.#hasWebhooks(),
      isExpected: isBatchOutdated,
    })
  }

  get state(): SenderState {
    const { session, lagSeconds } = this.#loop
    return {
      isSending: session !== undefined,
      queued: session?.queued ?? 0,
      inFlight: session?.inFlight ?? 0,
      lagEvents: session?.lag ?? 0,
      lagSeconds,
      stopped: session?.stopped ?? 0,
    }
  }

  start(): void {
    this.#loop.start()
  }

  /** Waits for attempts in progress, for a bounded time, and lets another node send. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #hasWebhooks(): Promise<boolean> {
    const { run, version } = this.#parts
    const current = version()
    if (this.#cached?.version !== current) {
      this.#cached = { version: current, hasWebhooks: await hasAnyWebhook(run) }
    }
    return this.#cached.hasWebhooks
  }
}

async function hasAnyWebhook(run: Run): Promise<boolean> {
  return (await readFirst(run, anyWebhook)) !== undefined
}
