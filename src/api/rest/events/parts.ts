/** The services that pages and streams of events use. */
import type { Call } from '../../../base/call.ts'
import type { Principal } from '../../../base/principal.ts'
import type { ChangeFeed } from '../../../engine/plan/change-feed.ts'
import type { CredentialHeaders } from '../../events/credential-monitor.ts'
import type { Events } from '../../events/events.ts'

/** The connection of a listening caller. */
export interface EventClient {
  /** The credential, which is rechecked while the caller listens; undefined: nobody is signed in. */
  readonly credential: CredentialHeaders | undefined
  readonly address: string
  /** Calls `listener` when the client closes the connection or its side of it. Returns a function that unsubscribes. */
  onGone(listener: () => void): () => void
}

export interface EventRouteParts {
  readonly events: Events
  readonly feed: ChangeFeed
  readonly clientOf: (call: Call, principal: Principal) => EventClient
  /** Of an event, and of a page of events that has more than one. */
  readonly maxAnswerBytes: number
  /** Per event stream. A client that is further behind is disconnected. */
  readonly maxBufferedBytes: number
}
