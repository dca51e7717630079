/** Requests that only administrators may make. */
import { ApiError } from '../../base/errors.ts'
import { hasScope, isAnonymous, type Principal } from '../../base/principal.ts'

interface AdministratorAction {
  /** The action, as an infinitive after "may": `explain requests`. */
  readonly action: string
  /** The scope with which first-party apps may do it for them. Omitted: no app may. */
  readonly appScope?: string
}

/**
 * Throws UNAUTHORIZED; FORBIDDEN for callers who are not administrators, for third-party apps, and for keys that are limited
 * to scopes, because no scope covers such requests; INSUFFICIENT_SCOPE for a first-party app without the scope.
 */
export function requireAdministrator(principal: Principal, { action, appScope }: AdministratorAction): void {
  const { access, app, grant } = principal
  if (isAnonymous(access)) throw new ApiError('UNAUTHORIZED')
  if (access.role !== 'admin') throw new ApiError('FORBIDDEN', `Only administrators may ${action}.`)
  if (access.thirdParty) throw new ApiError('FORBIDDEN', `Third-party apps may not ${action}.`)
  if (app === null || grant?.startsWith('key:')) {
    if (hasScope(access.scopes, '*')) return
    throw new ApiError('FORBIDDEN', 'This needs a credential that no scope limits.')
  }
  if (appScope === undefined) throw new ApiError('FORBIDDEN', `Apps may not ${action}.`)
  if (hasScope(access.scopes, appScope)) return
  throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope ${appScope}.`, { scope: appScope })
}
