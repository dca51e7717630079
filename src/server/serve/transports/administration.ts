/** Administration of accounts through the API: `POST /api/v1/users/{id}/set_password`, `/sessions`, `/grants`. */

import {
  type ItemAction,
  type ItemActions,
  maxListed,
  type SubresourceHandler,
  type SubresourceHandlers,
} from '../../../api/rest/actions/action.ts'
import { ApiError } from '../../../base/errors.ts'
import { requireRecentSignIn } from '../../../engine/plan/recent-sign-in.ts'
import type { AdministrationParts } from '../../../identity/accounts/administration.ts'
import { requirePassword } from '../../../identity/accounts/sign-in/password-rules.ts'
import { findUser } from '../../../identity/accounts/users.ts'

const users = 'users'

/** Loaded with the first such request, to keep starts short. */
const load = () => import('../../../identity/accounts/administration.ts')

export function administrationActions(parts: AdministrationParts): ItemActions {
  const setPassword: ItemAction = async ({ id, input }, principal) => {
    requireRecentSignIn(principal)
    const user = await findUser(parts.run, id)
    if (user === undefined) throw new ApiError('NOT_FOUND')
    const newPassword = String(input?.['password'])
    requirePassword(newPassword, user.email)
    const { beginSettingPassword } = await load()
    const isOnlyWay = input?.['only_way'] === true
    const { serial, steps, finish } = await beginSettingPassword(parts, user, newPassword, isOnlyWay)
    return {
      serial,
      *steps() {
        yield* steps()
        return { result: { kind: 'nothing' } }
      },
      afterCommit: finish,
    }
  }
  return new Map([[users, new Map([['set_password', setPassword]])]])
}

const isoTime = (milliseconds: number) => new Date(milliseconds).toISOString()

export function accountSubresources(parts: AdministrationParts): SubresourceHandlers {
  const sessions: SubresourceHandler = {
    async list(userId) {
      const all = await (await load()).sessionsOf(parts, userId)
      const data = all.slice(0, maxListed).map(({ id, signedInAt, expiresAt, address, userAgent }) => ({
        ...{ id, signed_in_at: isoTime(signedInAt), expires_at: isoTime(expiresAt), address },
        browser: userAgent,
      }))
      return { data, total: all.length }
    },
    async end(userId, id) {
      const { beginSessionEnd, endSessions } = await load()
      if (id !== undefined) return beginSessionEnd(parts, userId, id)
      await endSessions(parts, userId)
      return []
    },
  }
  const grants: SubresourceHandler = {
    async list(userId) {
      const all = await (await load()).grantsOf(parts, userId)
      const data = all.slice(0, maxListed).map(({ clientId, scopes, at }) => ({
        ...{ client_id: clientId, scopes: [...scopes], allowed_at: isoTime(at) },
      }))
      return { data, total: all.length }
    },
    async end(userId, clientId) {
      const { beginRevocation, revokeGrants } = await load()
      if (clientId !== undefined) return beginRevocation(parts, userId, clientId)
      await revokeGrants(parts, userId)
      return []
    },
  }
  return new Map([[users, new Map(Object.entries({ sessions, grants }))]])
}
