/** `/account/webhooks/new` and `/account/webhooks/{id}/edit`. */
import type { Text } from '../../../base/html.ts'
import type { AccessClass } from '../../../base/principal.ts'
import { staticRule } from '../../../engine/plan/guard/guard.ts'
import { faultsOf } from '../../../identity/accounts/self-service/own-items.ts'
import { builtIn, titleOf } from '../../../identity/accounts/self-service/scope-choices.ts'
import { readableName } from '../../../identity/accounts/sign-up/sign-up-fields.ts'
import { type PageText, t, translated } from '../../../identity/mail/page-texts.ts'
import { sessionPrincipal } from '../../../identity/session-principal.ts'
import { webhookTypes } from '../../../model/builtin/webhooks.ts'
import type { Model } from '../../../model/model.ts'
import { type EventGroup, type WebhookForm, webhookFormPage } from '../../pages/account/webhook-form.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { type RouteParts, type RouteReply, redirect, type Viewer, type Visit } from '../context.ts'
import type { FormBody } from '../form-body.ts'
import { createAndShow, ownItems, protectedForm } from './self-service.ts'
import { type OwnWebhook, webhookRow } from './webhooks.ts'

const collection = 'webhooks'
const path = '/account/webhooks'

const labels: ReadonlyMap<string, PageText> = new Map([
  ['*', 'All'],
  ['created', 'Created'],
  ['updated', 'Updated'],
  ['deleted', 'Deleted'],
])

/** E.g. `Paused`. Events of the model are in the words of the model. */
function kindTitle(collection: string, kind: string): Text {
  return builtIn.has(collection) ? translated(readableName(kind)) : readableName(kind)
}

/** The events that a user with this access class can see. */
function eventGroups(model: Model, access: AccessClass): readonly EventGroup[] {
  const groups = new Map<string, { readonly type: string; readonly label: Text }[]>()
  for (const [type, source] of webhookTypes(model)) {
    if (source === undefined || staticRule(model, source, source.access.read, access) === 'never') continue
    const kind = type.slice(source.singular.length + 1)
    const types = groups.get(source.name) ?? []
    groups.set(source.name, types)
    const label = labels.get(kind)
    const entry = { type, label: label === undefined ? kindTitle(source.name, kind) : t(label) }
    if (kind === '*') types.unshift(entry)
    else types.push(entry)
  }
  return [...groups].map(([name, types]) => ({ collection: name, title: titleOf(name), types }))
}

const newWebhookForm: WebhookForm = {
  url: '',
  description: '',
  events: 'some',
  types: new Set(),
  collections: new Set(),
}

function groupsFor({ base }: RouteParts, { user }: Viewer): readonly EventGroup[] {
  return eventGroups(base.model, sessionPrincipal(user).access)
}

/** `edited`: undefined for a new webhook. */
function show(
  parts: RouteParts,
  viewer: Viewer,
  edited: OwnWebhook | undefined,
  entered: WebhookForm,
  faults: FormFaults,
): RouteReply {
  const page = webhookFormPage({
    ...{ menu: viewer.menu, faults, entered, isNew: edited === undefined },
    groups: groupsFor(parts, viewer),
    action: edited === undefined ? `${path}/new` : `${path}/${edited.id}/edit`,
    back: edited === undefined ? path : `${path}/${edited.id}`,
  })
  return { page }
}

function readWebhookForm(form: FormBody): WebhookForm {
  return {
    url: form.text('url'),
    description: form.text('description'),
    events: form.text('events'),
    types: new Set(form.list('type')),
    collections: new Set(form.list('collection')),
  }
}

/** A webhook that was created through the API may have types and collections. */
function formOf({ url, description, types, collections }: OwnWebhook): WebhookForm {
  const isEverything = types.includes('*')
  return {
    ...{ url, description: description ?? '' },
    events: isEverything ? 'all' : 'some',
    types: new Set(isEverything ? [] : types),
    collections: new Set(collections ?? []),
  }
}

/** Faults of values that the form does not offer, e.g. of a deleted collection, are shown at the events. */
const formFields: ReadonlyMap<string, string> = new Map([
  ['url', 'url'],
  ['description', 'description'],
  ['types', 'events'],
  ['collections', 'events'],
])

function bodyOf({ url, description, events, types, collections }: WebhookForm, edited?: OwnWebhook) {
  const isEverything = events === 'all'
  // The form offers collections only for all events. For chosen events, those that were set through the API stay.
  const existing = edited && !edited.types.includes('*') ? edited.collections : null
  const chosen = collections.size > 0 ? [...collections] : null
  return {
    url: url.trim(),
    description: description.trim() || null,
    types: isEverything ? ['*'] : [...types],
    collections: isEverything ? chosen : existing,
  }
}

/** Shows the form again if it has faults, or if `save` is refused. */
async function saveForm(
  parts: RouteParts,
  viewer: Viewer,
  edited: OwnWebhook | undefined,
  entered: WebhookForm,
  save: () => Promise<RouteReply>,
): Promise<RouteReply> {
  const faults = new Map<string, Text>()
  if (entered.url.trim() === '') faults.set('url', t('Enter the address.'))
  if (entered.events !== 'all' && entered.types.size === 0)
    faults.set('events', t('Choose at least one event.'))
  if (faults.size > 0) return show(parts, viewer, edited, entered, faults)
  try {
    return await save()
  } catch (error) {
    return show(
      parts,
      viewer,
      edited,
      entered,
      faultsOf(error, name => formFields.get(name)),
    )
  }
}

export function newWebhookRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const showNew = () => show(parts, viewer, undefined, newWebhookForm, noFaults)
  return protectedForm(parts, visit, viewer, showNew, form => {
    const entered = readWebhookForm(form)
    return saveForm(parts, viewer, undefined, entered, () =>
      createAndShow(parts, visit, viewer, collection, bodyOf(entered), ({ id }) => `${path}/${id}`),
    )
  })
}

export async function editWebhookRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
): Promise<RouteReply> {
  const row = await webhookRow(parts, viewer, id)
  const showStored = () => show(parts, viewer, row, formOf(row), noFaults)
  return protectedForm(parts, visit, viewer, showStored, form => {
    const entered = readWebhookForm(form)
    return saveForm(parts, viewer, row, entered, async () => {
      await ownItems(parts, viewer).update(collection, id, bodyOf(entered, row))
      return redirect(`${path}/${id}?done=saved`)
    })
  })
}
