/** OAuth apps as the authorization server reads them, and the rules for changing one. */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import { Cache, CacheBound } from '../../../base/cache.ts'
import { ApiError } from '../../../base/errors.ts'
import {
  type AppBudget,
  type CallerApp,
  hasScope,
  isAdministrator,
  scopeSet,
} from '../../../base/principal.ts'
import type { Records } from '../../../base/records.ts'
import { orderById, reversed } from '../../../engine/plan/order.ts'
import type { ListShape, Selected } from '../../../engine/plan/plan.ts'
import type { Run, WriteRule } from '../../../engine/plan/run.ts'
import { listShape, readFirst, selected, where } from '../../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { requireName } from './app-name.ts'

/** A row of `oauth_app_secrets`. */
export interface AppSecretRow {
  readonly id: number
  readonly hash: string
  readonly prefix: string
  readonly created_at: string
  /** Null: it does not expire before a newer one is created. */
  readonly expires_at: string | null
}

/** An item of `oauth_apps`. */
export interface AppItem {
  readonly id: number
  readonly user_id: number
  readonly name: string
  readonly type: 'confidential' | 'public'
  readonly redirect_uris: readonly string[]
  readonly scopes: readonly string[] | null
  readonly default_scopes: readonly string[] | null
  readonly scope_separator: ',' | ' ' | null
  readonly access_token_format: 'opaque' | 'jwt' | null
  readonly logo_uri: string | null
  readonly homepage_uri: string | null
  readonly policy_uri: string | null
  readonly tos_uri: string | null
  readonly first_party: boolean
  readonly requests_per_minute: number | null
  readonly client_id: string
  readonly created_at: string
}

export const appFields: readonly (keyof AppItem)[] = [
  'id',
  'user_id',
  'name',
  'type',
  'redirect_uris',
  'scopes',
  'default_scopes',
  'scope_separator',
  'access_token_format',
  'logo_uri',
  'homepage_uri',
  'policy_uri',
  'tos_uri',
  'first_party',
  'requests_per_minute',
  'client_id',
  'created_at',
]

/** An app with its secrets. */
export interface AppRow extends AppItem {
  /** The newest first. */
  readonly secrets: readonly AppSecretRow[]
}

/** How many secrets an app may have, including expired ones. */
export const maxSecrets = 50

/** Own arguments: the value compared, and the maximum number of secrets. */
function appsWhere(field: string): ListShape {
  const secrets: Selected = {
    kind: 'relation',
    key: 'secrets',
    relation: 'secrets',
    select: selected(['id', 'hash', 'prefix', 'created_at', 'expires_at']),
    list: { filter: undefined, sort: reversed(orderById), limit: 3 },
  }
  return listShape('oauth_apps', [...appFields, secrets], where(field))
}

const byClientId = appsWhere('client_id')
const byId = appsWhere('id')

function findBy(run: Run, shape: ListShape, value: JsonValue): Awaitable<AppRow | undefined> {
  return readFirst(run, shape, value, maxSecrets)
}

/** By the id of its row. */
export function appById(run: Run, id: number): Awaitable<AppRow | undefined> {
  return findBy(run, byId, id)
}

export interface Apps {
  /** By client id. */
  find(clientId: string): Awaitable<AppRow | undefined>
  /** Grows with every write of an app or secret. */
  version(): number
}

const maxCachedApps = 10_000

/** RFC 6749, A.1; PostgreSQL refuses a text with U+0000. */
const clientIdPattern = /^[\x20-\x7e]{1,100}$/

/** Apps, cached while no app and no secret has changed. `version`: see `Store.version`. */
export function createApps(run: Run, version: (collection: string) => number): Apps {
  const cached = new Cache<string, AppRow>(new CacheBound('apps', maxCachedApps))
  const currentVersion = () => version('oauth_apps') + version('oauth_app_secrets')
  return {
    version: currentVersion,
    find(clientId) {
      const stamp = currentVersion()
      const cachedApp = cached.get(clientId, stamp)
      if (cachedApp !== undefined) return cachedApp
      if (!clientIdPattern.test(clientId)) return undefined
      return then(findBy(run, byClientId, clientId), app => {
        if (app) cached.set(clientId, app, 1, stamp)
        return app
      })
    },
  }
}

/** The scopes of a request that names none: the app's default scopes, or all scopes of a dynamically registered app. */
export function defaultScopesOf(
  apps: Apps,
  records: Records,
  clientId: string,
): Awaitable<readonly string[]> {
  return then(apps.find(clientId), app => {
    if (app) return app.default_scopes ?? []
    return then(records.get('Client', clientId), registered => {
      const { scope }: { scope?: string } = registered ? JSON.parse(registered.payload) : {}
      return scope?.split(' ') ?? []
    })
  })
}

