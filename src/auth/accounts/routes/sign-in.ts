/** `/account/sign-in`, `/account/sign-up`, `/account/sign-out`, and the same during an authorization request. */
import type { Reply } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'
import { type Faults, noFaults } from '../../pages/components/form.ts'
import { messagePage } from '../../pages/frame/message.ts'
import { pageReply } from '../../pages/frame/reply.ts'
import type { ProviderButtons } from '../../pages/sign-in/providers.ts'
import { secondFactorPage, signInPage } from '../../pages/sign-in/sign-in.ts'
import { signUpPage } from '../../pages/sign-in/sign-up.ts'
import { formName } from '../../pages/sign-in/sign-up-field.ts'
import type { NextPath } from '../../server/server.ts'
import {
  type Proven,
  type SignInAnswer,
  signInByCode,
  signInByPasskey,
  signInByPassword,
} from '../sign-in.ts'
import { type SignUpField, signUpFields } from '../sign-up/sign-up-fields.ts'
import { signUp, signUpIsOff } from '../sign-up.ts'
import { askerOf } from './asker.ts'
import { type RouteParts, redirect, safeNext, signedIn, tooMany, type Visit } from './context.ts'
import { type FormBody, readQuery } from './form-body.ts'
import { postedForm } from './own.ts'
import { fromOf, rememberDevice } from './sign-in/device-cookie.ts'
import { linkPath, peekOffer } from './sign-in/provider-flow.ts'

/** Where a sign-in takes place, and what follows. */
export interface SignInContext {
  readonly action: string
  readonly signUp: string
  /** The name of the app that has sent an authorization request. */
  readonly app: string | undefined
  readonly email: string | undefined
  readonly next: string | undefined
  /** What forms that start a sign-in with a provider send besides `next`. */
  readonly start?: {
    readonly interaction?: string
    readonly confirm?: 'yes'
    readonly reauthenticate?: 'yes' | undefined
  }
  readonly note: string | undefined
  /** Where the response to a form may redirect. */
  readonly leadsTo: string | undefined
  finish(proven: Proven): Promise<NextPath>
}

export const messages = {
  wrong: 'The e-mail address or the password is wrong.',
  code: 'The code is wrong, or was used already.',
  ready:
    'If this address had no account yet, it has one now. Sign in with the password that you have just chosen.',
  over: 'That took too long. Sign in again.',
  confirm: 'Confirm that it is you: this changes how your account is protected.',
  passkey: 'The passkey was not accepted. Try again, or use your password.',
  sent: 'We have sent you a message. Open the link in it within 24 hours to go on.',
  resetSent: 'If there is an account with this address, we have sent a link to it. It works for an hour.',
  linkOver: 'This link does not work any more. It is too old, or was used already.',
}

function formFault(message: string): Faults {
  return new Map([['form', message]])
}

interface Shown {
  readonly faults: Faults
  readonly email?: string | undefined
  readonly remember?: boolean
}

/** Buttons lead to providers, which may redirect the browser further. */
function leadingTo({ providersLeadTo }: RouteParts, leadsTo: string | undefined): string | undefined {
  return [leadsTo, providersLeadTo].filter(one => one !== undefined).join(' ') || undefined
}

function buttonsOf({ providers }: RouteParts, csrf: string, { next, start }: SignInContext): ProviderButtons {
  return { providers: [...providers.values()], csrf, hidden: { next, ...start } }
}

export function showSignIn(parts: RouteParts, visit: Visit, context: SignInContext, shown: Shown): Reply {
  const { base, theme } = parts
  const { faults, email = context.email, remember = false } = shown
  const csrf = parts.csrf.token(visit, visit.res)
  const page = signInPage({
    action: context.action,
    csrf,
    faults,
    email,
    remember,
    app: context.app,
    signUp: base.signUp === 'off' || context.start?.confirm ? undefined : context.signUp,
    next: context.next,
    note: context.note,
    others: buttonsOf(parts, csrf, context),
  })
  const leadsTo = leadingTo(parts, context.leadsTo)
  return pageReply(theme, page, { status: faults.size > 0 ? 400 : 200, leadsTo })
}

function showSecondFactor(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  token: string,
  faults: Faults,
): Reply {
  const csrf = parts.csrf.token(visit, visit.res)
  const page = secondFactorPage({ action: context.action, csrf, faults, token, next: context.next })
  return pageReply(parts.theme, page, { status: faults.size > 0 ? 400 : 200, leadsTo: context.leadsTo })
}

