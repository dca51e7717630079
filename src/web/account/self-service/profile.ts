/** `/account/profile`: name, further fields and e-mail address. */

import type { Text } from '../../../base/html.ts'
import { itemShape } from '../../../engine/plan/system-plans.ts'
import { faultsOf } from '../../../identity/accounts/self-service/own-items.ts'
import { profileFields, textOf } from '../../../identity/accounts/self-service/profile-fields.ts'
import { type EnteredField, valuesOf } from '../../../identity/accounts/sign-up/sign-up-fields.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { sessionPrincipal } from '../../../identity/session-principal.ts'
import { canonicalEmail } from '../../../model/fields/email.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { profilePage } from '../../pages/account/profile.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { formName } from '../../pages/components/model-field.ts'
import { noteOf } from '../account.ts'
import { type RouteParts, type RouteReply, redirect, type Viewer, type Visit } from '../context.ts'
import { changeIn, type FormRoute, ownItems, postedForm } from './self-service.ts'

const collection = 'users'
const path = '/account/profile'

type ProfileRow = Readonly<Record<string, JsonValue>>

/** The input of a form, if there is any, and its faults. */
interface Entered {
  readonly faults: FormFaults
  readonly name?: string
  readonly email?: string
  readonly answers?: ReadonlyMap<string, string>
}

function fieldsOf({ base }: RouteParts, { user }: Viewer): readonly EnteredField[] {
  return profileFields(base.model, sessionPrincipal(user).access)
}

async function storedRow(
  parts: RouteParts,
  viewer: Viewer,
  fields: readonly EnteredField[],
): Promise<ProfileRow> {
  if (fields.length === 0) return {}
  return ownItems(parts, viewer).item<ProfileRow>(
    itemShape(
      collection,
      fields.map(({ name }) => name),
    ),
    viewer.user.id,
  )
}

async function show(parts: RouteParts, visit: Visit, viewer: Viewer, entered: Entered): Promise<RouteReply> {
  const { base } = parts
  const { id, name, email } = viewer.user
  const { faults } = entered
  const fields = fieldsOf(parts, viewer)
  const stored = await storedRow(parts, viewer, fields)
  const inputs = fields.map(({ name, label, field: { optional, type } }) => ({
    name: formName(name),
    label: optional ? t('{label} (optional)', { label }) : label,
    schema: type.schema,
    required: !optional,
    value: entered.answers ? entered.answers.get(name) : textOf(stored[name]),
  }))
  const page = profilePage({
    ...{ menu: viewer.menu, faults, modelFields: inputs, email },
    note: faults.size > 0 ? undefined : noteOf(visit),
    name: entered.name ?? name,
    verified: await base.addresses.isVerified(id, email),
    waiting: await base.addresses.pending(id),
    newEmail: entered.email ?? '',
    deletion: parts.own.selfDeletion,
  })
  return { page }
}

/** The values that differ from the stored ones: a rule may forbid writing a field, even with the same value. */
function changedValues(values: ProfileRow, stored: ProfileRow): ProfileRow {
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name] ?? null),
    ),
  )
}

const details: FormRoute = async (parts, visit, viewer, form) => {
  const fields = fieldsOf(parts, viewer)
  const name = form.text('name')
  const answers = new Map(fields.map(field => [field.name, form.text(formName(field.name))]))
  const { values, missing } = valuesOf(fields, answers, ({ optional }) => optional)
  const inputOf = (field: string) =>
    answers.has(field) ? formName(field) : field === 'name' ? field : undefined
  const faults = new Map<string, Text>([...missing].map(([field, message]) => [formName(field), message]))
  if (name.trim() === '') faults.set('name', t('Enter your name.'))
  if (faults.size > 0) return show(parts, visit, viewer, { faults, name, answers })
  const stored = { ...(await storedRow(parts, viewer, fields)), name: viewer.user.name }
  const body = changedValues({ ...values, name: name.trim() }, stored)
  try {
    if (Object.keys(body).length > 0) await ownItems(parts, viewer).update(collection, viewer.user.id, body)
    return redirect(`${path}?done=saved`)
  } catch (error) {
    return show(parts, visit, viewer, { faults: faultsOf(error, inputOf), name, answers })
  }
}

/** The new address is pending until it is proven, as with the API. */
const email: FormRoute = async (parts, visit, viewer, form) => {
  const newEmail = form.text('email').trim()
  const refuse = (faults: FormFaults) => show(parts, visit, viewer, { faults, email: newEmail })
  if (newEmail === '') return refuse(new Map([['email', t('Enter the new address.')]]))
  if (canonicalEmail(newEmail) === viewer.user.email)
    return refuse(new Map([['email', t('Your account has this address already.')]]))
  try {
    await ownItems(parts, viewer).update(collection, viewer.user.id, { email: newEmail })
    return redirect(`${path}?done=${parts.base.mailArrives ? 'address-asked' : 'address-unsent'}`)
  } catch (error) {
    return refuse(faultsOf(error, field => (field === 'email' ? field : undefined)))
  }
}

const changes: ReadonlyMap<string, FormRoute> = new Map([
  ['details', details],
  ['email', email],
])

export async function profileRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  if (visit.method !== 'POST') return show(parts, visit, viewer, { faults: noFaults })
  const form = postedForm(parts, visit)
  return changeIn(form, changes)(parts, visit, viewer, form)
}
