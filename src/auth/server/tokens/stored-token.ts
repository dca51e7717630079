/** Tokens of oidc-provider: their form, and what is stored of one. */

/** The form that oidc-provider gives 256 random bits. */
export const opaqueToken = /^[A-Za-z0-9_-]{43}$/

/** The payload of the record of an access or refresh token. */
export interface StoredToken {
  readonly clientId: string
  /** Undefined for a token of the app by itself. */
  readonly accountId?: string
  readonly grantId?: string
  readonly scope?: string
  /** The thumbprint of the key that the sender must prove to have (RFC 9449, 6). */
  readonly jkt?: string
  /** Unix seconds. */
  readonly iat: number
  readonly exp: number
  readonly sid?: string
  readonly kind: string
}
