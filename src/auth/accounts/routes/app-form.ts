/** `/account/developer/new` and `/account/developer/{id}/edit`. */
import type { Reply } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'
import { type AppForm, appFormPage } from '../../pages/app-form.ts'
import { type Faults, noFaults } from '../../pages/form.ts'
import { pageReply } from '../../pages/reply.ts'
import { bodyFaults, faultsOf } from '../own-items.ts'
import { lineFaults, linesOf } from '../redirect-uri-lines.ts'
import { appScopeChoices, chosenIn, chosenOf, noScopes, scopesIn } from '../scope-choices.ts'
import { type RouteParts, redirect, type SignedIn, type Visit } from './context.ts'
import { type AppRow, appRow } from './developer.ts'
import type { FormBody } from './form-body.ts'
import { confirmation, createShown, ownItems, postedForm } from './own.ts'

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
}

/** `edited`: undefined for a new app. */
function show(
  { base, theme }: RouteParts,
  who: SignedIn,
  edited: AppRow | undefined,
  entered: AppForm,
  faults: Faults,
): Reply {
  const page = appFormPage({
    ...{ menu: who.menu, faults, entered, edited: edited?.name },
    choices: appScopeChoices(base.model),
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
  }
}

function bodyOf(entered: AppForm) {
  const { name, access, chosen, logo, homepage } = entered
  return {
    name: name.trim(),
    redirect_uris: linesOf(entered.uris).map(({ uri }) => uri),
    scopes: access === 'any' ? null : scopesIn(chosen),
    logo_uri: logo.trim() || null,
    homepage_uri: homepage.trim() || null,
  }
}

const formFields: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['type', 'type'],
  ['redirect_uris', 'uris'],
  ['scopes', 'access'],
  ['default_scopes', 'access'],
  ['logo_uri', 'logo'],
  ['homepage_uri', 'homepage'],
])

const fieldOf = (name: string) => formFields.get(name)

/** All at once; where the API would take it, or say less exactly, in the form’s own words. */
function faultsIn({ base }: RouteParts, entered: AppForm): Faults {
  const { name, uris, access, chosen } = entered
  const faults = new Map(bodyFaults(base.model, collection, bodyOf(entered), fieldOf))
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
  edited: AppRow | undefined,
  entered: AppForm,
  save: () => Promise<Reply>,
): Promise<Reply> {
  const faults = faultsIn(parts, entered)
  if (faults.size > 0) return show(parts, who, edited, entered, faults)
  try {
    return await save()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAUTHORIZED') throw error
    return show(parts, who, edited, entered, faultsOf(error, fieldOf))
  }
}

export async function newAppRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const asked = confirmation(parts, visit, who)
  if (visit.method !== 'POST') return asked ?? show(parts, who, undefined, first, noFaults)
  const entered = enteredIn(parts, postedForm(parts, visit))
  if (asked) return asked
  return saved(parts, who, undefined, entered, () => {
    const body = { ...bodyOf(entered), type: entered.type }
    return createShown(parts, visit, who, collection, body, ({ id }) => `${path}/${id}`)
  })
}

function formOf({ base }: RouteParts, app: AppRow): AppForm {
  return {
    name: app.name,
    type: app.type,
    uris: app.redirect_uris.join('\n'),
    access: app.scopes === null ? 'any' : 'some',
    chosen: chosenOf(appScopeChoices(base.model), app.scopes ?? []),
    logo: app.logo_uri ?? '',
    homepage: app.homepage_uri ?? '',
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
    await ownItems(parts, who).update(collection, id, bodyOf(entered))
    return redirect(`${path}/${id}?done=saved`)
  })
}
