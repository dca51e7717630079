/** What the authorization server is set to. Times in seconds. */
export interface OauthSettings {
  readonly accessTokenFormat: 'opaque' | 'jwt'
  readonly scopeSeparator: ',' | ' '
  readonly accessTokenLife: number
  readonly refreshTokenLife: number
  readonly idTokenLife: number
  readonly sessionLife: number
  readonly codeLife: number
  /** How long the answer to a refresh is given again to the same request; 0: not at all. */
  readonly refreshReplay: number
  /** How long an app's secret works on after a newer one was made. */
  readonly secretOverlap: number
  /** With it, apps may register themselves (RFC 7591); undefined: they may not. */
  readonly registrationToken: string | undefined
}
