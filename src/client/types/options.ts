/** Options of clients and of calls. */

/**
 * A token or key, sent as `Authorization: Bearer …`, or a function that returns it. The function is called before each
 * request, and once more after a 401, with the refused token.
 */
export type TokenSource = string | ((refused?: string) => string | undefined | Promise<string | undefined>)

/** Options of `createClient`. */
export interface ClientOptions {
  /** The address of the service: `https://api.example.com`. Default: the origin of the page or worker. */
  readonly baseUrl?: string | URL
  /** If omitted, no credential is sent, except the session cookie of a page on the same origin. */
  readonly token?: TokenSource | undefined
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** The time limit of each attempt, in milliseconds. Default: 30,000. Event streams have none; for exports it ends when the response begins. */
  readonly timeoutMs?: number
  /** The number of attempts after the first. Default: 3. */
  readonly retries?: number
  /** Headers to send with every request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Options of every call. They replace those of the client. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** The time limit of each attempt, in milliseconds. */
  readonly timeoutMs?: number
  /** The number of attempts after the first. */
  readonly retries?: number
}

/** Options of calls that write. */
export interface WriteOptions extends CallOptions {
  /** Your own key ensures that a write happens once even if the program restarts. Default: a random key for each call. */
  readonly idempotencyKey?: string
}

/** Options of calls that change or delete one item. */
export interface ChangeOptions extends WriteOptions {
  /** An entity tag (see `etagOf`): the call rejects with `PRECONDITION_FAILED` if the item has changed since. */
  readonly ifMatch?: string | undefined
}