async function byCode(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  form: FormBody,
  token: string,
): Promise<Reply> {
  const answer = await signInByCode(parts.base, token, form.text('code'), fromOf(parts, visit))
  if (answer.kind === 'over') return showSignIn(parts, visit, context, { faults: formFault(messages.over) })
  if (answer.kind === 'wrong') {
    return showSecondFactor(parts, visit, context, token, new Map([['code', messages.code]]))
  }
  return settled(parts, visit, context, answer)
}

export async function settled(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  answer: SignInAnswer,
): Promise<Reply> {
  if (answer.kind === 'throttled') return tooMany(parts.theme, answer.seconds)
  if (answer.kind === 'second-factor') return showSecondFactor(parts, visit, context, answer.token, noFaults)
  if (answer.kind === 'wrong') return showSignIn(parts, visit, context, { faults: formFault(messages.wrong) })
  visit.userId = answer.userId
  const path = await context.finish(answer)
  // Not earlier: the account may be disabled, or its sign-ins ended.
  await rememberDevice(parts, visit, answer.userId)
  return redirect(path)
}

/** Any of the three sign-in forms: password, one-time code, passkey. */
export async function handleSignIn(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  form: FormBody,
): Promise<Reply> {
  const from = fromOf(parts, visit)
  const token = form.optional('second_factor')
  if (token !== undefined) return byCode(parts, visit, context, form, token)
  const passkey = form.optional('passkey')
  if (passkey !== undefined) {
    const answer = await signInByPasskey(parts.base, parts.passkeys, passkey, from)
    if (answer.kind !== 'wrong') return settled(parts, visit, context, answer)
    return showSignIn(parts, visit, context, { faults: formFault(messages.passkey) })
  }
  const email = form.text('email')
  const remember = form.text('remember') === 'yes'
  const faults = missing(form, { email: 'Enter your e-mail address.', password: 'Enter your password.' })
  if (faults.size > 0) return showSignIn(parts, visit, context, { faults, email, remember })
  const answer = await signInByPassword(parts.base, {
    email,
    password: form.text('password'),
    remember,
    ...from,
  })
  if (answer.kind !== 'wrong') return settled(parts, visit, context, answer)
  return showSignIn(parts, visit, context, { faults: formFault(messages.wrong), email, remember })
}

export function missing(form: FormBody, needed: Readonly<Record<string, string>>): Faults {
  return new Map(Object.entries(needed).filter(([name]) => form.text(name).trim() === ''))
}

export function accountContext(
  { server }: RouteParts,
  visit: Visit,
  next: string | undefined,
  note?: string,
): SignInContext {
  return {
    action: '/account/sign-in',
    signUp: '/account/sign-up',
    app: undefined,
    email: undefined,
    next,
    note,
    leadsTo: undefined,
    async finish({ kind: _proven, ...proof }) {
      await server.signIn(visit.req, visit.res, { ...proof, address: visit.address })
      return next ?? '/account'
    },
  }
}

/** For a user who is signed in and authenticates again. */
function confirmingContext(parts: RouteParts, visit: Visit, next: string | undefined): SignInContext {
  return { ...accountContext(parts, visit, next, messages.confirm), start: { confirm: 'yes' } }
}

/** Tells a user who has signed in with a provider why they have to sign in here too. */
async function offerNote(
  parts: RouteParts,
  visit: Visit,
  next: string | undefined,
): Promise<string | undefined> {
  const offer = next === linkPath ? await peekOffer(parts, visit) : undefined
  const provider = offer && parts.providers.get(offer.provider)
  return (
    provider &&
    `There is an account with the address that you have at ${provider.name}. Sign in to it once as you did before: then you can link ${provider.name}.`
  )
}

export async function signInRoute(parts: RouteParts, visit: Visit): Promise<Reply> {
  if (visit.method === 'POST') {
    const form = postedForm(parts, visit)
    const next = safeNext(form.optional('next'))
    // A user who is signed in sees the form only with `?confirm=yes`.
    const confirms = (await parts.server.session(visit.req, visit.res)) !== undefined
    const context = confirms ? confirmingContext(parts, visit, next) : accountContext(parts, visit, next)
    return handleSignIn(parts, visit, context, form)
  }
  const query = readQuery(visit)
  const next = safeNext(query.optional('next'))
  const asks = query.text('confirm') === 'yes'
  const who = await signedIn(parts, visit)
  if (who && !asks) return redirect(next ?? '/account')
  const context = asks
    ? confirmingContext(parts, visit, next)
    : accountContext(parts, visit, next, await offerNote(parts, visit, next))
  return showSignIn(parts, visit, context, { faults: noFaults, email: who?.user.email })
}

