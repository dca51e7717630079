/** Rules for creating and deleting apps and their secrets, besides those of the model. */

import { then } from '../../../base/awaitable.ts'
import { ApiError } from '../../../base/errors.ts'
import { hasScope, type Principal } from '../../../base/principal.ts'
import type { CreateHook, Creation, Run, WriteRule } from '../../../engine/plan/run.ts'
import { itemShape, readItem } from '../../../engine/plan/system-plans.ts'
import { newClientId } from '../secret.ts'
import { requireName } from './app-name.ts'
import { type AppSecrets, addFirst, newSecret, secretsPerAppLimit } from './app-secrets.ts'
import { appById, requireAddresses, requireWithin } from './apps.ts'

const maxApps = 500
const appLimit = {
  field: 'user_id',
  count: maxApps,
  refusal: `You may have at most ${maxApps} apps. Delete one first.`,
}

/** For creates of `oauth_apps`: a client id, and for a confidential app a secret. */
export function newAppHook(serviceName: string): CreateHook {
  return ({ name, type, redirect_uris: uris, scopes, default_scopes: defaults }): Creation => {
    requireName(name, serviceName)
    requireAddresses(uris)
    requireWithin(defaults, scopes)
    const computed = { client_id: newClientId() }
    if (type === 'public') return { computed, revealed: {}, limit: appLimit }
    const first = newSecret()
    return {
      computed,
      revealed: { client_secret: first.secret },
      limit: appLimit,
      afterwards: id => addFirst(id, first),
    }
  }
}

/** For creates of `oauth_app_secrets`: a new secret. */
export function newSecretHook(run: Run): CreateHook {
  return ({ app_id: id }, principal) =>
    then(appById(run, Number(id)), app => {
      // The guard refuses an app of another user as if it did not exist.
      const isOwn = app?.user_id === principal.userId
      if (isOwn && app?.type === 'public') throw new ApiError('CONFLICT', 'A public app has no secret.')
      if (isOwn && app?.first_party && principal.access.thirdParty) {
        throw new ApiError('FORBIDDEN', 'A third-party app cannot create secrets of a first-party app.')
      }
      const { secret, computed } = newSecret()
      return {
        computed,
        revealed: { client_secret: secret },
        limit: secretsPerAppLimit,
      }
    })
}

const visibleSecret = itemShape('oauth_app_secrets', ['id'])

/** Whether the guard allows the caller to delete the secret: users may read and delete those of their own apps. */
async function mayDelete(run: Run, id: number, principal: Principal): Promise<boolean> {
  const { userId, access } = principal
  if (userId === null || !hasScope(access.scopes, 'write:oauth_app_secret')) return false
  return (await readItem(run, visibleSecret, id, principal)) !== undefined
}

/** For creates and deletes of `oauth_app_secrets`. */
export function secretRule(run: Run, secrets: AppSecrets): WriteRule {
  return async ({ shape, args }, principal) => {
    if (shape.kind === 'delete') {
      const id = Number(args[shape.id])
      // The guard refuses other callers. They must not change anything before that.
      if (await mayDelete(run, id, principal)) await secrets.beforeDelete(id)
    }
    if (shape.kind !== 'create') return undefined
    const app = shape.set.find(({ field }) => field === 'app_id')
    // The secret exists, so the caller must get it. Expiries that are not stored yet are computed.
    return app && (() => secrets.settle(Number(args[app.param])).catch(() => undefined))
  }
}
