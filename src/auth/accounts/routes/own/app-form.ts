/** `/account/developer/new` and `/account/developer/{id}/edit`. */
import type { Reply } from '../../../../call.ts'
import { openidScopes } from '../../../../model/builtin.ts'
import { type AppForm, appFormPage } from '../../../pages/account/app-form.ts'
import { type Faults, noFaults } from '../../../pages/components/form.ts'
import { pageReply } from '../../../pages/frame/reply.ts'
import type { AppItem } from '../../../server/clients/apps.ts'
import { withCovered } from '../../../server/consent/scopes.ts'
import { bodyFaults, faultsOf } from '../../own/own-items.ts'
import { lineFaults, linesOf } from '../../own/redirect-uri-lines.ts'
import { appScopeChoices, chosenIn, chosenOf, noScopes, scopesIn } from '../../own/scope-choices.ts'
import { type RouteParts, redirect, type SignedIn, type Visit } from '../context.ts'
import type { FormBody } from '../form-body.ts'
import { confirmation, createShown, ownItems, postedForm } from '../own.ts'
import { appRow } from './developer.ts'

const collection = 'oauth_apps'
const path = '/account/developer'

const first: AppForm = {
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

function mayBeFirstParty({ user }: SignedIn): boolean {
  return user.role === 'admin'
}

/** `edited`: undefined for a new app. */
function show(
  { base, own, theme }: RouteParts,
  who: SignedIn,
  edited: AppItem | undefined,
  entered: AppForm,
  faults: Faults,
): Reply {
  const page = appFormPage({
    ...{ menu: who.menu, faults, entered, edited: edited?.name },
    choices: appScopeChoices(base.model),
    service: own.apps,
    mayBeFirstParty: mayBeFirstParty(who),
    action: edited === undefined ? `${path}/new` : `${path}/${edited.id}/edit`,
    back: edited === undefined ? path : `${path}/${edited.id}`,
  })
  return pageReply(theme, page, { status: faults.size > 0 ? 400 : 200 })
}

function enteredIn({ base }: RouteParts, form: FormBody): AppForm {
  return {
    name: form.text('name'),
    type: form.list('type')[0] ?? '',
    uris: form.text('uris'),
    access: form.text('access'),
    chosen: chosenIn(appScopeChoices(base.model), form),
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
function defaultsIn({ defaults, defaultScopes, access, chosen }: AppForm): readonly string[] | null {
  if (defaults === 'all') return access === 'any' ? null : scopesIn(chosen)
  if (defaults !== 'some') return null
  const named = defaultScopes.split(/[\s,]+/).filter(scope => scope !== '')
  return [...new Set(named)]
}

/** `first_party` is included only for users who may set it: the API refuses it from others. */
function bodyOf(entered: AppForm, who: SignedIn) {
  const { name, access, chosen, logo, homepage, policy, terms, tokenFormat, separator, firstParty } = entered
  return {
    name: name.trim(),
    redirect_uris: linesOf(entered.uris).map(({ uri }) => uri),
    scopes: access === 'any' ? null : scopesIn(chosen),
    default_scopes: defaultsIn(entered),
    logo_uri: logo.trim() || null,
    homepage_uri: homepage.trim() || null,
    policy_uri: policy.trim() || null,
    tos_uri: terms.trim() || null,
    access_token_format: tokenFormat || null,
    scope_separator: separator || null,
    ...(mayBeFirstParty(who) && { first_party: firstParty }),
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
function defaultsFault({ base }: RouteParts, entered: AppForm): string | undefined {
  const { defaults, access, chosen } = entered
  if (defaults === 'all' && access === 'any')
    return 'The app may ask for anything: name the scopes that it asks for.'
  if (defaults !== 'some') return undefined
  const named = defaultsIn(entered) ?? []
  if (named.length === 0) return 'Name at least one scope, or choose to refuse such requests.'
  const known = new Set([...openidScopes.keys(), ...base.model.scopes.keys()])
  const unknown = named.filter(scope => !known.has(scope))
  if (unknown.length > 0) return `There is no scope ${unknown.slice(0, 5).join(', ').slice(0, 200)}.`
  const allowed = withCovered(scopesIn(chosen))
  const beyond = access === 'any' ? [] : named.filter(scope => !allowed.has(scope))
  return beyond.length === 0 ? undefined : `The app may not ask for ${beyond.join(', ')}: choose it above.`
}

/** All faults at once. Some are the form's own: the API would accept the input, or its message would be less specific. */
function faultsIn(parts: RouteParts, who: SignedIn, entered: AppForm): Faults {
  const { name, uris, access, chosen } = entered
  const faults = new Map(bodyFaults(parts.base.model, collection, bodyOf(entered, who), fieldOf))
  const ofDefaults = defaultsFault(parts, entered)
  if (ofDefaults !== undefined) faults.set('default-scopes', ofDefaults)
  if (name.trim() === '') faults.set('name', 'Enter a name.')
  const wrong = lineFaults(linesOf(uris))
  if (wrong !== undefined) faults.set('uris', wrong)
  if (access !== 'any' && scopesIn(chosen).length === 0)
    faults.set('access', 'Choose something that the app may ask for.')
  return faults
}

async function saved(
  parts: RouteParts,
  who: SignedIn,
  edited: AppItem | undefined,
  entered: AppForm,
  save: () => Promise<Reply>,
): Promise<Reply> {
  const faults = faultsIn(parts, who, entered)
  if (faults.size > 0) return show(parts, who, edited, entered, faults)
  try {
    return await save()
  } catch (error) {
    return show(parts, who, edited, entered, faultsOf(error, fieldOf))
  }
}

export async function newAppRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const asked = confirmation(parts, visit, who)
  if (visit.method !== 'POST') return asked ?? show(parts, who, undefined, first, noFaults)
  const entered = enteredIn(parts, postedForm(parts, visit))
  if (asked) return asked
  return saved(parts, who, undefined, entered, () => {
    const body = { ...bodyOf(entered, who), type: entered.type }
    return createShown(parts, visit, who, collection, body, ({ id }) => `${path}/${id}`)
  })
}

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
    chosen: chosenOf(appScopeChoices(base.model), app.scopes ?? []),
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
  who: SignedIn,
  id: number,
): Promise<Reply> {
  const app = await appRow(parts, who, id)
  const asked = confirmation(parts, visit, who)
  if (visit.method !== 'POST') return asked ?? show(parts, who, app, formOf(parts, app), noFaults)
  const entered = enteredIn(parts, postedForm(parts, visit))
  if (asked) return asked
  return saved(parts, who, app, entered, async () => {
    await ownItems(parts, who).update(collection, id, bodyOf(entered, who))
    return redirect(`${path}/${id}?done=saved`)
  })
}
