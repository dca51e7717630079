/** Rules for creating and deleting apps and their secrets, besides those of the model. */
import { ApiError } from '../../../errors.ts'
import { then } from '../../../plan/answer.ts'
import type { CreateHook, Creation, Run, WriteRule } from '../../../plan/run.ts'
import { itemShape, readItem } from '../../../plan/system-plans.ts'
import { hasScope, type Principal } from '../../../principal.ts'
import { newClientId } from '../secret.ts'
import { requireName } from './app-name.ts'
import { type AppSecrets, addFirst, mostSecrets, newSecret } from './app-secrets.ts'
import { appById, requireAddresses, requireWithin } from './apps.ts'

const maxApps = 500
const mostApps = {
  field: 'user_id',
  count: maxApps,
  refusal: `You may have ${maxApps} apps, and have as many: delete one first.`,
}

/** For creates of `oauth_apps`: a client id, and for a confidential app a secret. */
export function newAppHook(serviceName: string): CreateHook {
  return ({ name, type, redirect_uris: uris, scopes, default_scopes: defaults }): Creation => {
    requireName(name, serviceName)
    requireAddresses(uris)
    requireWithin(defaults, scopes)
    const computed = { client_id: newClientId() }
    if (type === 'public') return { computed, revealed: {}, most: mostApps }
    const first = newSecret()
    return {
      computed,
      revealed: { client_secret: first.secret },
      most: mostApps,
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
        throw new ApiError('FORBIDDEN', 'No third-party app makes secrets of a first-party app.')
      }
      const { secret, computed } = newSecret()
      return {
        computed,
        revealed: { client_secret: secret },
        most: mostSecrets,
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
      // Other callers are refused by the guard, and must not change anything before.
      if (await mayDelete(run, id, principal)) await secrets.beforeDelete(id)
    }
    if (shape.kind !== 'create') return undefined
    const app = shape.set.find(({ field }) => field === 'app_id')
    // The secret exists, so the caller must get it. Expiries that are not stored yet are computed.
    return app && (() => secrets.settle(Number(args[app.param])).catch(() => undefined))
  }
}
