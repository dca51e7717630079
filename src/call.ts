/** One HTTP exchange as the faces see it: a `Call` comes in, a `Reply` goes out. */
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
  /** Whether a credential came in the query, of which it is no part any more. */
  readonly keyInQuery?: boolean
  /** The client's address: the socket's, unless `trustProxy` says otherwise. */
  readonly address: string
  readonly requestId: string
  /** The whole body; empty when there is none. Bounded before it gets here. */
  readonly body: Buffer
}

export interface Reply {
  readonly status: number
  /** Flat: name, value, name, value. Content-Length, API-Version, X-Request-Id and the limit's headers are added by `http.ts`. */
  readonly headers: readonly string[]
  /** A string is sent as UTF-8; null: no body. */
  readonly body: string | Buffer | AsyncIterable<string> | null
  /** Of a reply that is given out again and again: what `http.ts` has made of it. */
  readonly kept?: Kept
}

/** Empty until the reply is first sent. */
export interface Kept {
  /** The status line and the headers that are the same each time. */
  head: string
  /** Of the body, in bytes. */
  length: number
}

export function unsent(): Kept {
  return { head: '', length: 0 }
}

/** In place of a reply: somebody else writes the response. */
export interface TakenOver {
  /** Called once, with what every answer has set on the response. Resolves when it was ended. */
  takeOver(): Promise<void>
}
