/** Options of clients and of calls. */

/**
 * A token or key, sent as `Authorization: Bearer …`, or a function that is called before each request. After a 401 it is
 * called once more, with the token that was refused.
 */
export type TokenSource = string | ((refused?: string) => string | undefined | Promise<string | undefined>)

export interface ClientOptions {
  /** Where the service is: `https://api.example.com`. Left out: the origin of the page or worker. */
  readonly baseUrl?: string | URL
  /** Left out: no credential is sent, except the session cookie of a page of the same origin. */
  readonly token?: TokenSource | undefined
  /** In place of the global one. */
  readonly fetch?: typeof globalThis.fetch
  /** Of each attempt; 30,000 if left out. Event streams have none. */
  readonly timeoutMs?: number
  /** Further attempts after the first; 3 if left out. 0: none. */
  readonly retries?: number
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
  readonly retries?: number
}

export interface WriteOptions extends CallOptions {
  /** A key of your own makes a write happen once even if the program restarts. By default a random one for each call. */
  readonly idempotencyKey?: string
}

export interface ChangeOptions extends WriteOptions {
  /** An entity tag (see `etagOf`): the call rejects with `PRECONDITION_FAILED` where the item has changed since. */
  readonly ifMatch?: string | undefined
}
