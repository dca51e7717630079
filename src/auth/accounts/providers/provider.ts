/** With whom people sign in: what every provider does, whatever its protocol. */

/** What is kept between the start of a sign-in and its callback. All of it is secret to the browser. */
export interface Secrets {
  readonly state: string
  readonly nonce: string
  /** RFC 7636. */
  readonly verifier: string
}

/** Whom the provider has signed in. Its texts are the provider's, cleaned and bounded. */
export interface Profile {
  /** With `subject`: who this is, forever. */
  readonly issuer: string
  readonly subject: string
  readonly name: string | undefined
  /** In lower case; undefined where there is none, or one that no account could have. */
  readonly email: string | undefined
  /** Whether the provider has verified that the address is this person's. */
  readonly emailVerified: boolean
}

export interface StartOptions {
  readonly redirectUri: string
  readonly secrets: Secrets
  /** The person is signed in already, and confirms that it is them: the provider must not answer by itself. */
  readonly confirms: boolean
}

export interface Provider {
  /** As the settings say it. */
  readonly kind: 'google' | 'github' | 'microsoft' | 'apple' | 'oidc'
  readonly id: string
  readonly name: string
  /** Where the browser is sent. Throws a `ProviderFault`. */
  start(options: StartOptions): Promise<URL>
  /** `callback`: with the parameters that the browser came back with. Throws a `ProviderFault`. */
  finish(callback: URL, secrets: Secrets): Promise<Profile>
}

export type FaultReason =
  /** The person has not allowed it there, or has gone back. */
  | 'denied'
  /** No answer, or one that says to try later. */
  | 'unavailable'
  /** An answer that is not valid, or not for this sign-in. */
  | 'invalid'

/** Why a provider signs nobody in. The message is for the log: it may have texts of the provider. */
export class ProviderFault extends Error {
  readonly reason: FaultReason

  constructor(reason: FaultReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProviderFault'
    this.reason = reason
  }
}
