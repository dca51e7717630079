/** Turns options of event calls into requests. */
import type { Send } from './connection.ts'
import { filtersOf, type Parameters, parametersOf, queryString } from './query.ts'
import type { SubscribeOptions } from './types/events.ts'
import type { CallOptions } from './types/options.ts'

const filterNames = { collections: 'collections', types: 'types', itemId: 'item_id' }
const pageNames = { ...filterNames, after: 'after', limit: 'limit', wait: 'wait' }

interface EventFilter {
  readonly where?: unknown
}

export interface FilteredSubscription extends SubscribeOptions, EventFilter {}

/** `collection`: subscribes only to this collection. */
export function subscription(options: EventFilter, collection?: string): Parameters {
  return [
    ...parametersOf(
      { ...options, ...(collection !== undefined && { collections: collection }) },
      filterNames,
    ),
    ...filtersOf(options.where),
  ]
}

interface EventPageOptions extends CallOptions, EventFilter {
  readonly wait?: number
}

/** The time limit includes the waiting time of a long poll. */
export function logPage(send: Send) {
  return async (options: EventPageOptions = {}): Promise<unknown> => {
    const path = `/events${queryString([...parametersOf(options, pageNames), ...filtersOf(options.where)])}`
    const waitMs = (options.wait ?? 0) * 1_000
    const timeoutMs = waitMs > 0 && options.timeoutMs === undefined ? { timeoutMs: waitMs + 30_000 } : {}
    return (await send({ method: 'GET', path, options: { ...options, ...timeoutMs } })).body
  }
}
