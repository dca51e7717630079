/** `/account/profile`: name, further fields and e-mail address. */
import type { Reply } from '../../../../call.ts'
import { ApiError } from '../../../../errors.ts'
import type { JsonValue } from '../../../../model/fields/type.ts'
import { itemShape } from '../../../../plan/system-plans.ts'
import { profilePage } from '../../../pages/account/profile.ts'
import { type Faults, noFaults } from '../../../pages/components/form.ts'
import { pageReply } from '../../../pages/frame/reply.ts'
import { formName } from '../../../pages/sign-in/sign-up-field.ts'
import { sessionPrincipal } from '../../../session-principal.ts'
import { faultsOf } from '../../own/own-items.ts'
import { type ProfileField, profileFields, profileValues, textOf } from '../../own/profile-fields.ts'
import { noteOf } from '../account.ts'
import { type RouteParts, redirect, type SignedIn, type Visit } from '../context.ts'
import type { FormBody } from '../form-body.ts'
import { ownItems, postedForm } from '../own.ts'

const collection = 'users'
const path = '/account/profile'

type Row = Readonly<Record<string, JsonValue>>

/** What was entered, if anything, and its faults. */
interface Entered {
  readonly faults: Faults
  readonly name?: string
  readonly email?: string
  readonly answers?: ReadonlyMap<string, string>
}

function fieldsOf({ base }: RouteParts, { user }: SignedIn): readonly ProfileField[] {
  return profileFields(base.model, sessionPrincipal(user).access)
}

async function storedRow(parts: RouteParts, who: SignedIn, fields: readonly ProfileField[]): Promise<Row> {
  if (fields.length === 0) return {}
  return ownItems(parts, who).item<Row>(
    itemShape(
      collection,
      fields.map(({ name }) => name),
    ),
    who.user.id,
  )
}

async function show(parts: RouteParts, visit: Visit, who: SignedIn, entered: Entered): Promise<Reply> {
  const { base, theme } = parts
  const { id, name, email } = who.user
  const { faults } = entered
  const fields = fieldsOf(parts, who)
  const stored = await storedRow(parts, who, fields)
  const asked = fields.map(one => ({
    name: formName(one.name),
    label: one.field.optional ? `${one.label} (optional)` : one.label,
    schema: one.field.type.schema,
    required: !one.field.optional,
    value: entered.answers ? entered.answers.get(one.name) : textOf(stored[one.name]),
  }))
  const page = profilePage({
    ...{ menu: who.menu, faults, asked, email },
    note: faults.size > 0 ? undefined : noteOf(visit),
    name: entered.name ?? name,
    verified: await base.addresses.isVerified(id, email),
    waiting: await base.addresses.waiting(id),
    newEmail: entered.email ?? '',
    deletion: parts.own.selfDeletion,
  })
  return pageReply(theme, page, { status: faults.size > 0 ? 400 : 200 })
}

/** The values that differ from the stored ones: a rule may forbid writing a field, even with the same value. */
function changed(values: Row, stored: Row): Row {
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name] ?? null),
    ),
  )
}

type Change = (parts: RouteParts, visit: Visit, who: SignedIn, form: FormBody) => Promise<Reply>

const details: Change = async (parts, visit, who, form) => {
  const fields = fieldsOf(parts, who)
  const name = form.text('name')
  const answers = new Map(fields.map(one => [one.name, form.text(formName(one.name))]))
  const { values, missing } = profileValues(fields, answers)
  const inForm = (at: string) => (answers.has(at) ? formName(at) : at === 'name' ? at : undefined)
  const faults = new Map([...missing].map(([at, message]) => [formName(at), message]))
  if (name.trim() === '') faults.set('name', 'Enter your name.')
  if (faults.size > 0) return show(parts, visit, who, { faults, name, answers })
  const stored = { ...(await storedRow(parts, who, fields)), name: who.user.name }
  const body = changed({ ...values, name: name.trim() }, stored)
  try {
    if (Object.keys(body).length > 0) await ownItems(parts, who).update(collection, who.user.id, body)
    return redirect(`${path}?done=saved`)
  } catch (error) {
    return show(parts, visit, who, { faults: faultsOf(error, inForm), name, answers })
  }
}

/** The new address is pending until it is proven, as with the API. */
const email: Change = async (parts, visit, who, form) => {
  const typed = form.text('email').trim()
  const refuse = (faults: Faults) => show(parts, visit, who, { faults, email: typed })
  if (typed === '') return refuse(new Map([['email', 'Enter the new address.']]))
  if (typed.toLowerCase() === who.user.email)
    return refuse(new Map([['email', 'This is the address that the account has.']]))
  try {
    await ownItems(parts, who).update(collection, who.user.id, { email: typed })
    return redirect(`${path}?done=address-asked`)
  } catch (error) {
    return refuse(faultsOf(error, at => (at === 'email' ? at : undefined)))
  }
}

const changes: ReadonlyMap<string, Change> = new Map([
  ['details', details],
  ['email', email],
])

export async function profileRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  if (visit.method !== 'POST') return show(parts, visit, who, { faults: noFaults })
  const form = postedForm(parts, visit)
  const change = changes.get(form.text('change'))
  if (!change) throw new ApiError('BAD_REQUEST', 'There is no such change.')
  return change(parts, visit, who, form)
}
