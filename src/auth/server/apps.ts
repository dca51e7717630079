/** OAuth apps: as the authorization server knows them, and what making one takes. */
import { ApiError } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { type Awaitable, type ListAnswer, then } from '../../plan/answer.ts'
import type { Filter, ListShape, Selected } from '../../plan/plan.ts'
import type { Run, WriteRule } from '../../plan/run.ts'
import { hasScope, system } from '../../principal.ts'
import type { Records } from '../../records.ts'
import { requireName } from './app-name.ts'

/** A secret of an app as it is stored. */
export interface AppSecretRow {
  readonly id: number
  readonly hash: string
  readonly prefix: string
  readonly created_at: string
  /** Null: not before another is made. */
  readonly expires_at: string | null
}

/** An app as it is stored. */
export interface AppRow {
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
  readonly client_id: string
  /** Where older versions keep the first secret. */
  readonly secret_hash: string | null
  /** The newest first. */
  readonly secrets: readonly AppSecretRow[]
  readonly created_at: string
}

const fields = [
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
  'client_id',
  'secret_hash',
  'created_at',
]

const maxSecrets = 20

function fieldsOf(names: readonly string[]): Selected[] {
  return names.map(field => ({ kind: 'field', key: field, field }))
}

/** Params: 0 what is compared, 1 offset, 2 limit, 3 the most secrets. */
function appsWhere(field: string): ListShape {
  const filter: Filter = { kind: 'compare', field, operator: 'eq', param: 0 }
  return {
    kind: 'list',
    collection: 'oauth_apps',
    within: undefined,
    filter,
    search: undefined,
    sort: [],
    window: { kind: 'page', offset: 1, limit: 2, total: 'none' },
    select: [
      ...fieldsOf(fields),
      {
        kind: 'relation',
        key: 'secrets',
        relation: 'secrets',
        select: fieldsOf(['id', 'hash', 'prefix', 'created_at', 'expires_at']),
        list: { filter: undefined, sort: [{ field: 'id', descending: true }], limit: 3 },
      },
    ],
  }
}

const byClientId = appsWhere('client_id')
const byId = appsWhere('id')

function rowsOf(answer: ListAnswer): readonly AppRow[] {
  return JSON.parse(answer.text ?? '[]')
}

function findBy(run: Run, shape: ListShape, value: JsonValue): Awaitable<AppRow | undefined> {
  return then(run.list({ shape, args: [value, 0, 1, maxSecrets] }, system), answer => rowsOf(answer)[0])
}

/** By the id of its row. */
export function appById(run: Run, id: number): Awaitable<AppRow | undefined> {
  return findBy(run, byId, id)
}

export interface Apps {
  /** By client id. */
  find(clientId: string): Awaitable<AppRow | undefined>
  /** Changes whenever an app or a secret does. */
  version(): number
}

const MAX_REMEMBERED = 10_000

/** RFC 6749, A.1; PostgreSQL refuses a text with U+0000. */
const isClientId = /^[\x20-\x7e]{1,100}$/

/**
 * Apps, remembered while nothing about any of them has changed. `version`: see `Store.version`; `settle`: for an app
 * as an older version stores it, before it is looked at.
 */
export function createApps(
  run: Run,
  version: (collection: string) => number,
  settle: (appId: number) => Promise<void> = async () => {},
): Apps {
  const remembered = new Map<string, AppRow | undefined>()
  let at = -1
  const current = () => version('oauth_apps') + version('oauth_app_secrets')
  return {
    version: current,
    find(clientId) {
      const now = current()
      if (now !== at) remembered.clear()
      at = now
      if (remembered.has(clientId)) return remembered.get(clientId)
      if (!isClientId.test(clientId)) return undefined
      const found = then(findBy(run, byClientId, clientId), app => {
        if (!app || app.secret_hash === null) return app
        // Where nothing can be written now, the app is taken as it is.
        const settled = settle(app.id).catch(() => undefined)
        return settled.then(() => findBy(run, byClientId, clientId))
      })
      return then(found, app => {
        if (remembered.size >= MAX_REMEMBERED) remembered.clear()
        if (at === now && app) remembered.set(clientId, app)
        return app
      })
    },
  }
}

/** What an app asks for when a request names no scope; one that has registered itself, all that it may. */
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

/** What an app may ask for now; `'all'`: any scope; undefined: there is no such app, registered by itself or not. */
export function scopesOfApp(
  apps: Apps,
  records: Records,
  clientId: string,
): Awaitable<ReadonlySet<string> | 'all' | undefined> {
  return then(apps.find(clientId), app => {
    if (app) return app.scopes === null ? 'all' : new Set(app.scopes)
    return then(records.get('Client', clientId), registered => {
      if (!registered) return undefined
      const { scope } = JSON.parse(registered.payload) as { scope?: string }
      return scope === undefined ? 'all' : new Set(scope.split(' '))
    })
  })
}

/**
 * For writes of `oauth_apps`: holds changes to what creates are held to, default scopes also where only one of both is changed. Two changes at once
 * may still get past it; then a request without scopes is refused as one for a scope that the app may not ask for.
 */
export function appRule(run: Run, serviceName: string): WriteRule {
  return ({ shape, args }, { userId }) => {
    if (shape.kind !== 'update') return
    const given = (field: string) => {
      const found = shape.set.find(assignment => assignment.field === field)
      return found && { value: args[found.param] ?? null }
    }
    requireName(given('name')?.value, serviceName)
    requireAddresses(given('redirect_uris')?.value)
    const [defaults, scopes] = [given('default_scopes'), given('scopes')]
    if (shape.mode === 'merge' && !defaults && !scopes) return
    return then(findBy(run, byId, Number(args[shape.id])), app => {
      // What is not the caller's own is refused by the guard, as if it did not exist.
      if (app?.user_id !== userId) return
      const kept = shape.mode === 'merge' ? app : undefined
      requireWithin(defaults ? defaults.value : kept?.default_scopes, scopes ? scopes.value : kept?.scopes)
    })
  }
}

/** VALIDATION_FAILED for what looks like an address and leads nowhere, e.g. to the host 1.2.3.999. */
export function requireAddresses(uris: JsonValue | undefined): void {
  if (!Array.isArray(uris)) return
  const wrong = uris.findIndex(uri => !URL.canParse(String(uri)))
  if (wrong === -1) return
  const message = `There can be no such address: ${String(uris[wrong])}.`
  throw new ApiError('VALIDATION_FAILED', message, {
    details: [{ field: `redirect_uris/${wrong}`, code: 'not_allowed', message }],
  })
}

/** VALIDATION_FAILED where an app asks by default for what it may not ask for. */
export function requireWithin(
  defaults: JsonValue | readonly string[] | undefined,
  scopes: JsonValue | readonly string[] | undefined,
): void {
  if (!Array.isArray(defaults) || !Array.isArray(scopes)) return
  const allowed = new Set<string>(scopes)
  const beyond = defaults.filter(scope => !hasScope(allowed, String(scope)))
  if (beyond.length === 0) return
  const message = `An app’s default scopes must be among its scopes: ${beyond.join(', ')} is not.`
  throw new ApiError('VALIDATION_FAILED', message, {
    details: [{ field: 'default_scopes', code: 'not_allowed', message }],
  })
}
