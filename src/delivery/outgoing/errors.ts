/** Why an outgoing request has no response. */
export type OutgoingFailure =
  /** The URL is invalid, its scheme is neither http nor https, or it has a user name or password. */
  | 'url_refused'
  /** The name resolves to an address that is not public. */
  | 'address_refused'
  /** The name cannot be resolved. */
  | 'name_not_found'
  | 'connection_failed'
  /** The connection ended before a whole response, or what came is not HTTP. */
  | 'response_malformed'
  /** The certificate or the TLS handshake is wrong. */
  | 'tls_failed'
  | 'timed_out'
  | 'body_too_large'
  /** The caller has aborted the request. */
  | 'aborted'

/** The message names at most the host, never a path, query, header or body. */
export class OutgoingError extends Error {
  readonly failure: OutgoingFailure

  constructor(failure: OutgoingFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutgoingError'
    this.failure = failure
  }
}
