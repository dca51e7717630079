/** The parts of events that REST needs without a server. */

import { createEvents } from '../../../src/api/events/events.ts'
import type { EventRouteParts } from '../../../src/api/rest/events/parts.ts'
import type { Call } from '../../../src/base/call.ts'
import type { Store } from '../../../src/engine/store/store.ts'

/** Credentials never expire, and clients never disconnect. */
export function eventsOf({ changes }: Pick<Store, 'changes'>): EventRouteParts {
  const events = createEvents({
    feed: changes,
    identify: () => {
      throw new Error('nobody has a credential')
    },
    onFault: error => {
      throw error
    },
    maxAnonymousConnections: 100,
    maxConnections: 100,
    maxDistinctSubscriptions: 100,
  })
  const clientOf = ({ address }: Call) => ({ credential: undefined, address, onGone: () => () => {} })
  return { events, feed: changes, clientOf, maxAnswerBytes: 16_777_216, maxBufferedBytes: 1_000_000 }
}
