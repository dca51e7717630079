/** A log in memory, and requests for its changes. */

import type { ChangeRenderer, SubscriptionRequest } from '../../../src/api/events/subscriber.ts'
import type { ChangeFeed, LoggedChange } from '../../../src/engine/plan/change-feed.ts'

/** A change that creates a post, unless `parts` says otherwise. */
export function loggedChange(parts: Partial<LoggedChange>): LoggedChange {
  return {
    event: 1,
    id: 1,
    collection: 'posts',
    kind: 'created',
    row: '{}',
    before: null,
    facts: null,
    factsBefore: null,
    changed: null,
    at: '2026-01-01T00:00:00.000Z',
    userId: null,
    appId: null,
    via: null,
    type: null,
    depth: 0,
    values: null,
    ...parts,
  }
}

export interface StubFeed extends ChangeFeed {
  readonly log: LoggedChange[]
  /** The highest event number that was pruned. */
  pruned: number
  readonly listeners: Set<() => void>
  pollCount: number
  commit(...changes: readonly (Partial<Omit<LoggedChange, 'row'>> & { readonly row?: unknown })[]): void
}

export function stubFeed(): StubFeed {
  const feed: StubFeed = {
    log: [],
    pruned: 0,
    listeners: new Set(),
    pollCount: 0,
    last: () => feed.log.at(-1)?.event ?? 0,
    bounds: () => ({ pruned: feed.pruned, drawn: feed.log.at(-1)?.event ?? feed.pruned }),
    after(event, limit, maxBytes = Number.POSITIVE_INFINITY) {
      let bytes = 0
      const isWithin = ({ row, before }: LoggedChange) => {
        const fits = bytes < maxBytes
        bytes += row.length + (before?.length ?? 0)
        return fits
      }
      return feed.log
        .filter(change => change.event > event)
        .slice(0, limit)
        .filter(isWithin)
    },
    onCommit(listener) {
      feed.listeners.add(listener)
      return () => feed.listeners.delete(listener)
    },
    poll() {
      feed.pollCount++
    },
    commit(...changes) {
      for (const change of changes) {
        const event = (feed.log.at(-1)?.event ?? 0) + 1
        const id = change.id ?? event
        const row = JSON.stringify(change.row ?? { id: String(id), title: `post ${id}` })
        feed.log.push(loggedChange({ ...change, event, id, row }))
      }
      for (const listener of feed.listeners) listener()
    },
  }
  return feed
}

/** A request for created posts, whose reply is the row. */
export function stubRequest(render: ChangeRenderer['render'] = ({ row }) => row): SubscriptionRequest {
  return {
    key: 'new posts',
    rendererFor: () => ({ topics: [{ collection: 'posts', kind: 'created' }], render }),
  }
}
