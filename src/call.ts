/** One HTTP exchange as the transports see it: a `Call` comes in, a `Reply` goes out. */
import type { IncomingHttpHeaders } from 'node:http'

export interface Call {
  readonly method: string
  /** As sent: path and query, still encoded. */
  readonly url: string
  /** `url` up to the first `?`. */
  readonly path: string
  /** What follows the first `?`; empty without one. */
  readonly query: string
  readonly headers: IncomingHttpHeaders
  /** Whether the query contained a credential. It is no longer part of `url` and `query`. */
  readonly keyInQuery?: boolean
  /** The client's address: the socket's, unless `trustProxy` says otherwise. */
  readonly address: string
  readonly requestId: string
  /** The whole body, empty when there is none. Its size was limited before. */
  readonly body: Buffer
  /** The body where it is part of another one, which was parsed: then `body` is empty. */
  readonly parsed?: { readonly body: unknown }
}

export interface Reply {
  readonly status: number
  /** Flat: name, value, name, value. Content-Length, API-Version, X-Request-Id and the limit's headers are added by `http.ts`. */
  readonly headers: readonly string[]
  /** A string is sent as UTF-8; null: no body. */
  readonly body: string | Buffer | AsyncIterable<string> | null
  /** For a reply that is sent again and again: filled by `http.ts` at the first time. */
  readonly kept?: Kept
}

/** Empty until the reply is first sent. */
export interface Kept {
  /** The precomputed header block: the status line and the constant headers. */
  head: string
  /** Of the body, in bytes. */
  length: number
}

export function unsent(): Kept {
  return { head: '', length: 0 }
}

/**
 * Whether others look after the service at this path. Compared one by one: a set or a map would first look the text up
 * among all names that V8 knows and keep a copy of it, a thirtieth of a small request.
 */
export function isHealthCheck(path: string): boolean {
  return path === '/healthz' || path === '/readyz' || path === '/metrics'
}

/** Instead of a reply: another module writes the response. */
export interface TakenOver {
  /** Called once, when the constant headers are set on the response. Resolves when the response has ended. */
  takeOver(): Promise<void>
}
