/** Why a code or refresh token was refused: for the log, and for a client that has shown its secret (RFC 6749, 5.2). */
import type { Client, Context } from 'oidc-provider'
import { printable } from './oauth-error.ts'

/** The library's reasons, and our own, in words that say what became of it. */
const words: ReadonlyMap<string, string> = new Map([
  [
    'authorization code not found',
    'the code is not known: it was never issued, was revoked, or expired long ago',
  ],
  ['authorization code is expired', 'the code has expired'],
  ['authorization code already consumed', 'the code was used before: what was issued for it is revoked'],
  ['authorization code redirect_uri mismatch', 'redirect_uri is not the one of the authorization request'],
  [
    'code_verifier must be provided',
    'code_verifier is missing: the authorization request had a code_challenge',
  ],
  ['code_verifier does not match code_challenge', 'code_verifier does not match the code_challenge'],
  [
    'refresh token not found',
    'the refresh token is not known: it was never issued, was revoked, or expired long ago',
  ],
  ['refresh token is expired', 'the refresh token has expired'],
  ['refresh token already used', 'the refresh token was used before: what came of this consent is revoked'],
  ['device code not found', 'the device code is not known: it was never issued, or expired long ago'],
  ['device code already consumed', 'the device code was used before: what was issued for it is revoked'],
  ['it was used already', 'it was used before, or at the same time: what was issued for it is revoked'],
  ['client mismatch', 'it was issued to another client'],
  ['grant not found', 'the access that the user allowed was revoked'],
  ['grant is expired', 'the access that the user allowed has expired'],
])

const fallback = 'it is wrong, expired or revoked'

/** A refusal as whoever keeps the log hears it. */
export interface GrantRefusal {
  readonly clientId: string
  readonly reason: string
}

export type OnGrantRefusal = (refusal: GrantRefusal) => void

/** Of an `invalid_grant` of the library. */
export function reasonOf(error: { readonly error_detail?: string }): string {
  const { error_detail: detail = fallback } = error
  return words.get(detail) ?? printable(detail)
}

const reasons = new WeakMap<Context, string>()

/** Keeps why the request is refused; what is no `invalid_grant` tells it itself. */
export function noteReason(
  ctx: Context,
  error: { readonly error?: unknown; readonly error_detail?: string },
): void {
  if (error.error === 'invalid_grant') reasons.set(ctx, reasonOf(error))
}

/** The body of a refusal with its reason. Whoever has no secret could be anybody, and hears no more than before. */
export function withReason(
  ctx: Context,
  body: Record<string, unknown>,
  onRefusal: OnGrantRefusal,
): Record<string, unknown> {
  const reason = reasons.get(ctx)
  if (body.error !== 'invalid_grant' || reason === undefined) return body
  const client = ctx.oidc.entities.Client as Client | undefined
  onRefusal({ clientId: client?.clientId ?? '', reason })
  const isProven = client !== undefined && client.clientAuthMethod !== 'none'
  return isProven ? { ...body, error_description: reason } : body
}
