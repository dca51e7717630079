/** The caller as the model's code sees it. */
import type { Principal } from '../../base/principal.ts'
import type { LogicCaller } from './logic.ts'

/** Null for anonymous callers, for an app that has registered itself and has no user, and for the service itself. */
export function callerOf({ userId, access, app }: Principal): LogicCaller | null {
  const scopes: LogicCaller['scopes'] =
    access.scopes === 'all' ? 'all' : Object.freeze([...access.scopes].sort())
  const common = { scopes, thirdParty: access.thirdParty === true }
  if (userId !== null) return Object.freeze({ id: userId, role: access.role ?? '', app, ...common })
  return app && Object.freeze({ id: null, role: null, app, ...common })
}
