/** The settings of the authorization server. */
export interface OauthSettings {
  readonly accessTokenFormat: 'opaque' | 'jwt'
  readonly scopeSeparator: ',' | ' '
  readonly accessTokenSeconds: number
  readonly refreshTokenSeconds: number
  readonly idTokenSeconds: number
  readonly sessionSeconds: number
  readonly codeSeconds: number
  /** How long a repeated refresh request gets the same response; 0: never. */
  readonly refreshReplaySeconds: number
  /** How long an app's secret remains valid after a newer one is created. */
  readonly secretOverlapSeconds: number
  /** The initial access token of dynamic registration (RFC 7591); undefined: registration is off. */
  readonly registrationToken: string | undefined
}
