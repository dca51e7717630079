/** OAuth apps: as the authorization server knows them, and what making one takes. */
import { ApiError } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { type Awaitable, type ListAnswer, then } from '../../plan/answer.ts'
import type { Filter, ListShape, Selected } from '../../plan/plan.ts'
import type { CreateHook, Creation, Run, WriteRule } from '../../plan/run.ts'
import { hasScope, system } from '../../principal.ts'
import type { Records } from '../../records.ts'
import { newClientId, newClientSecret, secretHash, secretPrefix } from './secret.ts'

/** A secret of an app, as it is compared. */
export interface SecretHash {
  readonly hash: string
  /** Milliseconds since 1970; undefined: never. */
  readonly expiresAt: number | undefined
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
  readonly secret_hash: string | null
  readonly secrets: readonly { readonly hash: string; readonly created_at: string }[]
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
]

const MOST_SECRETS = 20

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
    window: { kind: 'page', offset: 1, limit: 2, total: false },
    select: [
      ...fieldsOf(fields),
      {
        kind: 'relation',
        key: 'secrets',
        relation: 'secrets',
        select: fieldsOf(['hash', 'created_at']),
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
  return then(run.list({ shape, args: [value, 0, 1, MOST_SECRETS] }, system), answer => rowsOf(answer)[0])
}

/**
 * The secrets that an app may use. A new one ends those before it after `overlap` seconds, so that the app can
 * be given it meanwhile.
 */
export function secretHashes(app: AppRow, overlap: number): readonly SecretHash[] {
  let expiresAt: number | undefined
  const hashes = app.secrets.map(({ hash, created_at }): SecretHash => {
    const one = { hash, expiresAt }
    expiresAt = Math.min(expiresAt ?? Number.POSITIVE_INFINITY, Date.parse(created_at) + overlap * 1000)
    return one
  })
  return app.secret_hash === null ? hashes : [...hashes, { hash: app.secret_hash, expiresAt }]
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

/** Apps, remembered while nothing about any of them has changed. `version`: see `Store.version`. */
export function createApps(run: Run, version: (collection: string) => number): Apps {
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
      return then(findBy(run, byClientId, clientId), app => {
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

/** For creates of `oauth_apps`: a client id, and for a confidential app a secret. */
export const newAppHook: CreateHook = ({ type, scopes, default_scopes: defaults }): Creation => {
  requireWithin(defaults, scopes)
  const clientId = newClientId()
  if (type === 'public') return { computed: { client_id: clientId }, revealed: {} }
  const secret = newClientSecret()
  return {
    computed: { client_id: clientId, secret_hash: secretHash(secret) },
    revealed: { client_secret: secret },
  }
}

/**
 * For writes of `oauth_apps`: holds changes to the same, also where only one of both is changed. Two changes at once
 * may still get past it; then a request without scopes is refused as one for a scope that the app may not ask for.
 */
export function appRule(run: Run): WriteRule {
  return ({ shape, args }, { userId }) => {
    if (shape.kind !== 'update') return
    const given = (field: string) => {
      const found = shape.set.find(assignment => assignment.field === field)
      return found && { value: args[found.param] ?? null }
    }
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

function requireWithin(
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

/** For creates of `oauth_app_secrets`: a new secret. */
export function newSecretHook(run: Run): CreateHook {
  return ({ app_id: id }, principal) =>
    then(findBy(run, byId, Number(id)), app => {
      // What is not the caller's own is refused by the guard, as if it did not exist.
      if (app?.type === 'public' && app.user_id === principal.userId) {
        throw new ApiError('CONFLICT', 'A public app has no secret.')
      }
      const secret = newClientSecret()
      return {
        computed: { hash: secretHash(secret), prefix: secretPrefix(secret) },
        revealed: { client_secret: secret },
      }
    })
}
