/**
 * How recent a sign-in must be for what gives out access: whoever finds a signed-in browser, or has stolen its cookie, must
 * not make credentials that outlive the session.
 */
import { ApiError } from '../errors.ts'
import type { WriteRule } from '../plan/run.ts'
import type { Principal } from '../principal.ts'

/** In milliseconds. */
export const recentSignInMs = 15 * 60 * 1000

/** Throws FORBIDDEN for a session whose sign-in is older. Other credentials pass: programs cannot sign in again. */
export function requireRecentSignIn({ signedInAt }: Principal, nowMs = Date.now()): void {
  if (signedInAt === undefined || nowMs - signedInAt < recentSignInMs) return
  throw new ApiError(
    'FORBIDDEN',
    'This gives out access, and the last sign-in is more than 15 minutes ago: sign in again.',
  )
}

/** For creates and updates. What takes access away needs no new sign-in. */
export const recentSignInRule: WriteRule = ({ shape }, principal) => {
  if (shape.kind !== 'delete') requireRecentSignIn(principal)
  return undefined
}
