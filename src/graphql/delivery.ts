/** One change at a time → a reply for each group that waits for it → its members. */
import type { ItemChange } from './engine.ts'
import type { LoggedChange } from './feed.ts'
import { type Group, type Groups, topicOf } from './groups.ts'
import type { Member } from './member.ts'
import { isPassing, type Outage } from './outage.ts'
import { refusalOf } from './refusal.ts'

const PATIENCE = 10_000

export interface DeliveryParts {
  readonly groups: Groups
  readonly outage: Outage
  readonly onFault: (error: unknown) => void
  /** How long a delivery is tried again while the database answers other questions, in milliseconds. */
  readonly patience: number | undefined
  /** Whether anybody still waits for events. */
  readonly isWanted: () => boolean
  /** Ends a subscription with an error. */
  readonly end: (member: Member, text: string) => void
}

export class Delivery {
  readonly #parts: DeliveryParts
  #change: LoggedChange | undefined
  /** Deliveries of this change to those who have changed their group meanwhile. */
  #late: Promise<void>[] = []

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  /** Undefined where every answer was there at once. */
  deliver(change: LoggedChange): Promise<void> | undefined {
    this.#change = change
    const waiting: Promise<void>[] = []
    for (const group of this.#parts.groups.of(topicOf(change))) {
      const later = this.#deliverTo(group, change)
      if (later) waiting.push(later)
    }
    if (waiting.length > 0 || this.#late.length > 0) return this.#finish(waiting)
    this.#change = undefined
    return undefined
  }

  /** What is on its way to those whom a member has left, it has not got. */
  catchUp({ group }: Member): void {
    const change = this.#change
    if (!group || !change || group.topic !== topicOf(change)) return
    const later = this.#deliverTo(group, change)
    if (later) this.#late.push(later)
  }

  async #finish(waiting: readonly Promise<void>[]): Promise<void> {
    await Promise.all(waiting)
    while (this.#late.length > 0) await Promise.all(this.#late.splice(0))
    this.#change = undefined
  }

  #deliverTo(group: Group, change: ItemChange): Promise<void> | undefined {
    try {
      const text = group.subscribed.deliver(change)
      if (!(text instanceof Promise)) return void send(group, change, text)
      return text.then(
        later => send(group, change, later),
        error => this.#retry(group, change, error),
      )
    } catch (error) {
      return this.#retry(group, change, error)
    }
  }

  /** While the database is away, nobody misses anything by waiting. */
  async #retry(group: Group, change: ItemChange, cause: unknown): Promise<void> {
    const { outage, patience = PATIENCE, isWanted } = this.#parts
    let error = cause
    let until = Number.POSITIVE_INFINITY
    while (isPassing(error) && performance.now() < until) {
      outage.tell(error)
      await outage.end(isWanted)
      if (group.members.size === 0) return
      until = Math.min(until, performance.now() + patience)
      try {
        return send(group, change, await group.subscribed.deliver(change))
      } catch (again) {
        error = again
      }
    }
    this.#fail(group, error)
  }

  /** Whoever missed a change must not believe that nothing happened. */
  #fail({ members }: Group, error: unknown): void {
    const { onFault, end } = this.#parts
    onFault(error)
    const { text } = refusalOf(error)
    for (const member of [...members]) end(member, text)
  }
}

/** `text`: null where its members may not see the item. */
function send({ members }: Group, { event }: ItemChange, text: string | null): void {
  if (text === null) return
  for (const member of members) member.give(event, text)
}
