/** The events of the process, shared by all transports. */

import type { CredentialHeaders, Identify } from '../../../api/events/credential-monitor.ts'
import { createEvents, type Events } from '../../../api/events/events.ts'
import { type Awaitable, then } from '../../../base/awaitable.ts'
import { ApiError } from '../../../base/errors.ts'
import { isAnonymous, type Principal } from '../../../base/principal.ts'
import type { ChangeFeed } from '../../../engine/plan/change-feed.ts'
import type { Authenticate } from '../../../identity/authenticate.ts'
import type { Settings } from '../../config/config.ts'

/** Events that may wait for one slow subscriber. Beyond it, the subscriber is disconnected. */
export const maxBufferedBytes = 256 * 1024

export interface ProcessEventsParts {
  readonly feed: ChangeFeed
  readonly authenticate: Authenticate
  /** Makes commits of other nodes visible: no request has done so for a message of a WebSocket. */
  readonly refresh: () => Awaitable<void>
  readonly settings: Settings
  readonly onFault: (error: unknown) => void
}

export interface ProcessEvents extends Events {
  readonly identify: Identify
}

export function createProcessEvents(parts: ProcessEventsParts): ProcessEvents {
  const { feed, authenticate, refresh, settings, onFault } = parts
  const identify: Identify = (headers, address) =>
    then(refresh(), () =>
      then(
        authenticate({ headers: sentHeaders(headers), query: '', proven: headers.proven }, address),
        principal => (headers.cookie === undefined ? principal : requireSession(principal)),
      ),
    )
  const events = createEvents({
    feed,
    identify,
    onFault,
    maxAnonymousConnections: atMostHalf(settings.quotas.addressConnections, settings),
    maxConnections: atMostHalf(settings.quotas.connections, settings),
    maxDistinctSubscriptions: settings.quotas.distinctSubscriptions,
  })
  return { ...events, identify }
}

/** Limits one caller to half of all connections. */
export function atMostHalf(max: number, { maxConnections }: Settings): number {
  return Math.min(max, Math.max(1, Math.floor(maxConnections / 2)))
}

/** An expired session makes a request anonymous, but closes a connection. */
function requireSession(principal: Principal): Principal {
  if (isAnonymous(principal.access)) throw new ApiError('UNAUTHORIZED', 'The session has ended.')
  return principal
}

/** The headers without undefined ones. */
function sentHeaders({ authorization, 'x-api-key': key, cookie }: CredentialHeaders) {
  return {
    ...(authorization === undefined ? {} : { authorization }),
    ...(key === undefined ? {} : { 'x-api-key': key }),
    // The origin was already checked when the client connected.
    ...(cookie === undefined ? {} : { cookie, 'sec-fetch-site': 'same-origin' }),
  }
}
