/** One HTTP exchange for the transports: a `Call` in, a `Reply` out. */
import type { IncomingHttpHeaders } from 'node:http'

export interface Call {
  readonly method: string
  /** Path and query as sent, still encoded. */
  readonly url: string
  /** `url` up to the first `?`. */
  readonly path: string
  /** What follows the first `?`; empty without one. */
  readonly query: string
  readonly headers: IncomingHttpHeaders
  /** Whether the query contained a credential, which `url` and `query` no longer have. */
  readonly keyInQuery?: boolean
  /** The client's address: the socket's, unless `trustProxy` says otherwise. */
  readonly address: string
  readonly requestId: string
  /** The whole body, within the limit; empty without one. */
  readonly body: Buffer
  /** The body as it arrives, for a call whose body is not read as a whole: `body` is then empty. Called once. */
  readonly stream?: (() => AsyncIterable<Buffer>) | undefined
  /** The parsed body of a call that is part of a batch; `body` is then empty. */
  readonly parsed?: { readonly body: unknown }
}

export interface Reply {
  readonly status: number
  /** Flat: name, value, name, value. Content-Length, API-Version, X-Request-Id and the limit's headers are added by `http.ts`. */
  readonly headers: readonly string[]
  /** A string is sent as UTF-8; null: no body. */
  readonly body: string | Buffer | StreamedBody | null
  /** For a reply that is sent repeatedly: the HTTP server fills it when it first sends the reply. */
  readonly cachedHead?: CachedHead
}

/** A body whose parts are sent as they come. When the client has gone, `return` of the iterator stops it. */
export interface StreamedBody extends AsyncIterable<string | Buffer> {
  /**
   * For a body that may be silent for long: text that clients ignore between two parts. It is sent to find out whether a
   * client still reads.
   */
  readonly probe?: string
}

/** Empty until the reply is first sent. */
export interface CachedHead {
  /** The precomputed header block: the status line and the constant headers. */
  head: string
  bodyBytes: number
}

export function emptyHead(): CachedHead {
  return { head: '', bodyBytes: 0 }
}

/**
 * Whether it is a health-check path. A set or a map would be slower: V8 would internalize the string first, which takes a
 * thirtieth of the time of a small request.
 */
export function isHealthCheck(path: string): boolean {
  return path === '/healthz' || path === '/readyz' || path === '/metrics'
}

/** In place of a reply: another module writes the response. */
export interface Takeover {
  /** Called once, when the constant headers are set on the response. Resolves when the response has ended. */
  takeOver(): Promise<void>
}
