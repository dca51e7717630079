/** Why a request to elsewhere has no answer. */
export type OutgoingFailure =
  /** The URL is none, has another scheme than http and https, or a user name or password. */
  | 'url_refused'
  /** The name leads to an address that is not public. */
  | 'address_refused'
  /** The name cannot be resolved. */
  | 'name_not_found'
  | 'connection_failed'
  /** The certificate or the TLS handshake is wrong. */
  | 'tls_failed'
  | 'timed_out'
  | 'body_too_large'
  /** Nobody waits for the answer any more. */
  | 'aborted'

/** The message names the host at most, never a path, query, header or body. */
export class OutgoingError extends Error {
  readonly failure: OutgoingFailure

  constructor(failure: OutgoingFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutgoingError'
    this.failure = failure
  }
}
