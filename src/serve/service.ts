/** The interface of a running service, and the options of its start. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { DestinationStream } from 'pino'
import type { SendRequest } from '../auth/accounts/providers/provider-fetch.ts'
import type { FirstAdministrator } from '../auth/bootstrap.ts'
import type { Mail, MailMessage } from '../auth/mail.ts'
import type { Reply } from '../call.ts'
import type { GivenSettings } from '../config.ts'
import type { Clock } from '../events/consumer/timetable.ts'
import type { Exchange, HttpServer } from '../http.ts'
import type { DataParts } from '../logic/data/create-data.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { ChangeFeed } from '../plan/change-feed.ts'
import type { Run } from '../plan/run.ts'
import type { Records } from '../records.ts'
import type { WorkerContext } from '../workers/context.ts'
import type { RunningReactions } from './background/reactions.ts'
import type { ServiceData } from './data.ts'
import type { Transports } from './transports.ts'

export interface Service {
  /**
   * The address of the service, without a trailing slash. With `listen: false`: `baseUrl`, or the address of `host` and
   * `port`, on which the program's own server is expected.
   */
  readonly url: string
  /** The administrator that the first start creates, which is shown once; undefined at later starts. */
  readonly firstAdministrator: FirstAdministrator | undefined
  /** Reads and writes items as the service itself, to which no rule applies, or as a user. */
  readonly data: ServiceData
  /**
   * Answers a request that an HTTP/1.1 server of the program has received. Mount it at the root, before anything that
   * reads the body. The limits on headers and connections are that server's.
   */
  handler(request: IncomingMessage, response: ServerResponse): void
  /** The listener for the server's `upgrade` event: opens WebSockets at `/graphql`, and answers 404 at other paths. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Keeps serving for `shutdownDelay`, then stops accepting, finishes running requests, and closes the database. */
  close(): Promise<void>
}

export interface ServeOptions extends GivenSettings {
  /** False: the program's own server passes requests to `handler` and `upgrade`. */
  readonly listen?: boolean
}

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
