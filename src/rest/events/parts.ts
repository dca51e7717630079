/** What the forms of events need of the process. */
import type { Call } from '../../call.ts'
import type { ChangeFeed } from '../../events/change-feed.ts'
import type { CredentialHeaders } from '../../events/credential-monitor.ts'
import type { Events } from '../../events/events.ts'
import type { Principal } from '../../principal.ts'

/** The connection of a caller who listens. */
export interface EventClient {
  /** What is checked again while it listens; undefined: nobody is signed in. */
  readonly credential: CredentialHeaders | undefined
  readonly address: string
  /** Calls `listener` once when the client has gone, or has ended its side. Returns what stops that. */
  onGone(listener: () => void): () => void
}

export interface EventsParts {
  readonly events: Events
  readonly feed: ChangeFeed
  readonly clientOf: (call: Call, principal: Principal) => EventClient
  /** Of one event stream; a reader that is further behind is cut off. */
  readonly maxBufferedBytes: number
}
