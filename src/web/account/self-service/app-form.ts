/** `/account/developer/new` and `/account/developer/{id}/edit`. */
import type { Text } from '../../../base/html.ts'
import { bodyFaults, faultsOf } from '../../../identity/accounts/self-service/own-items.ts'
import { lineFaults, linesOf } from '../../../identity/accounts/self-service/redirect-uri-lines.ts'
import {
  appScopeChoices,
  noScopes,
  readChosenScopes,
  scopesIn,
  toChosenScopes,
} from '../../../identity/accounts/self-service/scope-choices.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { AppItem } from '../../../identity/server/clients/apps.ts'
import { withCovered } from '../../../identity/server/consent/scopes.ts'
import { openidScopes } from '../../../model/builtin/builtin.ts'
import { type AppForm, appFormPage } from '../../pages/account/app-form.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { type RouteParts, type RouteReply, redirect, type Viewer, type Visit } from '../context.ts'
import type { FormBody } from '../form-body.ts'
import { appRow } from './developer.ts'
import { createAndShow, ownItems, protectedForm } from './self-service.ts'

const collection = 'oauth_apps'
const path = '/account/developer'

const newAppForm: AppForm = {
  name: '',
  type: 'confidential',
  uris: '',
  access: 'some',
  chosen: { ...noScopes, others: new Set(['openid', 'profile', 'email']) },
  logo: '',
  homepage: '',
  policy: '',
  terms: '',
  defaults: 'none',
  defaultScopes: '',
  tokenFormat: '',
  separator: '',
  firstParty: false,
}

function mayBeFirstParty({ user }: Viewer): boolean {
  return user.role === 'admin'
}

/** `edited`: undefined for a new app. */
function show(
  { base, own }: RouteParts,
  viewer: Viewer,
  edited: AppItem | undefined,
  entered: AppForm,
  faults: FormFaults,
): RouteReply {
  const page = appFormPage({
    ...{ menu: viewer.menu, faults, entered, edited: edited?.name },
    choices: appScopeChoices(base.model),
    service: own.apps,
    mayBeFirstParty: mayBeFirstParty(viewer),
    action: edited === undefined ? `${path}/new` : `${path}/${edited.id}/edit`,
    back: edited === undefined ? path : `${path}/${edited.id}`,
  })
  return { page }
}

function readAppForm({ base }: RouteParts, form: FormBody): AppForm {
  return {
    name: form.text('name'),
    type: form.list('type')[0] ?? '',
    uris: form.text('uris'),
    access: form.text('access'),
    chosen: readChosenScopes(appScopeChoices(base.model), form),
    logo: form.text('logo'),
    homepage: form.text('homepage'),
    policy: form.text('policy'),
    terms: form.text('terms'),
    defaults: form.text('defaults'),
    defaultScopes: form.text('default-scopes'),
    tokenFormat: form.text('token-format'),
    separator: form.text('separator'),
    firstParty: form.text('first-party') === 'yes',
  }
}

/** The default scopes; null: a request without a scope is refused. */
function defaultScopesOf({ defaults, defaultScopes, access, chosen }: AppForm): readonly string[] | null {
  if (defaults === 'all') return access === 'any' ? null : scopesIn(chosen)
  if (defaults !== 'some') return null
  const scopes = defaultScopes.split(/[\s,]+/).filter(scope => scope !== '')
  return [...new Set(scopes)]
}

/** `first_party` is included only for users who may set it: the API refuses it from others. */
function bodyOf(entered: AppForm, viewer: Viewer) {
  const { name, access, chosen, logo, homepage, policy, terms, tokenFormat, separator, firstParty } = entered
  return {
    name: name.trim(),
    redirect_uris: linesOf(entered.uris).map(({ uri }) => uri),
    scopes: access === 'any' ? null : scopesIn(chosen),
    default_scopes: defaultScopesOf(entered),
    logo_uri: logo.trim() || null,
    homepage_uri: homepage.trim() || null,
    policy_uri: policy.trim() || null,
    tos_uri: terms.trim() || null,
    access_token_format: tokenFormat || null,
    scope_separator: separator || null,
    ...(mayBeFirstParty(viewer) && { first_party: firstParty }),
  }
}

const formFields: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['type', 'type'],
  ['redirect_uris', 'uris'],
  ['scopes', 'access'],
  ['default_scopes', 'default-scopes'],
  ['access_token_format', 'token-format'],
  ['scope_separator', 'separator'],
  ['first_party', 'first-party'],
  ['logo_uri', 'logo'],
  ['homepage_uri', 'homepage'],
  ['policy_uri', 'policy'],
  ['tos_uri', 'terms'],
])