export interface SignUpContext {
  readonly action: string
  /** Where to sign in, with or without a new account. */
  readonly signIn: SignInContext
  readonly app: string | undefined
  readonly leadsTo: string | undefined
}

interface SignUpShown {
  readonly faults: Faults
  readonly name?: string
  readonly email?: string
  /** By the name of the model's field. */
  readonly answers?: ReadonlyMap<string, string>
}

/** Faults by the names of the form's fields. */
function inForm(faults: Faults, asked: readonly SignUpField[]): Faults {
  const names = new Set(asked.map(({ name }) => name))
  return new Map([...faults].map(([name, fault]) => [names.has(name) ? formName(name) : name, fault]))
}

function proposed({ field }: SignUpField): string | undefined {
  if (field.default?.kind !== 'value') return undefined
  // Any text ticks a checkbox.
  return field.default.value === false ? '' : String(field.default.value)
}

export function showSignUp(
  parts: RouteParts,
  visit: Visit,
  context: SignUpContext,
  shown: SignUpShown,
): Reply {
  const { action, app, leadsTo } = context
  const signIn = context.signIn.action
  const { faults, name, email, answers } = shown
  if (parts.base.signUp === 'off') throw new ApiError('NOT_FOUND', signUpIsOff)
  const csrf = parts.csrf.token(visit, visit.res)
  const { asked, inForm } = askedFields(parts, answers)
  const others = buttonsOf(parts, csrf, context.signIn)
  const page = signUpPage({ action, csrf, faults: inForm(faults), name, email, app, signIn, asked, others })
  return pageReply(parts.theme, page, {
    status: faults.size > 0 ? 400 : 200,
    leadsTo: leadingTo(parts, leadsTo),
  })
}

/** The model's further fields for a form, and a function that renames faults accordingly. */
export function askedFields({ base: { model } }: RouteParts, answers?: ReadonlyMap<string, string>) {
  const fields = signUpFields(model)
  const asked = fields.map(one => ({
    name: formName(one.name),
    label: one.label,
    schema: one.field.type.schema,
    value: answers ? answers.get(one.name) : proposed(one),
  }))
  return { asked, inForm: (faults: Faults) => inForm(faults, fields) }
}

/** The entered texts of the model's further fields, by the names of the fields. */
export function answersIn({ base: { model } }: RouteParts, form: FormBody): ReadonlyMap<string, string> {
  return new Map(signUpFields(model).map(one => [one.name, form.text(formName(one.name))]))
}

export function linkSent({ theme }: RouteParts, signIn: string): Reply {
  const page = messagePage({
    title: 'Look into your mail',
    paragraphs: [messages.sent],
    link: { href: signIn, label: 'Back to sign-in' },
    icon: 'mail',
  })
  return pageReply(theme, page)
}

export async function handleSignUp(
  parts: RouteParts,
  visit: Visit,
  context: SignUpContext,
  form: FormBody,
): Promise<Reply> {
  const [name, email] = [form.text('name'), form.text('email')]
  const address = parts.throttleAddress(visit.address)
  const answers = answersIn(parts, form)
  const answer = await signUp(parts.base, {
    ...{ name, email, password: form.text('password'), address, answers },
    asker: askerOf(visit),
  })
  if (answer.kind === 'throttled') return tooMany(parts.theme, answer.seconds)
  if (answer.kind === 'faults')
    return showSignUp(parts, visit, context, { faults: answer.faults, name, email, answers })
  if (answer.kind === 'sent') return linkSent(parts, context.signIn.action)
  return showSignIn(parts, visit, { ...context.signIn, note: messages.ready }, { faults: noFaults, email })
}

export async function signUpRoute(parts: RouteParts, visit: Visit): Promise<Reply> {
  const signIn = accountContext(parts, visit, undefined)
  const context: SignUpContext = { action: '/account/sign-up', signIn, app: undefined, leadsTo: undefined }
  if (visit.method !== 'POST') return showSignUp(parts, visit, context, { faults: noFaults })
  const form = postedForm(parts, visit)
  return handleSignUp(parts, visit, context, form)
}

export async function signOutRoute(parts: RouteParts, visit: Visit): Promise<Reply> {
  postedForm(parts, visit)
  await parts.server.signOut(visit.req, visit.res)
  return redirect('/account/sign-in')
}
