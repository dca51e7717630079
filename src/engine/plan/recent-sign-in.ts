/**
 * Writes that grant access need a recent sign-in: a person at someone else's signed-in browser, or with its stolen cookie,
 * must not create credentials that outlive the session.
 */
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { WriteRule } from './run.ts'

export const recentSignInMs = 15 * 60 * 1000

/**
 * Throws FORBIDDEN for a session, or a first-party app's token, whose sign-in is older. Other credentials pass: programs cannot
 * sign in again.
 */
export function requireRecentSignIn({ signedInAt }: Principal): void {
  if (signedInAt === undefined || Date.now() - signedInAt < recentSignInMs) return
  throw new ApiError(
    'FORBIDDEN',
    'This grants access, and the last sign-in is more than 15 minutes ago: sign in again.',
  )
}

/** For creates and updates. Deletes revoke access, so they need no recent sign-in. */
export const recentSignInRule: WriteRule = ({ shape }, principal) => {
  if (shape.kind !== 'delete') requireRecentSignIn(principal)
  return undefined
}
