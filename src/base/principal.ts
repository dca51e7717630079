/** The caller. Every credential becomes a `Principal`; later stages do not know which credential it was. */

import { Cache, CacheBound } from './cache.ts'
import type { EpochMs } from './epoch-ms.ts'

/** `'all'`: no scope limits what the user may do. Otherwise exactly the named scopes. */
export type Scopes = 'all' | ReadonlySet<string>

/**
 * The part of a principal by which permission is decided without looking at a row. Interned: principals with equal
 * parts share one object, so a plan's guarded form is cached per access class.
 */
export interface AccessClass {
  readonly key: string
  readonly signedIn: boolean
  readonly role: string | null
  readonly scopes: Scopes
  /** Portico itself, to which no rule, scope or field visibility applies. */
  readonly system: boolean
  /** True if the user acts through an app that is not `first_party`, or through an API key that such an app has created. */
  readonly thirdParty?: true
  /** With `system`: the product's own logic, which cannot read internal and write-only fields. */
  readonly logic?: true
}

/** The claims of a token that rules of the model name. */
export interface Claims {
  /** Equal only for equal claims. */
  readonly key: string
  readonly values: ReadonlyMap<string, string | number | boolean>
}

/** What an app may send for all of its users together. */
export interface AppBudget {
  /** E.g. `users-of-app:5f0c…`. */
  readonly key: string
  /** Requests per window; undefined: as many as the service's settings say. */
  readonly limit: number | undefined
}

/** An app that makes requests. */
export interface CallerApp {
  /** Its id in `oauth_apps`. */
  readonly id: number
  readonly name: string
}

/** On whose behalf the product's own logic writes as the service. */
export interface Actor {
  readonly userId: number | null
  readonly appId: number | null
  /** The action that writes. */
  readonly via: string
}

export interface Principal {
  /** The user behind the credential; null when nobody is signed in. */
  readonly userId: number | null
  readonly access: AccessClass
  /** The rate budget that a request draws from, e.g. `user:7` or `address:192.0.2.1`. */
  readonly budgetKey: string
  /** When the credential expires; Infinity: it does not. */
  readonly expiresAt: EpochMs
  /**
   * The app that makes the request, or from which its API key descends; null without one, and for an app that has registered
   * itself.
   */
  readonly app: CallerApp | null
  /** With a third-party app, or an API key that descends from one: a request draws from this budget as well. */
  readonly appBudget?: AppBudget | undefined
  /**
   * Everything that was created with the credential ends with this: `grant:` and the hash of an OAuth grant's id
   * (`grantHash`), or `key:` and the id of an API key. Null if it ends with neither, e.g. for a client-credentials app.
   */
  readonly grant: string | null
  /** Claims of a trusted issuer's token. */
  readonly claims?: Claims | undefined
  /**
   * When the user signed in to the session of the request, or to the one in which a first-party app got its token.
   * Undefined for other credentials: a sign-in, or a consent after one, allowed what they may do.
   */
  readonly signedInAt?: EpochMs
  /** With `access.system`: who called the action that acts as the service. */
  readonly actor?: Actor | undefined
  /** How many reactions and jobs, each started by the one before, led to this call. */
  readonly depth?: number
}

/** The app or key through which a user acts. */
export interface Delegate extends Pick<Principal, 'app' | 'grant' | 'appBudget'> {
  /** See `AccessClass`. */
  readonly thirdParty?: boolean | undefined
}

const noDelegate: Delegate = { app: null, grant: null }

const maxInterned = 10_000
const interned = new Cache<string, AccessClass>(new CacheBound('access_classes', maxInterned))

function internAccess(
  role: string | null,
  scopes: Scopes,
  signedIn: boolean,
  thirdParty = false,
): AccessClass {
  const scopeList = scopes === 'all' ? '*' : [...scopes].sort().join(' ')
  const key = JSON.stringify([signedIn, role, scopeList, ...(thirdParty ? ['third party'] : [])])
  const existing = interned.get(key)
  if (existing) return existing
  const firstParty = { key, signedIn, role, scopes, system: false }
  const access: AccessClass = Object.freeze(thirdParty ? { ...firstParty, thirdParty } : firstParty)
  interned.set(key, access)
  return access
}

const never = Number.POSITIVE_INFINITY

const anonymousAccess = internAccess(null, 'all', false)

/** An anonymous caller at a client address. */
export function anonymous(address: string): Principal {
  const budgetKey = `address:${address}`
  return { userId: null, access: anonymousAccess, budgetKey, expiresAt: never, app: null, grant: null }
}

