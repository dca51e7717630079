/** `/account/keys`: a user's API keys. */
import type { Reply } from '../../../../call.ts'
import { ApiError } from '../../../../errors.ts'
import { staticRule } from '../../../../plan/guard.ts'
import { orderById, reversed } from '../../../../plan/order.ts'
import { itemShape, listShape, where } from '../../../../plan/system-plans.ts'
import { type AccessClass, allowedScopes, hasScope } from '../../../../principal.ts'
import { type LastUse, lastUsesOf } from '../../../last-use.ts'
import {
  type KeyForm,
  keysPage,
  madeKeyPage,
  newKeyPage,
  revokeKeyPage,
  type ShownKey,
} from '../../../pages/account/keys.ts'
import { type Faults, noFaults } from '../../../pages/components/form.ts'
import { pageReply } from '../../../pages/frame/reply.ts'
import { sessionPrincipal } from '../../../session-principal.ts'
import { faultsOf } from '../../own/own-items.ts'
import { chosenIn, noScopes, scopeChoices, scopesIn, sentencesOf } from '../../own/scope-choices.ts'
import { noteOf } from '../account.ts'
import { type RouteParts, redirect, type SignedIn, type Visit } from '../context.ts'
import type { FormBody } from '../form-body.ts'
import { confirmation, createShown, ownItems, postedForm } from '../own.ts'

const collection = 'api_keys'
const path = '/account/keys'
const fields = ['id', 'user_id', 'name', 'prefix', 'scopes', 'created_at', 'expires_at']
const ofUser = { ...listShape(collection, fields, where('user_id')), sort: reversed(orderById) }
const byId = itemShape(collection, fields)

const maxShown = 200
const dayMs = 24 * 60 * 60 * 1000
const days = ['30', '90', '365'] as const
const maxNameCharacters = 100

interface KeyRow {
  readonly id: number
  readonly user_id: number
  readonly name: string
  readonly prefix: string
  readonly scopes: readonly string[] | null
  readonly created_at: string
  readonly expires_at: string | null
}

function shown(
  { base }: RouteParts,
  { id, name, prefix, scopes, ...times }: KeyRow,
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

async function keyOf(parts: RouteParts, who: SignedIn, id: number): Promise<ShownKey> {
  const row = await ownItems(parts, who).item<KeyRow>(byId, id)
  // Administrators may read the keys of other users, which have no page here.
  if (row.user_id !== who.user.id) throw new ApiError('NOT_FOUND')
  const uses = await lastUsesOf(parts.base.records, 'KeyUse', who.user.id)
  return shown(parts, row, uses.get(String(id)))
}

export async function keysRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const rows = await ownItems(parts, who).list<KeyRow>(ofUser, maxShown + 1, who.user.id)
  const uses = await lastUsesOf(parts.base.records, 'KeyUse', who.user.id)
  const keys = rows.slice(0, maxShown).map(row => shown(parts, row, uses.get(String(row.id))))
  const page = keysPage({ menu: who.menu, keys, more: rows.length > maxShown, note: noteOf(visit) })
  return pageReply(parts.theme, page)
}

const first: KeyForm = { name: '', end: '90', date: '', access: 'some', chosen: noScopes }

function showForm(parts: RouteParts, who: SignedIn, entered: KeyForm, faults: Faults): Reply {
  const { base, theme } = parts
  const page = newKeyPage({
    ...{ menu: who.menu, faults, entered, maxNameCharacters },
    choices: scopeChoices(base.model, sessionPrincipal(who.user).access),
    ends: new Map(days.map(count => [count, base.now() + Number(count) * dayMs])),
  })
  return pageReply(theme, page, { status: faults.size > 0 ? 400 : 200 })
}

function enteredIn({ base }: RouteParts, { user }: SignedIn, form: FormBody): KeyForm {
  return {
    name: form.text('name'),
    end: form.text('end'),
    date: form.text('date'),
    access: form.text('access'),
    chosen: chosenIn(scopeChoices(base.model, sessionPrincipal(user).access), form),
  }
}