/** The properties of an app on which the rights of its tokens depend. */
export interface AppRights {
  /** Null for a dynamically registered app. */
  readonly app: CallerApp | null
  /** The scopes that it may request now; `'all'`: any. */
  readonly scopes: ReadonlySet<string> | 'all'
  /** Whether it is the service's own. */
  readonly firstParty: boolean
  /** For all of its users together; undefined for the service's own apps. */
  readonly budget: AppBudget | undefined
}

function budgetOf(clientId: string, limit?: number | null): AppBudget {
  return { key: `users-of-app:${clientId}`, limit: limit ?? undefined }
}

/** Undefined if there is no such app. */
export function rightsOfApp(
  apps: Apps,
  records: Records,
  clientId: string,
): Awaitable<AppRights | undefined> {
  return then(apps.find(clientId), app => {
    if (app) {
      const scopes = app.scopes === null ? 'all' : new Set(app.scopes)
      const budget = app.first_party ? undefined : budgetOf(clientId, app.requests_per_minute)
      const named = Object.freeze({ id: app.id, name: app.name })
      return { app: named, scopes, firstParty: app.first_party, budget }
    }
    return then(records.get('Client', clientId), registered => {
      if (!registered) return undefined
      const { scope } = JSON.parse(registered.payload) as { scope?: string }
      const scopes = scope === undefined ? 'all' : scopeSet(scope)
      return { app: null, scopes, firstParty: false, budget: budgetOf(clientId) }
    })
  })
}

/**
 * For writes of `oauth_apps`: the rules for creates also apply to updates. Default scopes must be among the scopes even if
 * an update changes only one of the two. Two parallel updates may still break this; then requests without a scope are
 * refused.
 */
export function appRule(run: Run, serviceName: string): WriteRule {
  return ({ shape, args }, { userId, access }) => {
    if (shape.kind !== 'update') return undefined
    const newValue = (field: string) => {
      const assignment = shape.set.find(candidate => candidate.field === field)
      return assignment && { value: args[assignment.param] ?? null }
    }
    requireName(newValue('name')?.value, serviceName)
    requireAddresses(newValue('redirect_uris')?.value)
    const [defaults, scopes] = [newValue('default_scopes'), newValue('scopes')]
    const ownerField = shape.set.find(({ field }) => !setByAdministrators.has(field))
    const keepsScopes = shape.mode === 'merge' && !defaults && !scopes
    if (keepsScopes && !(ownerField && isAdministrator(access))) return undefined
    return then(findBy(run, byId, Number(args[shape.id])), app => {
      if (app?.user_id !== userId) {
        // The guard refuses an app of another user as if it did not exist, except to administrators.
        if (app && ownerField && isAdministrator(access)) throw ownerRequired(ownerField.field)
        return undefined
      }
      const previous = shape.mode === 'merge' ? app : undefined
      requireWithin(
        defaults ? defaults.value : previous?.default_scopes,
        scopes ? scopes.value : previous?.scopes,
      )
      return undefined
    })
  }
}

/** The fields of any app that administrators may change. */
const setByAdministrators: ReadonlySet<string> = new Set(['first_party', 'requests_per_minute'])

function ownerRequired(field: string): ApiError {
  const message = `Only the owner of an app can change its \`${field}\`: administrators can change only \`first_party\` and \`requests_per_minute\`.`
  return new ApiError('FORBIDDEN', message, { details: [{ field, code: 'forbidden', message }] })
}

/** Throws VALIDATION_FAILED for a text that matches the pattern but is not a URL, e.g. with the host 1.2.3.999. */
export function requireAddresses(uris: JsonValue | undefined): void {
  if (!Array.isArray(uris)) return
  const index = uris.findIndex(uri => !URL.canParse(String(uri)))
  if (index === -1) return
  const message = `This is not a valid address: ${String(uris[index])}.`
  throw new ApiError('VALIDATION_FAILED', message, {
    details: [{ field: `redirect_uris/${index}`, code: 'not_allowed', message }],
  })
}

/** Throws VALIDATION_FAILED if default scopes are not among the scopes. */
export function requireWithin(
  defaults: JsonValue | readonly string[] | undefined,
  scopes: JsonValue | readonly string[] | undefined,
): void {
  if (!Array.isArray(defaults) || !Array.isArray(scopes)) return
  const allowed = new Set<string>(scopes)
  const excess = defaults.filter(scope => !hasScope(allowed, String(scope)))
  if (excess.length === 0) return
  const message = `An app’s default scopes must be among its scopes: not among them: ${excess.join(', ')}.`
  throw new ApiError('VALIDATION_FAILED', message, {
    details: [{ field: 'default_scopes', code: 'not_allowed', message }],
  })
}
