/** `/account/developer`: a user's OAuth apps and their secrets. */
import { ApiError } from '../../../base/errors.ts'
import { orderById, reversed } from '../../../engine/plan/order.ts'
import { itemShape, listShape, where } from '../../../engine/plan/system-plans.ts'
import { sentencesOf } from '../../../identity/accounts/self-service/scope-choices.ts'
import { type AppItem, appFields } from '../../../identity/server/clients/apps.ts'
import {
  appPage,
  deleteAppPage,
  developerPage,
  endSecretPage,
  type OwnApp,
  type OwnSecret,
} from '../../pages/account/developer.ts'
import { noteOf } from '../account.ts'
import {
  type OwnPageOptions,
  type RouteParts,
  type RouteReply,
  redirect,
  type Viewer,
  type Visit,
} from '../context.ts'
import { createAndShow, ownItems, postedForm, protectedForm, signInRedirect } from './self-service.ts'

const collection = 'oauth_apps'
const secretCollection = 'oauth_app_secrets'
const path = '/account/developer'
const appsOfUser = { ...listShape(collection, appFields, where('user_id')), sort: reversed(orderById) }
const byId = itemShape(collection, appFields)
const secretFields = ['id', 'prefix', 'created_at', 'expires_at']
const secretsOfApp = {
  ...listShape(secretCollection, secretFields, where('app_id')),
  sort: reversed(orderById),
}

const maxShown = 200
const maxSecretsShown = 50
/** An app's users are counted up to this number on its page. */
const maxCounted = 1000
const maxCountedInList = 100

interface SecretRow {
  readonly id: number
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
}

/** Throws NOT_FOUND if the user has no such app. */
export async function appRow(parts: RouteParts, viewer: Viewer, id: number): Promise<AppItem> {
  const row = await ownItems(parts, viewer).item<AppItem>(byId, id)
  // Administrators may read the apps of other users, which have no page here.
  if (row.user_id !== viewer.user.id) throw new ApiError('NOT_FOUND')
  return row
}

/** `maxUsers`: users who have connected the app are counted up to this number. */
async function toOwnApp({ base, server, own }: RouteParts, row: AppItem, maxUsers: number): Promise<OwnApp> {
  const { id, name, type, scopes, default_scopes: defaults } = row
  const users = await server.countUsers(row.client_id, maxUsers + 1)
  return {
    ...{ id, name, type },
    clientId: row.client_id,
    redirectUris: row.redirect_uris,
    may: scopes === null ? undefined : sentencesOf(base.model, scopes),
    logoUri: row.logo_uri ?? undefined,
    homepageUri: row.homepage_uri ?? undefined,
    policyUri: row.policy_uri ?? undefined,
    tosUri: row.tos_uri ?? undefined,
    firstParty: row.first_party,
    users: { count: Math.min(users, maxUsers), isMore: users > maxUsers },
    byDefault: defaults === null || defaults.length === 0 ? undefined : sentencesOf(base.model, defaults),
    tokenFormat: row.access_token_format ?? undefined,
    separator: row.scope_separator ?? undefined,
    requestsPerMinute: requestsPerMinute(row, own.apps),
    createdAt: Date.parse(row.created_at),
  }
}

/** An app's own limit holds unless all limits are off. */
function requestsPerMinute(
  row: AppItem,
  { requestsPerMinute: standard, hasLimits }: OwnPageOptions['apps'],
): number | undefined {
  if (row.first_party || !hasLimits) return undefined
  return row.requests_per_minute ?? (standard === 'off' ? undefined : standard)
}

async function secretsOf(parts: RouteParts, viewer: Viewer, appId: number): Promise<readonly OwnSecret[]> {
  const rows = await ownItems(parts, viewer).list<SecretRow>(secretsOfApp, maxSecretsShown, appId)
  return rows.map(({ id, prefix, created_at, expires_at }) => {
    const endsAt = expires_at === null ? undefined : Date.parse(expires_at)
    const ended = endsAt !== undefined && endsAt <= parts.base.now()
    return { id, prefix, endsAt, ended, createdAt: Date.parse(created_at) }
  })
}

export async function developerRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const rows = await ownItems(parts, viewer).list<AppItem>(appsOfUser, maxShown + 1, viewer.user.id)
  const apps = await Promise.all(rows.slice(0, maxShown).map(row => toOwnApp(parts, row, maxCountedInList)))
  const page = developerPage({
    menu: viewer.menu,
    apps,
    hasMore: rows.length > maxShown,
    note: noteOf(visit),
  })
  return { page, images: apps.map(({ logoUri }) => logoUri) }
}

/** The scopes of the sample request: all that the app may ask for, otherwise those that identify its users. */
function sampleScope({ scopes }: AppItem): string {
  return scopes === null || scopes.length === 0 ? 'openid profile email' : scopes.join(' ')
}

/** Creates a secret. Older secrets expire after the overlap. */
function newSecret(parts: RouteParts, visit: Visit, viewer: Viewer, id: number): Promise<RouteReply> {
  return createAndShow(parts, visit, viewer, secretCollection, { app_id: id }, () => `${path}/${id}`)
}

export async function appRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
): Promise<RouteReply> {
  const row = await appRow(parts, viewer, id)
  if (visit.method === 'POST') {
    const change = postedForm(parts, visit).text('change')
    if (change !== 'new-secret') throw new ApiError('BAD_REQUEST', 'The form names an unknown change.')
    return signInRedirect(parts, visit, viewer) ?? newSecret(parts, visit, viewer, id)
  }
  const shownSecrets =
    visit.method === 'HEAD' ? undefined : await parts.shownOnce.take(viewer.session, visit.path)
  const app = await toOwnApp(parts, row, maxCounted)
  const page = appPage(
    {
      ...{ menu: viewer.menu, app, note: noteOf(visit), issuer: parts.base.issuer },
      secrets: await secretsOf(parts, viewer, id),
      overlapSeconds: parts.own.secretOverlapSeconds,
      revealed: shownSecrets?.client_secret,
    },
    sampleScope(row),
  )
  return { page, images: [app.logoUri] }
}

export async function deleteAppRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
): Promise<RouteReply> {
  const app = await appRow(parts, viewer, id)
  const askFirst = () => ({ page: deleteAppPage(viewer.menu, app) })
  return protectedForm(parts, visit, viewer, askFirst, async () => {
    await ownItems(parts, viewer).remove(collection, id)
    return redirect(`${path}?done=app-deleted`)
  })
}

export async function endSecretRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
  secretId: number,
): Promise<RouteReply> {
  const app = await appRow(parts, viewer, id)
  const secrets = await secretsOf(parts, viewer, id)
  const secret = secrets.find(({ id: candidate }) => candidate === secretId)
  if (!secret) throw new ApiError('NOT_FOUND', 'The app does not have this secret.')
  if (visit.method !== 'POST') {
    const isLast = secrets.every(({ id: other, ended }) => other === secretId || ended)
    return { page: endSecretPage({ menu: viewer.menu, app, secret, isLast }) }
  }
  postedForm(parts, visit)
  await ownItems(parts, viewer).remove(secretCollection, secretId)
  return redirect(`${path}/${id}?done=secret-ended`)
}
