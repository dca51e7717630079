/** Requests that only administrators may make. */
import { ApiError } from '../errors.ts'
import { hasScope, isAnonymous, type Principal } from '../principal.ts'

interface Administrators {
  /** What they may do, after "may": `explain requests`. */
  readonly act: string
  /** The scope by which first-party apps may do it for them; left out: no app may. */
  readonly appScope?: string
}

/**
 * Throws UNAUTHORIZED, and FORBIDDEN for whoever is no administrator, for a key that scopes limit, because no scope names
 * such requests, and for the apps of others. INSUFFICIENT_SCOPE for a first-party app without the scope.
 */
export function requireAdministrator(principal: Principal, { act, appScope }: Administrators): void {
  const { access, appId } = principal
  if (isAnonymous(access)) throw new ApiError('UNAUTHORIZED')
  if (access.role !== 'admin') throw new ApiError('FORBIDDEN', `Only administrators may ${act}.`)
  if (access.thirdParty) throw new ApiError('FORBIDDEN', `Third-party apps may not ${act}.`)
  if (appId === null) {
    if (hasScope(access.scopes, '*')) return
    throw new ApiError('FORBIDDEN', 'This needs a credential that no scope limits.')
  }
  if (appScope === undefined) throw new ApiError('FORBIDDEN', `Apps may not ${act}.`)
  if (hasScope(access.scopes, appScope)) return
  throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope ${appScope}.`, { scope: appScope })
}
