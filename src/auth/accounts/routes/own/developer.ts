/** `/account/developer`: a user's OAuth apps and their secrets. */
import type { Reply } from '../../../../call.ts'
import { ApiError } from '../../../../errors.ts'
import { orderById, reversed } from '../../../../plan/order.ts'
import { itemShape, listShape, where } from '../../../../plan/system-plans.ts'
import {
  appPage,
  deleteAppPage,
  developerPage,
  endSecretPage,
  type OwnApp,
  type OwnSecret,
} from '../../../pages/account/developer.ts'
import { noFaults } from '../../../pages/components/form.ts'
import { pageReply } from '../../../pages/frame/reply.ts'
import { type AppItem, appFields } from '../../../server/clients/apps.ts'
import { sentencesOf } from '../../own/scope-choices.ts'
import { noteOf } from '../account.ts'
import { type RouteParts, redirect, type SignedIn, type Visit } from '../context.ts'
import { confirmation, createShown, ownItems, postedForm } from '../own.ts'

const collection = 'oauth_apps'
const secretCollection = 'oauth_app_secrets'
const path = '/account/developer'
const ofUser = { ...listShape(collection, appFields, where('user_id')), sort: reversed(orderById) }
const byId = itemShape(collection, appFields)
const secretFields = ['id', 'prefix', 'created_at', 'expires_at']
const secretsOfApp = {
  ...listShape(secretCollection, secretFields, where('app_id')),
  sort: reversed(orderById),
}

const maxShown = 200
const maxSecretsShown = 50
/** The highest number of an app's users that its page shows. */
const maxCounted = 1000
const maxCountedInList = 100

interface SecretRow {
  readonly id: number
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
}

/** Throws NOT_FOUND if the user has no such app. */
export async function appRow(parts: RouteParts, who: SignedIn, id: number): Promise<AppItem> {
  const row = await ownItems(parts, who).item<AppItem>(byId, id)
  // Administrators may read the apps of other users, which have no page here.
  if (row.user_id !== who.user.id) throw new ApiError('NOT_FOUND')
  return row
}

/** `maxUsers`: users who have connected the app are counted up to this number. */
async function shown({ base, server }: RouteParts, row: AppItem, maxUsers: number): Promise<OwnApp> {
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
    createdAt: Date.parse(row.created_at),
  }
}

async function secretsOf(parts: RouteParts, who: SignedIn, appId: number): Promise<readonly OwnSecret[]> {
  const rows = await ownItems(parts, who).list<SecretRow>(secretsOfApp, maxSecretsShown, appId)
  return rows.map(({ id, prefix, created_at, expires_at }) => {
    const endsAt = expires_at === null ? undefined : Date.parse(expires_at)
    const ended = endsAt !== undefined && endsAt <= parts.base.now()
    return { id, prefix, endsAt, ended, createdAt: Date.parse(created_at) }
  })
}

export async function developerRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const rows = await ownItems(parts, who).list<AppItem>(ofUser, maxShown + 1, who.user.id)
  const apps = await Promise.all(rows.slice(0, maxShown).map(row => shown(parts, row, maxCountedInList)))
  const page = developerPage({ menu: who.menu, apps, more: rows.length > maxShown, note: noteOf(visit) })
  return pageReply(parts.theme, page, { images: apps.map(({ logoUri }) => logoUri) })
}

/** The scopes of the sample request: all that the app may ask for, or those that identify its users. */
function sampleScope({ scopes }: AppItem): string {
  return scopes === null || scopes.length === 0 ? 'openid profile email' : scopes.join(' ')
}

/** Creates a secret. Older secrets expire after the overlap. */
function newSecret(parts: RouteParts, visit: Visit, who: SignedIn, id: number): Promise<Reply> {
  return createShown(parts, visit, who, secretCollection, { app_id: id }, () => `${path}/${id}`)
}

export async function appRoute(parts: RouteParts, visit: Visit, who: SignedIn, id: number): Promise<Reply> {
  const row = await appRow(parts, who, id)
  if (visit.method === 'POST') {
    const change = postedForm(parts, visit).text('change')
    if (change !== 'new-secret') throw new ApiError('BAD_REQUEST', 'There is no such change.')
    return confirmation(parts, visit, who) ?? newSecret(parts, visit, who, id)
  }
  const taken = visit.method === 'HEAD' ? undefined : await parts.shownOnce.take(who.session, visit.path)
  const app = await shown(parts, row, maxCounted)
  const page = appPage(
    {
      ...{ menu: who.menu, app, note: noteOf(visit), issuer: parts.base.issuer },
      secrets: await secretsOf(parts, who, id),
      overlapSeconds: parts.own.secretOverlapSeconds,
      revealed: taken?.client_secret,
    },
    sampleScope(row),
  )
  return pageReply(parts.theme, page, { images: [app.logoUri] })
}

export async function deleteAppRoute(
  parts: RouteParts,
  visit: Visit,
  who: SignedIn,
  id: number,
): Promise<Reply> {
  const app = await appRow(parts, who, id)
  const asked = confirmation(parts, visit, who)
  if (visit.method !== 'POST') return asked ?? pageReply(parts.theme, deleteAppPage(who.menu, app, noFaults))
  postedForm(parts, visit)
  if (asked) return asked
  await ownItems(parts, who).remove(collection, id)
  return redirect(`${path}?done=app-deleted`)
}

export async function endSecretRoute(
  parts: RouteParts,
  visit: Visit,
  who: SignedIn,
  id: number,
  secretId: number,
): Promise<Reply> {
  const app = await appRow(parts, who, id)
  const secrets = await secretsOf(parts, who, id)
  const secret = secrets.find(one => one.id === secretId)
  if (!secret) throw new ApiError('NOT_FOUND', 'The app has no such secret.')
  if (visit.method !== 'POST') {
    const isLast = secrets.every(({ id: other, ended }) => other === secretId || ended)
    return pageReply(parts.theme, endSecretPage({ menu: who.menu, app, secret, isLast, faults: noFaults }))
  }
  postedForm(parts, visit)
  await ownItems(parts, who).remove(secretCollection, secretId)
  return redirect(`${path}/${id}?done=secret-ended`)
}
