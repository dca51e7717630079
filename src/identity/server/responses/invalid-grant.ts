/** Why a code or refresh token was refused: for the log, and for clients that have authenticated (RFC 6749, 5.2). */
import type { Client, Context } from 'oidc-provider'
import { currentState } from '../provider/request-state.ts'
import { quotableAscii } from './error-response.ts'

/** By the error details of oidc-provider and the adapter. */
const reasons: ReadonlyMap<string, string> = new Map([
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
  [
    'unsupported code_challenge_method',
    'the authorization request had no code_challenge for this code_verifier',
  ],
  ['code_verifier does not match code_challenge', 'code_verifier does not match the code_challenge'],
  [
    'refresh token not found',
    'the refresh token is not known: it was never issued, was revoked, or expired long ago',
  ],
  ['refresh token is expired', 'the refresh token has expired'],
  [
    'refresh token already used',
    'the refresh token was used before: everything issued by this consent is revoked',
  ],
  ['device code not found', 'the device code is not known: it was never issued, or expired long ago'],
  ['device code already consumed', 'the device code was used before: what was issued for it is revoked'],
  ['it was used already', 'it was used before, or at the same time: what was issued for it is revoked'],
  ['client mismatch', 'it was issued to another client'],
  ['grant not found', 'the access that the user allowed was revoked'],
  ['grant is expired', 'the access that the user allowed has expired'],
])

const fallback = 'it is wrong, expired or revoked'

/** A refusal, for the log. */
export interface GrantRefusal {
  readonly clientId: string
  readonly reason: string
}

export type OnGrantRefusal = (refusal: GrantRefusal) => void

function reasonOf(detail = fallback): string {
  return reasons.get(detail) ?? quotableAscii(detail)
}

/** Stores why the request is refused. Errors other than `invalid_grant` say it themselves. */
export function noteInvalidGrant(error: { readonly error?: unknown; readonly error_detail?: string }): void {
  const state = currentState()
  if (state && error.error === 'invalid_grant') state.invalidGrantReason = reasonOf(error.error_detail)
}

/**
 * The body of the error with its reason. A client that has not authenticated could be anybody, and gets only the text of
 * oidc-provider.
 */
export function withReason(
  ctx: Context,
  body: Record<string, unknown>,
  onRefusal: OnGrantRefusal,
): Record<string, unknown> {
  const reason = currentState()?.invalidGrantReason
  if (body.error !== 'invalid_grant' || reason === undefined) return body
  const client = ctx.oidc.entities.Client as Client | undefined
  onRefusal({ clientId: client?.clientId ?? '', reason })
  const isAuthenticated = client !== undefined && client.clientAuthMethod !== 'none'
  return isAuthenticated ? { ...body, error_description: reason } : body
}
