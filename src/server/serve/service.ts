/** The interface of a running service, and the options of its start. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Reply } from '../../base/call.ts'
import type { Records } from '../../base/records.ts'
import type { Clock } from '../../delivery/consumer/timetable.ts'
import type { DataParts } from '../../engine/logic/data/create-data.ts'
import type { ChangeFeed } from '../../engine/plan/change-feed.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { SendRequest } from '../../identity/accounts/providers/provider-fetch.ts'
import type { Mail, MailMessage } from '../../identity/mail/mail.ts'
import type { Exchange, HttpServer } from '../http/http.ts'
import type { DestinationStream } from '../observability/log.ts'
import type { WorkerContext } from '../workers/context.ts'
import type { RunningReactions } from './background/reactions.ts'
import type { ProgramTools } from './data.ts'
import type { Transports } from './transports/transports.ts'
import type { ServiceControls } from './typed.ts'

export type { ServeOptions } from './typed.ts'

export interface Service extends ServiceControls, ProgramTools {}

export interface StartOptions {
  /** The context of one of several workers. */
  readonly worker?: WorkerContext | undefined
  /** See `ServeOptions`. `'elsewhere'`: another process listens and hands connections over (`MovingConnections`). */
  readonly listen?: boolean | 'elsewhere' | undefined
  /** False: the service creates no first administrator, and runs nothing in the background. */
  readonly background?: boolean | undefined
  /** Where the log is written; by default to standard output. */
  readonly logOutput?: DestinationStream | undefined
  /** The process does nothing but serve: unhandled rejections are logged and do not end it. */
  readonly ownProcess?: boolean | undefined
  /** Called with every message, and whether a mail server accepted it; messages are then not logged. */
  readonly onMail?: ((message: MailMessage, isSent: boolean) => void) | undefined
  /** Pages of the development mode. Their paths take precedence. */
  readonly devPages?: DevPages | undefined
  /**
   * For development only: whether the error response to a request says which rule refused it, with values. No setting
   * enables this, and it is ignored if `NODE_ENV` is `production`.
   */
  readonly explainsRefusals?: ((exchange: Exchange) => boolean) | undefined
  /** Sends requests to sign-in providers. For tests. */
  readonly sendToProviders?: SendRequest | undefined
  /** For tests. */
  readonly simulation?: Simulation | undefined
}

export interface DevPages {
  owns(path: string): boolean
  /** Must check the client itself: no credential is read, and no budget is used. */
  answer(exchange: Exchange): Awaitable<Reply>
}

/** The parts that tests replace. */
export interface Simulation {
  readonly clock: Clock
  readonly mail: Mail
}

/** A service with the parts that `portico/test` and `portico dev` use. */
export interface OpenService {
  readonly service: Service
  readonly run: Run
  readonly records: Records
  /** The log of events. */
  readonly feed: ChangeFeed
  readonly http: HttpServer
  readonly data: DataParts
  readonly rest: Transports['rest']
  readonly explain: Transports['explain']
  readonly reactions: RunningReactions
  /** Ends WebSockets, subscriptions and event streams, whose clients reconnect. Other requests continue. */
  endStreams(): void
}
