/** `/account/keys`: a user's API keys. */

import { ApiError } from '../../../base/errors.ts'
import type { Text } from '../../../base/html.ts'
import { type AccessClass, allowedScopes, hasScope } from '../../../base/principal.ts'
import { staticRule } from '../../../engine/plan/guard/guard.ts'
import { orderById, reversed } from '../../../engine/plan/order.ts'
import { itemShape, listShape, where } from '../../../engine/plan/system-plans.ts'
import { faultsOf } from '../../../identity/accounts/self-service/own-items.ts'
import {
  noScopes,
  readChosenScopes,
  scopeChoices,
  scopesIn,
  sentencesOf,
} from '../../../identity/accounts/self-service/scope-choices.ts'
import { creatorsOf, descendantsOf, type KeyCreator } from '../../../identity/keys/origin.ts'
import { type LastUse, lastUsesOf } from '../../../identity/last-use.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { sessionPrincipal } from '../../../identity/session-principal.ts'
import {
  createdKeyPage,
  type KeyForm,
  keysPage,
  newKeyPage,
  revokeKeyPage,
  type ShownKey,
} from '../../pages/account/keys.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { noteOf } from '../account.ts'
import { type RouteParts, type RouteReply, redirect, type Viewer, type Visit } from '../context.ts'
import type { FormBody } from '../form-body.ts'
import { createAndShow, ownItems, postedForm, protectedForm } from './self-service.ts'

const collection = 'api_keys'
const path = '/account/keys'
const fields = ['id', 'user_id', 'name', 'prefix', 'scopes', 'created_at', 'expires_at']
const keysOfUser = { ...listShape(collection, fields, where('user_id')), sort: reversed(orderById) }
const byId = itemShape(collection, fields)

const maxShown = 200
const dayMs = 24 * 60 * 60 * 1000
const days = ['30', '90', '365'] as const
const maxNameCharacters = 100

interface OwnKey {
  readonly id: number
  readonly user_id: number
  readonly name: string
  readonly prefix: string
  readonly scopes: readonly string[] | null
  readonly created_at: string
  readonly expires_at: string | null
}

function toShownKey(
  { base }: RouteParts,
  { id, name, prefix, scopes, ...times }: OwnKey,
  lastUse?: LastUse,
): ShownKey {
  const expiresAt = times.expires_at === null ? undefined : Date.parse(times.expires_at)
  return {
    ...{ id, name, prefix, expiresAt, usedAt: lastUse?.at },
    may: allowedScopes(scopes) === 'all' ? undefined : sentencesOf(base.model, scopes ?? []),
    createdAt: Date.parse(times.created_at),
    expired: expiresAt !== undefined && expiresAt <= base.now(),
  }
}

/** `names`: of the user's keys, by id. */
function shownCreator(
  creator: KeyCreator | undefined,
  names: ReadonlyMap<number, string>,
): ShownKey['creator'] {
  if (creator === undefined) return undefined
  const { app, keyId } = creator
  return { app, key: keyId === undefined ? undefined : (names.get(keyId) ?? null) }
}

async function keyOf(parts: RouteParts, viewer: Viewer, id: number): Promise<ShownKey> {
  const row = await ownItems(parts, viewer).item<OwnKey>(byId, id)
  // Administrators may read the keys of other users, which have no page here.
  if (row.user_id !== viewer.user.id) throw new ApiError('NOT_FOUND')
  const uses = await lastUsesOf(parts.base.records, 'KeyUse', viewer.user.id)
  return toShownKey(parts, row, uses.get(String(id)))
}

export async function keysRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const rows = await ownItems(parts, viewer).list<OwnKey>(keysOfUser, maxShown + 1, viewer.user.id)
  const uses = await lastUsesOf(parts.base.records, 'KeyUse', viewer.user.id)
  const creators = await creatorsOf(parts.base.run, viewer.user.id)
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  const keys = rows.slice(0, maxShown).map(row => ({
    ...toShownKey(parts, row, uses.get(String(row.id))),
    creator: shownCreator(creators.get(row.id), names),
  }))
  const page = keysPage({ menu: viewer.menu, keys, hasMore: rows.length > maxShown, note: noteOf(visit) })
  return { page }
}

const newKeyForm: KeyForm = { name: '', end: '90', date: '', access: 'some', chosen: noScopes }

function showForm(parts: RouteParts, viewer: Viewer, entered: KeyForm, faults: FormFaults): RouteReply {
  const { base } = parts
  const page = newKeyPage({
    ...{ menu: viewer.menu, faults, entered, maxNameCharacters },
    choices: scopeChoices(base.model, sessionPrincipal(viewer.user).access),
    ends: new Map(days.map(count => [count, base.now() + Number(count) * dayMs])),
  })
  return { page }
}

function readKeyForm({ base }: RouteParts, { user }: Viewer, form: FormBody): KeyForm {
  return {
    name: form.text('name'),
    end: form.text('end'),
    date: form.text('date'),
    access: form.text('access'),
    chosen: readChosenScopes(scopeChoices(base.model, sessionPrincipal(user).access), form),
  }
}

