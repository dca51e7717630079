/** All webhooks as the sender last read them, with the changes that it has made since. */

import { coversType } from '../../engine/log/event-types.ts'
import type { LoggedChange } from '../../engine/plan/change-feed.ts'
import type { Webhook } from './delivery.ts'
import type { PossibleTypes } from './owners.ts'

/** How the webhooks differ from those that were last read. */
export interface DirectoryChanges {
  /** Webhooks to which deliveries may now be sent. */
  readonly started: readonly Webhook[]
  /** Webhooks that were deleted, are no longer live, or have another URL. */
  readonly stopped: readonly number[]
}

interface WebhookGroups {
  readonly current: readonly Webhook[]
  readonly behind: readonly Webhook[]
  readonly stopping: readonly Webhook[]
}

function groupWebhooks(webhooks: Iterable<Webhook>): WebhookGroups {
  const all = [...webhooks]
  return {
    current: all.filter(({ isLive, position }) => isLive && position === null),
    behind: all.filter(({ isLive, position }) => isLive && position !== null),
    stopping: all.filter(({ isLive, position }) => !isLive && position === null),
  }
}

export class WebhookDirectory {
  readonly #possibleTypes: PossibleTypes
  #webhooks = new Map<number, Webhook>()
  /** By collection and types: the live webhooks that have caught up and may be subscribed to such a change. */
  readonly #matching = new Map<string, readonly Webhook[]>()
  #groups: WebhookGroups | undefined

  constructor(possibleTypes: PossibleTypes) {
    this.#possibleTypes = possibleTypes
  }

  get(id: number): Webhook | undefined {
    return this.#webhooks.get(id)
  }

  get all(): Iterable<Webhook> {
    return this.#webhooks.values()
  }

  get size(): number {
    return this.#webhooks.size
  }

  /** `webhooks`: in the order of ids. */
  replace(webhooks: readonly Webhook[]): DirectoryChanges {
    const before = this.#webhooks
    this.#webhooks = new Map(webhooks.map(webhook => [webhook.id, webhook]))
    this.#invalidate()
    const isSame = ({ id, url }: Webhook, webhooksById: ReadonlyMap<number, Webhook>) => {
      const other = webhooksById.get(id)
      return other?.isLive === true && other.url === url
    }
    // A test may wait for a webhook that is not live.
    const isStopped = (webhook: Webhook) =>
      webhook.isLive ? !isSame(webhook, this.#webhooks) : !this.#webhooks.has(webhook.id)
    return {
      started: webhooks.filter(webhook => webhook.isLive && !isSame(webhook, before)),
      stopped: [...before.values()].filter(isStopped).map(({ id }) => id),
    }
  }

  /** Applies a change that the sender has stored. */
  change(id: number, change: Partial<Pick<Webhook, 'position' | 'failingSince' | 'isLive'>>): void {
    const webhook = this.#webhooks.get(id)
    if (webhook === undefined) return
    this.#webhooks.set(id, { ...webhook, ...change })
    if ('position' in change || 'isLive' in change) this.#invalidate()
  }

  /** The live webhooks that have caught up with the sender. */
  get current(): readonly Webhook[] {
    return this.#currentGroups.current
  }

  /** The live webhooks that have a position of their own. */
  get behind(): readonly Webhook[] {
    return this.#currentGroups.behind
  }

  /** Webhooks that are no longer live, and whose position is not stored yet. */
  get stopping(): readonly Webhook[] {
    return this.#currentGroups.stopping
  }

  get #currentGroups(): WebhookGroups {
    this.#groups ??= groupWebhooks(this.#webhooks.values())
    return this.#groups
  }

  #invalidate(): void {
    this.#matching.clear()
    this.#groups = undefined
  }

  /** The live webhooks that have caught up and may be subscribed to a change, in the order of ids. */
  matching(change: LoggedChange): readonly Webhook[] {
    const types = this.#possibleTypes(change)
    const key = `${change.collection} ${types}`
    const cached = this.#matching.get(key)
    if (cached) return cached
    const webhooks = this.#currentGroups.current.filter(webhook => this.mayMatch(webhook, change))
    this.#matching.set(key, webhooks)
    return webhooks
  }

  /** Whether the change may be, for any recipient, an event that the webhook is subscribed to. */
  mayMatch(webhook: Webhook, change: LoggedChange): boolean {
    return this.#possibleTypes(change).some(type => isSubscribed(webhook, change.collection, type))
  }
}

/** Whether a webhook is subscribed to events of a type. */
export function isSubscribed({ types, collections }: Webhook, collection: string, type: string): boolean {
  if (collections !== null && !collections.includes(collection)) return false
  return types.some(pattern => coversType(pattern, type))
}