/** A signed-in user, through a credential that carries `scopes`. `budgetKey` defaults to the user's own. */
export function user(
  id: number,
  role: string,
  scopes: Scopes,
  budgetKey = `user:${id}`,
  expiresAt = never,
  { app, grant, appBudget, thirdParty }: Delegate = noDelegate,
): Principal {
  const access = internAccess(role, scopes, true, thirdParty)
  return { userId: id, access, budgetKey, expiresAt, app, grant, ...(appBudget && { appBudget }) }
}

/** A client-credentials app (RFC 6749, 4.4): without a user, so rules that need one refuse it. */
export function app(
  clientId: string,
  scopes: ReadonlySet<string>,
  { app: named, grant, appBudget, thirdParty }: Delegate = noDelegate,
): Principal {
  return {
    userId: null,
    access: internAccess(null, scopes, false, thirdParty),
    budgetKey: `app:${clientId}`,
    expiresAt: never,
    app: named,
    grant,
    ...(appBudget && { appBudget }),
  }
}

/** The same as `administrators` in the rules of built-in collections: not through a third-party app. */
export function isAdministrator({ role, thirdParty }: AccessClass): boolean {
  return role === 'admin' && !thirdParty
}

/** Whether the request had no credential. A client-credentials app is not signed in either, but has scopes. */
export function isAnonymous({ signedIn, scopes }: AccessClass): boolean {
  return !signedIn && scopes === 'all'
}

/** Portico itself, for its own records. No request can act as it. */
export const system: Principal = Object.freeze({
  userId: null,
  access: Object.freeze({ key: 'system', signedIn: true, role: null, scopes: 'all', system: true }),
  budgetKey: 'system',
  expiresAt: never,
  app: null,
  grant: null,
})

/** Whether Portico itself acts, and not the product's own logic. */
export function isPortico({ access }: Pick<Principal, 'access'>): boolean {
  return access.system && access.logic !== true
}

/** The product's own logic, as the service: no rule and no scope applies, and its changes have no actor. */
export const service: Principal = Object.freeze({
  ...system,
  access: Object.freeze({ ...system.access, key: 'service', logic: true }),
  budgetKey: 'service',
})

/** Who makes the changes of a principal. Without `via`, nothing acts on their behalf. */
export function actorOf({
  userId,
  app,
  actor,
}: Pick<Principal, 'userId' | 'app' | 'actor'>): Omit<Actor, 'via'> & { readonly via?: string } {
  return actor ?? { userId, appId: app?.id ?? null }
}

/**
 * The service as the model's code for `caller` uses it. `action`: the one whose code it is, if any: then the caller is the actor
 * of the changes.
 */
export function serviceFor(caller: Principal, action?: string): Principal {
  const { depth } = caller
  const { userId, appId } = actorOf(caller)
  const isActor = action !== undefined && (userId ?? appId) !== null
  return {
    ...service,
    ...(depth !== undefined && { depth }),
    ...(isActor && { actor: { userId, appId, via: action } }),
  }
}

/**
 * The same user through the same app without a limit by scopes, for operations that a single scope allows as a whole. An app
 * by itself keeps its scopes.
 */
export function withoutScopes(principal: Principal): Principal {
  const { signedIn, role, scopes, system: isSystem, thirdParty } = principal.access
  if (isSystem || scopes === 'all' || !signedIn) return principal
  return { ...principal, access: internAccess(role, 'all', signedIn, thirdParty) }
}

/** The scopes of a list, e.g. of an API key; `'all'` without a list, or if it has `*`. */
export function allowedScopes(scopes: readonly string[] | null | undefined): Scopes {
  return !scopes || scopes.includes('*') ? 'all' : new Set(scopes)
}

/** Whether the scopes contain `scope`; `write:x` covers `read:x`, `*` covers everything. */
export function hasScope(scopes: Scopes, scope: string): boolean {
  if (scopes === 'all' || scopes.has(scope) || scopes.has('*')) return true
  return scope.startsWith('read:') && scopes.has(`write:${scope.slice('read:'.length)}`)
}

/** The scopes in a text, separated by spaces (RFC 6749, 3.3). */
export function scopeSet(text: string | undefined): ReadonlySet<string> {
  return new Set((text ?? '').split(' ').filter(scope => scope !== ''))
}

/** The scopes of `granted` that `allowed` covers; for a write scope that it does not cover, the read scope if it covers that. */
export function commonScopes(granted: ReadonlySet<string>, allowed: ReadonlySet<string>): Set<string> {
  const common = new Set<string>()
  for (const scope of granted) {
    const readScope = scope.startsWith('write:') ? `read:${scope.slice('write:'.length)}` : scope
    if (hasScope(allowed, scope)) common.add(scope)
    else if (hasScope(allowed, readScope)) common.add(readScope)
  }
  return common
}

/** The scopes that are in both. */
export function intersectScopes(one: Scopes, other: Scopes): Scopes {
  if (other === 'all') return one
  return one === 'all' ? other : commonScopes(one, other)
}