/** The last second of a day (`YYYY-MM-DD`) in UTC; undefined if there is no such day, or it is over. */
function endOfDay(date: string, now: number): string | undefined {
  const end = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T23:59:59Z`) : Number.NaN
  // `Date` reads February 30 as March 2.
  const isFutureDay = end > now && new Date(end).toISOString().startsWith(date)
  return isFutureDay ? new Date(end).toISOString() : undefined
}

/** The expiry as the API expects it; undefined if the input is not valid. */
function expiryOf({ end, date }: KeyForm, now: number): string | null | undefined {
  if (end === 'never') return null
  if (end === 'date') return endOfDay(date, now)
  const count = days.find(option => option === end)
  return count && new Date(now + Number(count) * dayMs).toISOString()
}

function faultsIn(entered: KeyForm, end: string | null | undefined, scopes: readonly string[]): FormFaults {
  const faults = new Map<string, Text>()
  if (entered.name.trim() === '') faults.set('name', t('Enter a name.'))
  if (end === undefined && entered.end === 'date')
    faults.set('date', t('Enter a future date, e.g. 2031-12-31.'))
  else if (end === undefined) faults.set('end', t('Choose when the key expires.'))
  if (scopes.length === 0) faults.set('access', t('Choose at least one permission for the key.'))
  return faults
}

const formFields: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['expires_at', 'date'],
  ['scopes', 'access'],
])

export function newKeyRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const showNew = () => showForm(parts, viewer, newKeyForm, noFaults)
  return protectedForm(parts, visit, viewer, showNew, form =>
    saveKey(parts, visit, viewer, readKeyForm(parts, viewer, form)),
  )
}

/** Shows the form again if it has faults, or if the key is refused. */
async function saveKey(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  entered: KeyForm,
): Promise<RouteReply> {
  const end = expiryOf(entered, parts.base.now())
  const scopes = entered.access === 'all' ? ['*'] : scopesIn(entered.chosen)
  const faults = faultsIn(entered, end, scopes)
  if (faults.size > 0 || end === undefined) return showForm(parts, viewer, entered, faults)
  try {
    const body = { name: entered.name.trim(), scopes, expires_at: end }
    return await createAndShow(parts, visit, viewer, collection, body, ({ id }) => `${path}/${id}`)
  } catch (error) {
    return showForm(
      parts,
      viewer,
      entered,
      faultsOf(error, name => formFields.get(name)),
    )
  }
}

/** A sample request that the key may make; undefined if its scopes allow none. */
function curlFor(parts: RouteParts, scopes: OwnKey['scopes'], access: AccessClass, key: string) {
  const { model, issuer } = parts.base
  const granted = allowedScopes(scopes)
  const readable = [...model.collections.values()].find(
    candidate =>
      hasScope(granted, `read:${candidate.singular}`) &&
      staticRule(model, candidate, candidate.access.read, access) !== 'never',
  )
  const target = hasScope(granted, 'read:user') ? 'me' : readable && `${readable.name}?per_page=5`
  return target && `curl "${issuer}/api/v1/${target}" \\\n  -H "Authorization: Bearer ${key}"`
}

/** Shows a new key once. Afterwards redirects to the list. */
export async function createdKeyRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
): Promise<RouteReply> {
  const row = await ownItems(parts, viewer).item<OwnKey>(byId, id)
  const secret =
    visit.method === 'HEAD' ? undefined : (await parts.shownOnce.take(viewer.session, visit.path))?.key
  if (secret === undefined) return redirect(path)
  const curl = curlFor(parts, row.scopes, sessionPrincipal(viewer.user).access, secret)
  return { page: createdKeyPage({ menu: viewer.menu, key: toShownKey(parts, row), secret, curl }) }
}

export async function revokeKeyRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
): Promise<RouteReply> {
  const key = await keyOf(parts, viewer, id)
  const { keys, webhooks } = await descendantsOf(parts.base.run, viewer.user.id, id)
  if (visit.method !== 'POST') {
    const names = await namesOf(parts, viewer, keys)
    const page = revokeKeyPage({ menu: viewer.menu, key, made: { keys: names, webhooks: webhooks.length } })
    return { page }
  }
  const includesMade = postedForm(parts, visit).text('made') === 'yes'
  await ownItems(parts, viewer).remove(collection, id)
  if (includesMade) {
    await removeAll(parts, viewer, collection, keys)
    await removeAll(parts, viewer, 'webhooks', webhooks)
  }
  return redirect(`${path}?done=key-revoked`)
}

async function namesOf(parts: RouteParts, viewer: Viewer, ids: readonly number[]) {
  if (ids.length === 0) return []
  const rows = await ownItems(parts, viewer).list<OwnKey>(keysOfUser, maxShown + 1, viewer.user.id)
  return rows.filter(({ id }) => ids.includes(id)).map(({ name }) => name)
}

async function removeAll(parts: RouteParts, viewer: Viewer, name: string, ids: readonly number[]) {
  const items = ownItems(parts, viewer)
  await Promise.all(ids.map(id => items.remove(name, id).catch(ignoreMissing)))
}

/** Another request may have deleted it. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
}
