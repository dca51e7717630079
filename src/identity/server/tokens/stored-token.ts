/** The payload of the record of an access or refresh token. */
export interface StoredToken {
  readonly clientId: string
  /** Undefined for a token of the client credentials grant. */
  readonly accountId?: string
  readonly grantId?: string
  readonly scope?: string
  /** The thumbprint of the key whose possession the sender must prove (RFC 9449, 6). */
  readonly jkt?: string
  /** When the user signed in, in seconds since 1970; undefined without a user. */
  readonly authTime?: number
  /** Unix seconds. */
  readonly iat: number
  readonly exp: number
  readonly sid?: string
  readonly kind: string
}
