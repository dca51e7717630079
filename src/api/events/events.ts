/** What all transports of events share, once per process. */
import type { ChangeFeed } from '../../engine/plan/change-feed.ts'
import { CredentialMonitor, type Identify } from './credential-monitor.ts'
import { Hub } from './hub.ts'
import { ConnectionQuota } from './quota.ts'

export interface EventsParts {
  readonly feed: ChangeFeed
  readonly identify: Identify
  readonly onFault: (error: unknown) => void
  /** WebSockets, event streams and long polls: of one address without a credential, and of one user or app. */
  readonly maxAnonymousConnections: number
  readonly maxConnections: number
  /** Distinct requests among the open subscriptions, event streams and long polls of one caller. */
  readonly maxDistinctSubscriptions: number
}

export interface Events {
  readonly hub: Hub
  readonly credentials: CredentialMonitor
  readonly connectionQuota: ConnectionQuota
}

export function createEvents(parts: EventsParts): Events {
  const { feed, identify, onFault, maxAnonymousConnections, maxConnections, maxDistinctSubscriptions } = parts
  const credentials = new CredentialMonitor(identify, onFault)
  const beforeDelivery = (collections: ReadonlySet<string>) => credentials.checkAfterChangesOf(collections)
  return {
    hub: new Hub({ feed, beforeDelivery, onFault, maxGroups: maxDistinctSubscriptions }),
    credentials,
    connectionQuota: new ConnectionQuota(maxAnonymousConnections, maxConnections),
  }
}
