/** The settings of the authorization server. Durations are in seconds. */
export interface OauthSettings {
  readonly accessTokenFormat: 'opaque' | 'jwt'
  readonly scopeSeparator: ',' | ' '
  readonly accessTokenLife: number
  readonly refreshTokenLife: number
  readonly idTokenLife: number
  readonly sessionLife: number
  readonly codeLife: number
  /** How long the response to a refresh is repeated to the same request; 0: never. */
  readonly refreshReplay: number
  /** How long an app's secret works after a newer one was created. */
  readonly secretOverlap: number
  /** With it, apps may register themselves (RFC 7591); undefined: they may not. */
  readonly registrationToken: string | undefined
}