/** The last second of a day (`YYYY-MM-DD`) in UTC; undefined if there is no such day, or it is over. */
function endOfDay(date: string, now: number): string | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T23:59:59Z`) : Number.NaN
  // `Date` takes February 30 for March 2.
  const isDay = at > now && new Date(at).toISOString().startsWith(date)
  return isDay ? new Date(at).toISOString() : undefined
}

/** The expiry as the API expects it; undefined if what was entered is none. */
function endOf({ end, date }: KeyForm, now: number): string | null | undefined {
  if (end === 'never') return null
  if (end === 'date') return endOfDay(date, now)
  const count = days.find(one => one === end)
  return count && new Date(now + Number(count) * dayMs).toISOString()
}

function faultsIn(entered: KeyForm, end: string | null | undefined, scopes: readonly string[]): Faults {
  const faults = new Map<string, string>()
  if (entered.name.trim() === '') faults.set('name', 'Enter a name.')
  if (end === undefined && entered.end === 'date')
    faults.set('date', 'Enter a day that is not over, e.g. 2031-12-31.')
  else if (end === undefined) faults.set('end', 'Choose when the key expires.')
  if (scopes.length === 0) faults.set('access', 'Choose something that the key may do.')
  return faults
}

const formFields: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['expires_at', 'date'],
  ['scopes', 'access'],
])

export async function newKeyRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const asked = confirmation(parts, visit, who)
  if (visit.method !== 'POST') return asked ?? showForm(parts, who, first, noFaults)
  const entered = enteredIn(parts, who, postedForm(parts, visit))
  if (asked) return asked
  const end = endOf(entered, parts.base.now())
  const scopes = entered.access === 'all' ? ['*'] : scopesIn(entered.chosen)
  const faults = faultsIn(entered, end, scopes)
  if (faults.size > 0 || end === undefined) return showForm(parts, who, entered, faults)
  try {
    const body = { name: entered.name.trim(), scopes, expires_at: end }
    return await createShown(parts, visit, who, collection, body, ({ id }) => `${path}/${id}`)
  } catch (error) {
    return showForm(
      parts,
      who,
      entered,
      faultsOf(error, name => formFields.get(name)),
    )
  }
}

/** A request that the key may make; undefined if its scopes allow none. */
function curlFor(parts: RouteParts, scopes: KeyRow['scopes'], access: AccessClass, key: string) {
  const { model, issuer } = parts.base
  const granted = allowedScopes(scopes)
  const readable = [...model.collections.values()].find(
    one =>
      hasScope(granted, `read:${one.singular}`) &&
      staticRule(model, one, one.access.read, access) !== 'never',
  )
  const target = hasScope(granted, 'read:user') ? 'me' : readable && `${readable.name}?per_page=5`
  return target && `curl "${issuer}/api/v1/${target}" \\\n  -H "Authorization: Bearer ${key}"`
}

/** Shows the new key once; afterwards redirects to the list. */
export async function madeKeyRoute(
  parts: RouteParts,
  visit: Visit,
  who: SignedIn,
  id: number,
): Promise<Reply> {
  const row = await ownItems(parts, who).item<KeyRow>(byId, id)
  const secret =
    visit.method === 'HEAD' ? undefined : (await parts.shownOnce.take(who.session, visit.path))?.key
  if (secret === undefined) return redirect(path)
  const curl = curlFor(parts, row.scopes, sessionPrincipal(who.user).access, secret)
  return pageReply(parts.theme, madeKeyPage({ menu: who.menu, key: shown(parts, row), secret, curl }))
}

export async function revokeKeyRoute(
  parts: RouteParts,
  visit: Visit,
  who: SignedIn,
  id: number,
): Promise<Reply> {
  const key = await keyOf(parts, who, id)
  if (visit.method !== 'POST')
    return pageReply(parts.theme, revokeKeyPage({ menu: who.menu, key, faults: noFaults }))
  postedForm(parts, visit)
  await ownItems(parts, who).remove(collection, id)
  return redirect(`${path}?done=key-revoked`)
}
