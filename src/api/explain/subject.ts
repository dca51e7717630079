/** The principal of the explained request. */

import type { Awaitable } from '../../base/awaitable.ts'
import { ApiError, type FieldFault } from '../../base/errors.ts'
import {
  type AppBudget,
  allowedScopes,
  anonymous,
  app as appAlone,
  type CallerApp,
  commonScopes,
  intersectScopes,
  type Principal,
  type Scopes,
  system,
  user,
} from '../../base/principal.ts'
import type { ItemShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import { itemShape, listShape, readItem, where } from '../../engine/plan/system-plans.ts'
import { canonicalEmail } from '../../model/fields/email.ts'
import type { Model } from '../../model/model.ts'
import type { ExplainRequest } from './request.ts'

interface SubjectUser {
  readonly id: number
  readonly role: string
  readonly disabled?: boolean
}

interface SubjectKey {
  readonly id: number
  readonly user_id: number
  readonly scopes: readonly string[] | null
  readonly expires_at: string | null
  readonly third_party: boolean | null
  /** The OAuth grant from which it descends. */
  readonly grant: string | null
}

/** The present rights of an app. */
interface PresentRights {
  readonly app: CallerApp | null
  readonly scopes: Scopes
  readonly firstParty: boolean
  readonly budget: AppBudget | undefined
}

export interface Subject {
  readonly principal: Principal
  /** Null if the viewer may not read it. */
  readonly role: string | null
  /** Why the user's credentials are refused; undefined if they are accepted. */
  readonly fault?: string
}

function notFound(field: string, message: string): ApiError {
  const details: readonly FieldFault[] = [{ field, code: 'not_found', message }]
  return new ApiError('VALIDATION_FAILED', message, { details })
}

export interface SubjectParts {
  readonly model: Model
  /** Runs plans without the rules of built-in collections. */
  readonly run: Run
  /** The app that has the grant; undefined if the grant or the app is gone. `hash`: as in `Principal.grant`. */
  readonly rightsOfGrant: (userId: number, hash: string) => Awaitable<PresentRights | undefined>
  readonly rightsOfApp: (clientId: string) => Awaitable<PresentRights | undefined>
  readonly now: () => number
}

/**
 * Throws VALIDATION_FAILED if the key does not exist, or no user that the viewer may read: an explanation must not reveal
 * that a user exists.
 */
export async function subjectOf(
  parts: SubjectParts,
  request: ExplainRequest,
  viewer: Principal = system,
): Promise<Subject> {
  const { as, key, scopes } = request
  if (request.app !== undefined) return subjectOfApp(parts, request.app, request, viewer)
  const { model, run, rightsOfGrant, now } = parts
  // Administrators may see everybody's keys.
  const apiKey = key === undefined ? undefined : await readItem<SubjectKey>(run, keyById, key)
  if (key !== undefined && apiKey === undefined) throw notFound('api_key', `There is no API key ${key}.`)
  const userReference = apiKey?.user_id ?? as
  const scopeLimit = scopes ?? apiKey?.scopes ?? undefined
  if (userReference === null) {
    if (scopeLimit === undefined) return { principal: anonymous('explain'), role: null }
    throw notFound('scopes', 'A request without a user has no scopes: omit them, or name a user or an app.')
  }
  const row = await userAs(model, run, userReference, viewer)
  const grant = apiKey?.grant ?? undefined
  const app = grant === undefined ? undefined : await rightsOfGrant(row.id, grant.slice('grant:'.length))
  // As in `identity/keys/api-key.ts`: credentials that a key creates end with it.
  const delegate = apiKey && {
    app: app?.app ?? null,
    grant: `key:${apiKey.id}`,
    thirdParty: apiKey.third_party === true || app?.firstParty === false,
    appBudget: app?.budget,
  }
  const expiresAt = apiKey?.expires_at ? Date.parse(apiKey.expires_at) : undefined
  const present = intersectScopes(allowedScopes(scopeLimit), app?.scopes ?? 'all')
  const principal = user(row.id, row.role, present, undefined, expiresAt, delegate)
  const role = await shownRole(run, row.id, viewer)
  return { principal, role, ...faultOf(row, apiKey, now(), grant !== undefined && app === undefined) }
}

/** A user who has allowed the app what it asks for, or the app without a user. */
async function subjectOfApp(
  { model, run, rightsOfApp, now }: SubjectParts,
  appId: number,
  { as, scopes }: ExplainRequest,
  viewer: Principal,
): Promise<Subject> {
  // Administrators may see everybody's apps.
  const item = await readItem<{ readonly client_id: string }>(run, appById, appId)
  const rights = item && (await rightsOfApp(item.client_id))
  if (item === undefined || rights === undefined) throw notFound('app', `There is no app ${appId}.`)
  // A token has scopes, even if its app may ask for any.
  const allowed = rights.scopes === 'all' ? new Set(model.scopes.keys()) : rights.scopes
  const present = scopes === undefined ? allowed : commonScopes(new Set(scopes), allowed)
  const { app, firstParty, budget } = rights
  const delegate = { app, grant: null, thirdParty: !firstParty, appBudget: budget }
  if (as === null) return { principal: appAlone(item.client_id, present, delegate), role: null }
  const row = await userAs(model, run, as, viewer)
  const budgetKey = `user:${row.id}:app:${item.client_id}`
  const principal = user(row.id, row.role, present, budgetKey, undefined, delegate)
  const role = await shownRole(run, row.id, viewer)
  return { principal, role, ...faultOf(row, undefined, now(), false) }
}

/** Throws VALIDATION_FAILED for a user whom the viewer may not read. */
async function userAs(
  model: Model,
  run: Run,
  reference: number | string,
  viewer: Principal,
): Promise<SubjectUser> {
  const id = await userId(run, reference, viewer)
  const row = id === undefined ? undefined : await userRow(model, run, id)
  if (row === undefined) throw notFound('as', `There is no user ${JSON.stringify(reference)}.`)
  return row
}

async function shownRole(run: Run, id: number, viewer: Principal): Promise<string | null> {
  return (await readAs<Pick<SubjectUser, 'role'>>(run, roleOf, id, viewer))?.role ?? null
}

function faultOf(
  { id, disabled }: SubjectUser,
  key: SubjectKey | undefined,
  now: number,
  isWithoutApp: boolean,
): Pick<Subject, 'fault'> {
  if (disabled) return { fault: `The account ${id} is disabled: none of its credentials is accepted.` }
  if (isWithoutApp)
    return { fault: `The app that created the API key ${key?.id} may no longer act for the user ${id}.` }
  if (!key?.expires_at || Date.parse(key.expires_at) > now) return {}
  return { fault: `The API key ${key.id} has expired: ${key.expires_at}.` }
}

const keyById = itemShape('api_keys', ['id', 'user_id', 'scopes', 'expires_at', 'third_party', 'grant'])
const appById = itemShape('oauth_apps', ['client_id'])
const idOf = itemShape('users', ['id'])
const roleOf = itemShape('users', ['role'])
const byEmail = listShape('users', ['id'], where('email'))

/** Undefined if the viewer may not read it. */
async function readAs<T>(run: Run, shape: ItemShape, id: number, viewer: Principal): Promise<T | undefined> {
  const answer = await unlessRefused(() => run.item({ shape, args: [id] }, viewer))
  return answer?.text ? JSON.parse(answer.text) : undefined
}

async function userId(
  run: Run,
  userReference: number | string,
  viewer: Principal,
): Promise<number | undefined> {
  if (typeof userReference === 'number')
    return (await readAs<{ readonly id: number }>(run, idOf, userReference, viewer))?.id
  // PostgreSQL refuses U+0000 in a text.
  if (userReference.includes('\0')) return undefined
  const answer = await unlessRefused(() =>
    run.list({ shape: byEmail, args: [0, 1, canonicalEmail(userReference)] }, viewer),
  )
  const [row]: readonly { readonly id: number }[] = JSON.parse(answer?.text ?? '[]')
  return row?.id
}

async function unlessRefused<A>(read: () => Awaitable<A>): Promise<A | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function userRow(model: Model, run: Run, id: number): Awaitable<SubjectUser | undefined> {
  const hasDisabled = model.collections.get('users')?.fields.has('disabled') === true
  return readItem<SubjectUser>(
    run,
    itemShape('users', ['id', 'role', ...(hasDisabled ? ['disabled'] : [])]),
    id,
  )
}
