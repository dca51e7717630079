/** The payload of the record of an access or refresh token. */
export interface StoredToken {
  readonly clientId: string
  /** Undefined for a token of the client credentials grant. */
  readonly accountId?: string
  readonly grantId?: string
  readonly scope?: string
  /** The thumbprint of the key whose possession the sender must prove (RFC 9449, 6). */
  readonly jkt?: string
  /** Unix seconds. */
  readonly iat: number
  readonly exp: number
  readonly sid?: string
  readonly kind: string
}
