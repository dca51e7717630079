/** The work of the node that sends webhooks. */

import { Pause } from '../../base/pause.ts'
import type { Records } from '../../base/records.ts'
import { isTemporary } from '../../engine/log/outage.ts'
import type { ChangeFeed } from '../../engine/plan/change-feed.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { Holding, LeasedSession } from '../consumer/leased-loop.ts'
import { StoredPosition } from '../consumer/position.ts'
import { Scheduler, type Verdict } from '../consumer/scheduler.ts'
import { afterAtMost, type Clock } from '../consumer/timetable.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { createAttempt, type DeliveryOutcome } from './attempt.ts'
import type { Delivery, Webhook } from './delivery.ts'
import { WebhookDirectory } from './directory.ts'
import { Enqueuer } from './enqueuer.ts'
import type { PauseReason, PossibleTypes, ShowEvent, WebhookOwners } from './owners.ts'
import { readPending, readWebhooks } from './plans.ts'
import { positionKey, type SenderPosition } from './position.ts'
import { takeRequests } from './requests.ts'
import { type AttemptCounts, DeliveryResults } from './results.ts'
import { DeliveryRetention } from './retention.ts'
import { longestDelayMs } from './schedule.ts'
import { UnscheduledEvents } from './unscheduled.ts'

export interface SenderSessionParts {
  readonly run: Run
  readonly records: Pick<Records, 'get' | 'add' | 'swap' | 'after' | 'delete'>
  readonly log: ChangeFeed
  readonly show: ShowEvent
  readonly possibleTypes: PossibleTypes
  readonly owners: WebhookOwners
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly userAgent: string
  readonly clock: Clock
  /** From 0 to below 1. */
  readonly random: () => number
  /** Grows with every commit that may have changed webhooks. */
  readonly version: () => number
  readonly counts: AttemptCounts & { paused: number }
  /** Keeps the events after this one from being pruned by age. Null: none. */
  readonly hold: (event: number | null) => Promise<void>
  readonly onPaused: (webhook: Webhook, reason: PauseReason) => void
  readonly onGap: (webhook: Webhook, from: number, to: number) => void
  readonly onFault: (error: unknown) => void
}

/** After this node has lost the lease, an attempt is postponed by this: the node may get the lease back. */
const notHeldDelayMs = 1000
const requestIntervalMs = 300
const holdIntervalMs = 10_000
/** Webhooks are read again at most at this interval, and for at most this share of the time. */
const minReloadIntervalMs = 250
const maxReloadShare = 0.05

const pauseTexts: Readonly<Record<PauseReason, string>> = {
  gone: 'The endpoint answered with 410 Gone.',
  failing: 'No delivery has succeeded for 24 hours.',
}

export class SenderSession implements LeasedSession {
  readonly #parts: SenderSessionParts
  readonly #holding: Holding
  readonly #directory: WebhookDirectory
  readonly #scheduler: Scheduler<Delivery>
  readonly #results: DeliveryResults
  readonly #retention: DeliveryRetention
  readonly #attempt: ReturnType<typeof createAttempt>
  readonly #abort = new AbortController()
  readonly #pauses = new Map<number, PauseReason>()
  readonly #unscheduled = new UnscheduledEvents()
  /** While deliveries are read: those whose attempts ended meanwhile. The rows that were read may be outdated. */
  #attempted: Set<number> | undefined
  #enqueuer: Enqueuer | undefined
  #version = -1
  readonly #reloadPause = new Pause()
  readonly #requestsPause = new Pause()
  readonly #holdPause = new Pause()
  #heldEvent: number | null | undefined
  /** The newest event when the log was last read. */
  #newest = 0

