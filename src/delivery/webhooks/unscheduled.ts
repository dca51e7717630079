/** Pending deliveries that are only in the database, because their webhook is not live: the log must keep their events. */
import type { Webhook } from './delivery.ts'

export class UnscheduledEvents {
  /** By webhook that is not live: the lowest event of its pending deliveries. */
  readonly #lowest = new Map<number, number>()

  /** `event`: null for a test, which the log does not have. */
  add(webhookId: number, event: number | null): void {
    if (event === null) return
    this.#lowest.set(webhookId, Math.min(event, this.#lowest.get(webhookId) ?? event))
  }

  /** `webhooks`: all of them. The deliveries of live ones are read again, those of deleted ones are deleted. */
  keepThoseOf(webhooks: { get(id: number): Webhook | undefined }): void {
    for (const id of this.#lowest.keys()) if (webhooks.get(id)?.isLive !== false) this.#lowest.delete(id)
  }

  clear(): void {
    this.#lowest.clear()
  }

  /** The last event, at most `event`, that comes before all events that these webhooks still need. */
  lastBefore(webhooks: Iterable<Webhook>, event: number): number {
    let last = event
    for (const { id, isEnabled, position } of webhooks) {
      if (isEnabled) last = Math.min(last, position ?? last, (this.#lowest.get(id) ?? last + 1) - 1)
    }
    return last
  }
}
