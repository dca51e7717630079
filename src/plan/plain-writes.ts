/** Decides which writes may share a transaction with others. */
import { ApiError } from '../errors.ts'
import type { Collection } from '../model/model.ts'
import { isAdministrator, type Principal } from '../principal.ts'
import type { WriteShape } from './plan.ts'
import { requireRecentSignIn } from './recent-sign-in.ts'
import type { CreateHooks } from './run.ts'

interface Planned {
  readonly collection: Collection
  readonly operation: 'read' | WriteShape['kind']
  /** The fields that it sets. */
  readonly sets: readonly string[]
  readonly principal: Principal
  readonly hooks: CreateHooks
}

/**
 * Throws BAD_REQUEST for writes that do more than change items: those of secrets and of accounts' addresses. Throws FORBIDDEN
 * when a session sets a role and its sign-in is not recent.
 */
export function requirePlain({ collection, operation, sets, principal, hooks }: Planned): void {
  const { name } = collection
  if (hooks.has(name)) throw alone(`Items of ${name} carry secrets: write each`)
  if (name !== 'users') return
  if (operation !== 'read' && sets.includes('role')) requireRecentSignIn(principal)
  if (!sets.includes('email')) return
  // An account that an administrator or the service creates is an ordinary item; any other new address is confirmed by mail.
  const { access } = principal
  if (operation === 'create' && (isAdministrator(access) || access.system)) return
  throw alone('A new e-mail address has to be confirmed: set each')
}

function alone(reason: string): ApiError {
  return new ApiError('BAD_REQUEST', `${reason} in a request of its own.`)
}
