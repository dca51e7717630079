/** The interface of providers, independent of their protocol. */

/** Stored between the start of a sign-in and its callback. The browser sees only `state` and `nonce`. */
export interface FlowSecrets {
  readonly state: string
  readonly nonce: string
  /** RFC 7636. */
  readonly verifier: string
  /** The time of the request, in seconds since 1970. Present if the user has to authenticate again. */
  readonly reauthenticatedSince?: number
}

/** The person whom the provider has signed in. The texts come from the provider, sanitized and bounded. */
export interface Profile {
  /** Identifies the person permanently, together with `subject`. */
  readonly issuer: string
  readonly subject: string
  readonly name: string | undefined
  /** In lower case; undefined if there is none, or none that an account could have. */
  readonly email: string | undefined
  /** Whether the provider has verified that the address belongs to this person. */
  readonly emailVerified: boolean
}

export interface StartFlowOptions {
  readonly redirectUri: string
  readonly secrets: FlowSecrets
}

export interface Provider {
  /** As in the settings. */
  readonly kind: 'google' | 'github' | 'microsoft' | 'apple' | 'oidc'
  readonly id: string
  readonly name: string
  /** The address to which the browser is sent. Throws a `ProviderFault`. */
  start(options: StartFlowOptions): Promise<URL>
  /** `callback`: the redirect URI with the parameters of the response. Throws a `ProviderFault`. */
  finish(callback: URL, secrets: FlowSecrets): Promise<Profile>
}

export type FaultReason =
  /** The person has refused or cancelled the sign-in at the provider. */
  | 'denied'
  /** No response, or a temporary failure. */
  | 'unavailable'
  /** A response that is invalid, or belongs to another sign-in. */
  | 'invalid'

/** The failure of a sign-in with a provider. The message is for the log only: it may contain texts of the provider. */
export class ProviderFault extends Error {
  readonly reason: FaultReason

  constructor(reason: FaultReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProviderFault'
    this.reason = reason
  }
}