  constructor(parts: SenderSessionParts, holding: Holding) {
    const { run, clock, onFault, counts, random } = parts
    const { now } = clock
    this.#parts = parts
    this.#holding = holding
    this.#directory = new WebhookDirectory(parts.possibleTypes)
    this.#attempt = createAttempt({ ...parts, now })
    this.#retention = new DeliveryRetention({ run, now })
    this.#scheduler = new Scheduler({
      targetOf: ({ webhookId }: Delivery) => webhookId,
      clock,
      onFault,
      attempt: delivery => this.#makeAttempt(delivery),
    })
    this.#results = new DeliveryResults({
      run,
      directory: this.#directory,
      pause: ({ id }, reason) => void this.#pauses.set(id, reason),
      onCompleted: id => this.#retention.onCompleted(id),
      counts,
      now,
      random,
    })
  }

  get isOver(): boolean {
    return this.#directory.size === 0
  }

  /** Deliveries that wait in memory or are in progress. */
  get queued(): number {
    return this.#scheduler.size
  }

  get inFlight(): number {
    return this.#scheduler.inFlight
  }

  /** About how many events have no deliveries yet. */
  get lag(): number {
    return this.#enqueuer === undefined ? 0 : Math.max(0, this.#newest - this.#enqueuer.event)
  }

  /** Webhooks that are not live. */
  get stopped(): number {
    return [...this.#directory.all].filter(({ isLive }) => !isLive).length
  }

  /**
   * Does a part of the work, and returns whether more is left. After a failure, the next call starts from the state in the
   * database. Rejects with `LeaseLost` if another node has begun to send.
   */
  async work(): Promise<boolean> {
    const enqueuer = this.#enqueuer ?? (await this.#beginEnqueuing())
    try {
      await this.#reload()
      await this.#takeRequests()
      await this.#pause(enqueuer)
      this.#newest = await this.#parts.log.last()
      const hasMore = await enqueuer.work()
      await this.#retention.step()
      await this.#hold(enqueuer)
      return hasMore || this.#pauses.size > 0
    } catch (error) {
      this.#enqueuer = undefined
      throw error
    }
  }

  /** Waits for attempts in progress, for a bounded time; the next sender repeats those that are aborted. */
  async stop(timeoutMs: number): Promise<void> {
    const cancel = afterAtMost(this.#parts.clock, timeoutMs, () => this.#abort.abort())
    await this.#scheduler.stop()
    cancel()
  }

  /** Aborts the attempts in progress. */
  async drop(): Promise<void> {
    this.#abort.abort()
    await this.#scheduler.stop()
  }

  async #beginEnqueuing(): Promise<Enqueuer> {
    const { run, records, log, clock } = this.#parts
    const start = async (): Promise<SenderPosition> => ({ event: await log.last(), partial: null })
    const parts = { key: positionKey, run, records }
    const position = await StoredPosition.take(parts, this.#holding.term, start)
    this.#version = -1
    this.#reloadPause.end()
    this.#directory.replace([])
    this.#unscheduled.clear()
    await this.#reload()
    const attempted = new Set<number>()
    this.#attempted = attempted
    for (const delivery of await readPending(run, undefined)) {
      if (!attempted.has(delivery.id)) this.#queue(delivery)
    }
    this.#enqueuer = new Enqueuer({
      ...this.#parts,
      position,
      directory: this.#directory,
      queue: this.#scheduler,
      onEnqueued: delivery => this.#queue(delivery),
      now: clock.now,
    })
    return this.#enqueuer
  }

  /** Reads the webhooks again if some may have changed. */
  async #reload(): Promise<void> {
    const { run, version, clock } = this.#parts
    if (version() === this.#version || !this.#reloadPause.isOver(clock.now())) return
    const isFirst = this.#version === -1
    const startedAt = performance.now()
    this.#version = version()
    const { started, stopped } = this.#directory.replace(await readWebhooks(run))
    const durationMs = performance.now() - startedAt
    this.#reloadPause.begin(clock.now(), Math.max(minReloadIntervalMs, durationMs / maxReloadShare))
    for (const id of stopped) this.#unschedule(id)
    this.#unscheduled.keepThoseOf(this.#directory)
    // `#beginEnqueuing` reads the deliveries of all webhooks.
    if (isFirst) return
    for (const { id } of started) {
      for (const delivery of await readPending(run, id)) this.#queue(delivery)
    }
  }

  async #takeRequests(): Promise<void> {
    const { run, records, clock } = this.#parts
    if (!this.#requestsPause.isOver(clock.now())) return
    this.#requestsPause.begin(clock.now(), requestIntervalMs)
    const attempted = new Set<number>()
    this.#attempted = attempted
    await takeRequests(run, records, delivery => {
      if (attempted.has(delivery.id)) return false
      this.#queue(delivery)
      return true
    })
    this.#attempted = undefined
  }

  /** Keeps the events of pending deliveries from being pruned by age. Without webhooks, there are none. */
  async #hold({ event }: Enqueuer): Promise<void> {
    const { clock, hold } = this.#parts
    if (!this.#holdPause.isOver(clock.now()) && !this.isOver) return
    this.#holdPause.begin(clock.now(), holdIntervalMs)
    const lastUnneeded = Math.min(event, (this.#scheduler.lowestEvent() ?? event + 1) - 1)
    const heldEvent = this.isOver ? null : this.#unscheduled.lastBefore(this.#directory.all, lastUnneeded)
    // The next holder of the lease may need earlier events.
    if (heldEvent !== this.#heldEvent && (await this.#holding.isHeld())) await hold(heldEvent)
    this.#heldEvent = heldEvent
  }

  /** Tests are sent to any webhook, other deliveries only to live ones. */
  #maySend({ event }: Delivery, webhook: Webhook | undefined): webhook is Webhook {
    return webhook !== undefined && (webhook.isLive || event === null)
  }

  #queue(delivery: Delivery): void {
    const webhook = this.#directory.get(delivery.webhookId)
    if (this.#maySend(delivery, webhook)) {
      // A later one was stored while the clock was wrong.
      const dueAt = Math.min(delivery.dueAt, this.#parts.clock.now() + longestDelayMs)
      this.#scheduler.add({ ...delivery, dueAt }, URL.parse(webhook.url)?.host ?? webhook.url)
    } else this.#unscheduled.add(delivery.webhookId, delivery.event)
  }

  /** Removes a webhook's waiting deliveries from memory. They stay in the database, and their events must be kept. */
  #unschedule(id: number): void {
    this.#unscheduled.add(id, this.#scheduler.lowestEventOf(id) ?? null)
    this.#scheduler.remove(id)
  }

  async #pause(enqueuer: Enqueuer): Promise<void> {
    const { clock, counts, onPaused } = this.#parts
    for (const [id, reason] of this.#pauses) {
      const webhook = this.#directory.get(id)
      if (webhook?.isLive === true) {
        await enqueuer.pause(webhook, new Date(clock.now()).toISOString(), pauseTexts[reason])
        this.#unschedule(id)
        counts.paused++
        onPaused(webhook, reason)
      }
      this.#pauses.delete(id)
    }
  }

  async #makeAttempt(delivery: Delivery): Promise<Verdict<Delivery>> {
    const webhook = this.#directory.get(delivery.webhookId)
    if (!this.#maySend(delivery, webhook) || this.#isAboutToPause(delivery)) return this.#leave(delivery)
    if (!(await this.#mayRecord())) return this.#postpone(delivery)
    const outcome = await this.#outcomeOf(delivery, webhook)
    this.#attempted?.add(delivery.id)
    return (await this.#mayRecord())
      ? this.#results.settle(delivery, webhook, outcome)
      : this.#postpone(delivery)
  }

  /** The webhook has answered 410, or has failed for a day, and that is not stored yet. */
  #isAboutToPause({ webhookId, event }: Delivery): boolean {
    return event !== null && this.#pauses.has(webhookId)
  }

  /** Removes the delivery from memory. It is in the database, and is read again once it may be sent. */
  #leave({ webhookId, event }: Delivery): Verdict<Delivery> {
    this.#unscheduled.add(webhookId, event)
    return { succeeded: true, retry: undefined }
  }

  async #outcomeOf(delivery: Delivery, webhook: Webhook): Promise<DeliveryOutcome> {
    try {
      return await this.#attempt(delivery, webhook, this.#abort.signal)
    } catch (error) {
      if (isTemporary(error)) throw error
      this.#parts.onFault(error)
      return { kind: 'unanswered', durationMs: 0, error: 'The event could not be rendered.' }
    }
  }

  async #mayRecord(): Promise<boolean> {
    return (await this.#holding.isHeld()) && !this.#abort.signal.aborted
  }

  #postpone(delivery: Delivery): Verdict<Delivery> {
    return { succeeded: false, retry: { ...delivery, dueAt: this.#parts.clock.now() + notHeldDelayMs } }
  }
}