const fieldOf = (name: string) => formFields.get(name)

/** The fault of the default scopes; undefined if there is none. */
function defaultsFault({ base }: RouteParts, entered: AppForm): Text | undefined {
  const { defaults, access, chosen } = entered
  if (defaults === 'all' && access === 'any')
    return t('The app may ask for anything: enter its default scopes.')
  if (defaults !== 'some') return undefined
  const scopes = defaultScopesOf(entered) ?? []
  if (scopes.length === 0) return t('Enter at least one scope, or choose to refuse such requests.')
  const validScopes = new Set([...openidScopes.keys(), ...base.model.scopes.keys()])
  const unknown = scopes.filter(scope => !validScopes.has(scope))
  if (unknown.length > 0)
    return t('There is no scope {scopes}.', { scopes: unknown.slice(0, 5).join(', ').slice(0, 200) })
  const allowed = withCovered(scopesIn(chosen))
  const excess = access === 'any' ? [] : scopes.filter(scope => !allowed.has(scope))
  if (excess.length === 0) return undefined
  return t('The app may not ask for {scopes}: choose it above.', { scopes: excess.join(', ') })
}

/** All faults at once. Some are the form's own: the API would accept the input, or its message would be less specific. */
function faultsIn(parts: RouteParts, viewer: Viewer, entered: AppForm): FormFaults {
  const { name, uris, access, chosen } = entered
  const faults = new Map<string, Text>(
    bodyFaults(parts.base.model, collection, bodyOf(entered, viewer), fieldOf),
  )
  const scopesFault = defaultsFault(parts, entered)
  if (scopesFault !== undefined) faults.set('default-scopes', scopesFault)
  if (name.trim() === '') faults.set('name', t('Enter a name.'))
  const uriFaults = lineFaults(linesOf(uris))
  if (uriFaults !== undefined) faults.set('uris', uriFaults)
  if (access !== 'any' && scopesIn(chosen).length === 0)
    faults.set('access', t('Choose at least one permission that the app may ask for.'))
  return faults
}

/** Shows the form again if it has faults, or if `save` is refused. */
async function saveForm(
  parts: RouteParts,
  viewer: Viewer,
  edited: AppItem | undefined,
  entered: AppForm,
  save: () => Promise<RouteReply>,
): Promise<RouteReply> {
  const faults = faultsIn(parts, viewer, entered)
  if (faults.size > 0) return show(parts, viewer, edited, entered, faults)
  try {
    return await save()
  } catch (error) {
    return show(parts, viewer, edited, entered, faultsOf(error, fieldOf))
  }
}

export function newAppRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const showNew = () => show(parts, viewer, undefined, newAppForm, noFaults)
  return protectedForm(parts, visit, viewer, showNew, form => {
    const entered = readAppForm(parts, form)
    return saveForm(parts, viewer, undefined, entered, () => {
      const body = { ...bodyOf(entered, viewer), type: entered.type }
      return createAndShow(parts, visit, viewer, collection, body, ({ id }) => `${path}/${id}`)
    })
  })
}

/** The default scopes as the form shows them. */
function defaultsOf({ scopes, default_scopes: defaults }: AppItem) {
  if (defaults === null || defaults.length === 0) return { defaults: 'none', defaultScopes: '' }
  const isAll = scopes?.length === defaults.length && scopes.every(scope => defaults.includes(scope))
  return isAll
    ? { defaults: 'all', defaultScopes: '' }
    : { defaults: 'some', defaultScopes: defaults.join(' ') }
}

function formOf({ base }: RouteParts, app: AppItem): AppForm {
  return {
    name: app.name,
    type: app.type,
    uris: app.redirect_uris.join('\n'),
    access: app.scopes === null ? 'any' : 'some',
    chosen: toChosenScopes(appScopeChoices(base.model), app.scopes ?? []),
    logo: app.logo_uri ?? '',
    homepage: app.homepage_uri ?? '',
    policy: app.policy_uri ?? '',
    terms: app.tos_uri ?? '',
    ...defaultsOf(app),
    tokenFormat: app.access_token_format ?? '',
    separator: app.scope_separator ?? '',
    firstParty: app.first_party,
  }
}

export async function editAppRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
): Promise<RouteReply> {
  const app = await appRow(parts, viewer, id)
  const showStored = () => show(parts, viewer, app, formOf(parts, app), noFaults)
  return protectedForm(parts, visit, viewer, showStored, form => {
    const entered = readAppForm(parts, form)
    return saveForm(parts, viewer, app, entered, async () => {
      await ownItems(parts, viewer).update(collection, id, bodyOf(entered, viewer))
      return redirect(`${path}/${id}?done=saved`)
    })
  })
}
