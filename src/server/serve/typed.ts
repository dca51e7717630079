/**
 * The types of programs that serve a model. They lead to no types of Node but those of `handler` and `upgrade`: a model file, whose
 * type a browser's client needs, imports them too, also where `@types/node` is not installed.
 */
// biome-ignore lint/suspicious/noTsIgnore: an error is expected only where `@types/node` is missing; these types are then `any`.
/** @ts-ignore */
import type { Buffer } from 'node:buffer'
// biome-ignore lint/suspicious/noTsIgnore: as above.
/** @ts-ignore */
import type { IncomingMessage, ServerResponse } from 'node:http'
// biome-ignore lint/suspicious/noTsIgnore: as above.
/** @ts-ignore */
import type { Duplex } from 'node:stream'
import type { FirstAdministrator } from '../../identity/first-administrator.ts'
import type { Declaration } from '../../model/declaration.ts'
import type { ProgramActions, ProgramData, SystemProgramData } from '../../model/types/types.ts'
import type { GivenSettings } from '../config/config.ts'

/** A user, by id or by item. */
export type UserReference = number | { readonly id: number }

export interface ServeOptions extends GivenSettings {
  /** False: the program's own server passes requests to `handler` and `upgrade`. */
  readonly listen?: boolean
}

/** A running service. */
export interface ServiceControls {
  /**
   * The address of the service, without a trailing slash. With `listen: false`: `baseUrl`, or the address of `host` and
   * `port`, on which the program's own server is expected.
   */
  readonly url: string
  /** The administrator that the first start creates, which is shown once; undefined at later starts. */
  readonly firstAdministrator: FirstAdministrator | undefined
  /**
   * Answers a request that an HTTP/1.1 server of the program has received. Mount it at the root, before anything that
   * reads the body. The limits on headers and connections are that server's.
   */
  handler(request: IncomingMessage, response: ServerResponse): void
  /** The listener for the server's `upgrade` event: opens WebSockets at `/graphql`, and answers 404 at other paths. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Keeps serving for `shutdown.delay`, then stops accepting, finishes running requests, and closes the database. */
  close(): Promise<void>
}

/** A service whose `data` is typed by its model. */
export interface Service<M extends Declaration = Declaration> extends ServiceControls {
  /**
   * The items, read and written as the service itself, to which no rule applies. `as(user)` reads and writes as a user, given
   * by id or item, with every scope and the user's role at the time of each call. Calls reject with the API's `ApiError`.
   */
  readonly data: SystemProgramData<M> & { as(user: UserReference): ProgramData<M> }
  /**
   * The model's actions as functions, each a transaction: `actions.book({ … })`, with the item's id first where it has `on`. As
   * the service itself, or with `as(user)` as a user, whom `access` must allow it. Calls reject with what the code throws.
   */
  readonly actions: ProgramActions<M> & { as(user: UserReference): ProgramActions<M> }
}
