/** Which writes may share a transaction with others. */
import { ApiError } from '../../base/errors.ts'
import { isAdministrator, type Principal } from '../../base/principal.ts'
import type { Collection } from '../../model/model.ts'
import type { WriteShape } from './plan.ts'
import { requireRecentSignIn } from './recent-sign-in.ts'
import type { CreateHooks } from './run.ts'

interface PlannedWrite {
  readonly collection: Collection
  readonly operation: 'read' | WriteShape['kind']
  /** The fields that it sets. */
  readonly sets: readonly string[]
  readonly principal: Principal
  readonly hooks: CreateHooks
}

/**
 * Throws BAD_REQUEST for writes that do more than change items: they create secrets or change the addresses of accounts.
 * Throws FORBIDDEN when a session sets a role and its sign-in is not recent.
 */
export function requirePlain({ collection, operation, sets, principal, hooks }: PlannedWrite): void {
  const { name } = collection
  if (hooks.has(name)) throw separateRequest(`Items of ${name} contain secrets: write each`)
  if (name !== 'users') return
  if (operation !== 'read' && sets.includes('role')) requireRecentSignIn(principal)
  if (!sets.includes('email')) return
  // An account that an administrator or the service creates is an ordinary item; any other new address is confirmed by mail.
  const { access } = principal
  if (operation === 'create' && (isAdministrator(access) || access.system)) return
  throw separateRequest('A new e-mail address must be confirmed: set each')
}

function separateRequest(reason: string): ApiError {
  return new ApiError('BAD_REQUEST', `${reason} in a separate request.`)
}
