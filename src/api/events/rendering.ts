/** Renders the replies of a group. An outage of the database delays them. */
import type { Awaitable } from '../../base/awaitable.ts'
import { isTemporary, type Outage } from '../../engine/log/outage.ts'
import type { LoggedChange } from '../../engine/plan/change-feed.ts'
import type { SubscriberGroup } from './subscriber.ts'

const defaultRetryLimitMs = 10_000

export interface RenderingParts {
  readonly outage: Outage
  /** How long a failed rendering is retried while the database answers other queries. */
  readonly retryLimitMs: number | undefined
  readonly hasSubscribers: () => boolean
}

export class Rendering {
  readonly #parts: RenderingParts

  constructor(parts: RenderingParts) {
    this.#parts = parts
  }

  /** Null if the members may not see the change. Throws or rejects if it can never be rendered. */
  render(group: SubscriberGroup, change: LoggedChange): Awaitable<string | null> {
    try {
      const reply = group.renderer.render(change)
      return reply instanceof Promise ? reply.catch(error => this.#retry(group, change, error)) : reply
    } catch (error) {
      if (isTemporary(error)) return this.#retry(group, change, error)
      throw error
    }
  }

  /** Waits for the database without a limit: subscribers miss nothing by waiting. */
  async #retry(group: SubscriberGroup, change: LoggedChange, cause: unknown): Promise<string | null> {
    const { outage, retryLimitMs = defaultRetryLimitMs, hasSubscribers } = this.#parts
    let error = cause
    let deadline = Number.POSITIVE_INFINITY
    while (isTemporary(error) && performance.now() < deadline) {
      outage.report(error)
      await outage.untilOver(hasSubscribers)
      if (group.members.size === 0) return null
      deadline = Math.min(deadline, performance.now() + retryLimitMs)
      try {
        return await group.renderer.render(change)
      } catch (retryError) {
        error = retryError
      }
    }
    throw error
  }
}
