/** A running service, as programs see it, and how one is started. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { SendRequest } from '../auth/accounts/providers/provider-fetch.ts'
import type { FirstAdministrator } from '../auth/bootstrap.ts'
import type { Mail, Message } from '../auth/mail.ts'
import type { Reply } from '../call.ts'
import type { GivenSettings } from '../config.ts'
import type { ChangeFeed } from '../events/change-feed.ts'
import type { Clock } from '../events/consumer/timetable.ts'
import type { Exchange, HttpServer } from '../http.ts'
import type { DataParts } from '../logic/data/create-data.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Run } from '../plan/run.ts'
import type { Records } from '../records.ts'
import type { WorkerContext } from '../workers/context.ts'
import type { RunningReactions } from './background/reactions.ts'
import type { ServiceData } from './data.ts'
import type { Transports } from './transports.ts'

export interface Service {
  /**
   * Where it listens, without a trailing slash. With `listen: false`: `baseUrl`, or where `host` and `port` say that the
   * program's own server listens.
   */
  readonly url: string
  /** The administrator that this start created, to be shown once; undefined on every later start. */
  readonly firstAdministrator: FirstAdministrator | undefined
  /** The items, read and written as the service itself, whom no rule binds, or as a user. */
  readonly data: ServiceData
  /**
   * Answers a request that an HTTP/1.1 server of the program has read, by the same pipeline. Mounted at the root; nothing
   * before it may have read the body. The bounds on headers and connections are that server's.
   */
  handler(request: IncomingMessage, response: ServerResponse): void
  /** For the server's `upgrade` event: opens WebSockets at `/graphql`, answers 404 elsewhere. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Serves on for `shutdownDelay`, stops accepting, finishes what runs, and closes the database. */
  close(): Promise<void>
}

export interface ServeOptions extends GivenSettings {
  /** False: the program has a server of its own, which passes requests to `handler` and `upgrade`. */
  readonly listen?: boolean
}

export interface StartOptions {
  /** The context of one of several workers. */
  readonly worker?: WorkerContext | undefined
  /** See `ServeOptions`. `'elsewhere'`: another process listens, and hands over connections (`MovingConnections`). */
  readonly listen?: boolean | 'elsewhere' | undefined
  /** False: no first administrator is created, and nothing runs that no request asks for. */
  readonly background?: boolean | undefined
  /** The process is the service's alone: promises that nobody waits for do not end it. */
  readonly ownProcess?: boolean | undefined
  /** Notified of every message, and whether a mail server took it: without one it is logged nowhere else. */
  readonly onMail?: ((message: Message, isSent: boolean) => void) | undefined
  /** Pages of the development mode, which are answered before any other path. */
  readonly ownPages?: OwnPages | undefined
  /**
   * In development alone: which requests are told in error answers which rule refused, with values. No setting does this,
   * and nobody is told where `NODE_ENV` is `production`.
   */
  readonly explainsRefusals?: ((exchange: Exchange) => boolean) | undefined
  /** Sends requests to providers of sign-in. For tests. */
  readonly sendToProviders?: SendRequest | undefined
  /** For tests. */
  readonly simulation?: Simulation | undefined
}

export interface OwnPages {
  owns(path: string): boolean
  /** Checks by itself who asks: no credential is read, and no budget drawn. */
  answer(exchange: Exchange): Awaitable<Reply>
}

/** What a test replaces. */
export interface Simulation {
  readonly clock: Clock
  readonly mail: Mail
}

/** A service, and what tests of a model and the development mode need of it. */
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
  /** Ends WebSockets, subscriptions and event streams; their clients connect again. Other requests are served on. */
  endStreams(): void
}
