/** `/account/sign-in`, `/account/sign-up`, `/account/sign-out`, and the same during an authorization request. */

import { ApiError } from '../../../base/errors.ts'
import type { Text } from '../../../base/html.ts'
import {
  type Authentication,
  type SignInAnswer,
  signInByCode,
  signInByPasskey,
  signInByPassword,
} from '../../../identity/accounts/sign-in/sign-in.ts'
import {
  enteredSignUp,
  type SentLink,
  sendLinkAgain,
  signUp,
  signUpIsOff,
} from '../../../identity/accounts/sign-up/sign-up.ts'
import { type EnteredField, signUpFields } from '../../../identity/accounts/sign-up/sign-up-fields.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { NextPath } from '../../../identity/server/server.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { formName } from '../../pages/components/model-field.ts'
import type { ProviderButtons } from '../../pages/sign-in/providers.ts'
import { sentPage } from '../../pages/sign-in/sent.ts'
import { secondFactorPage, signInPage } from '../../pages/sign-in/sign-in.ts'
import { signUpPage } from '../../pages/sign-in/sign-up.ts'
import {
  findViewer,
  noMailReply,
  type RouteParts,
  type RouteReply,
  redirect,
  safeNext,
  tooMany,
  type Viewer,
  type Visit,
} from '../context.ts'
import { type FormBody, readQuery } from '../form-body.ts'
import { requesterOf } from '../requester.ts'
import { postedForm } from '../self-service/self-service.ts'
import { attemptOrigin, rememberDevice } from './device-cookie.ts'
import { linkPath, peekOffer } from './provider-flow.ts'

/** The page on which a sign-in takes place, and what follows it. */
export interface SignInContext {
  readonly action: string
  readonly signUp: string
  /** The name of the app that has sent an authorization request. */
  readonly app: string | undefined
  readonly email: string | undefined
  readonly next: string | undefined
  /** Further fields of the forms that start a sign-in with a provider. */
  readonly start?: {
    readonly interaction?: string
    readonly confirm?: 'yes'
    readonly reauthenticate?: 'yes' | undefined
  }
  readonly note: Text | undefined
  /** The name of the user who is signed in, and proves it again. */
  readonly confirms?: string | undefined
  /** Where the response to a form may redirect. */
  readonly leadsTo: string | undefined
  finish(authentication: Authentication): Promise<NextPath>
}

export const messages = {
  wrong: t('The e-mail address or the password is wrong.'),
  code: t('The code is wrong, or was used already.'),
  ready: t(
    'If this address had no account, one was created. Sign in with the password that you have just chosen.',
  ),
  over: t('That took too long. Sign in again.'),
  confirm: t('This changes how your account is protected, so sign in once more.'),
  passkey: t('The passkey was not accepted. Try again, or use your password.'),
  sent: t('We have sent you a message. Open its link within 24 hours to continue.'),
  resetSent: t('If there is an account with this address, we have sent a link to it. It works for an hour.'),
  signUpOver: t('That took too long. Fill in the form again.'),
  linkOver: t('This link no longer works. It has expired, or was used already.'),
}

function formFault(message: Text): FormFaults {
  return new Map([['form', message]])
}

interface SignInInput {
  readonly faults: FormFaults
  readonly email?: string | undefined
  readonly remember?: boolean
}

/** Adds the providers, to which buttons lead. They may redirect the browser further. */
function withProviders({ providersLeadTo }: RouteParts, leadsTo: string | undefined): string | undefined {
  return [leadsTo, providersLeadTo].filter(source => source !== undefined).join(' ') || undefined
}

function buttonsOf({ providers }: RouteParts, csrf: string, { next, start }: SignInContext): ProviderButtons {
  return { providers: [...providers.values()], csrf, hidden: { next, ...start } }
}

/** The sign-in page, with the status 400 if there are faults. */
export function showSignIn(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  input: SignInInput,
): RouteReply {
  const { base } = parts
  const { faults, email = context.email, remember = false } = input
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
    confirms: context.confirms,
    providers: buttonsOf(parts, csrf, context),
  })
  const leadsTo = withProviders(parts, context.leadsTo)
  return { page, leadsTo }
}

function showSecondFactor(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  token: string,
  faults: FormFaults,
): RouteReply {
  const csrf = parts.csrf.token(visit, visit.res)
  const page = secondFactorPage({ action: context.action, csrf, faults, token, next: context.next })
  return { page, leadsTo: context.leadsTo }
}

async function handleCode(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  form: FormBody,
  token: string,
): Promise<RouteReply> {
  const answer = await signInByCode(parts.base, token, form.text('code'), attemptOrigin(parts, visit))
  if (answer.kind === 'over') return showSignIn(parts, visit, context, { faults: formFault(messages.over) })
  if (answer.kind === 'wrong') {
    return showSecondFactor(parts, visit, context, token, new Map([['code', messages.code]]))
  }
  return finishSignIn(parts, visit, context, answer)
}

/** The reply to a sign-in attempt: the next form, the same form with a fault, or a redirect. */
export async function finishSignIn(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  answer: SignInAnswer,
): Promise<RouteReply> {
  if (answer.kind === 'throttled') return tooMany(answer.seconds)
  if (answer.kind === 'second-factor') return showSecondFactor(parts, visit, context, answer.token, noFaults)
  if (answer.kind === 'wrong') return showSignIn(parts, visit, context, { faults: formFault(messages.wrong) })
  visit.userId = answer.userId
  const path = await context.finish(answer)
  // Afterwards: the sign-in fails if the account is disabled, or if its sign-ins have been ended.
  await rememberDevice(parts, visit, answer.userId)
  return redirect(path)
}

/** Any of the three sign-in forms: password, one-time code, passkey. */
export async function handleSignIn(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  form: FormBody,
): Promise<RouteReply> {
  const from = attemptOrigin(parts, visit)
  const token = form.optional('second_factor')
  if (token !== undefined) return handleCode(parts, visit, context, form, token)
  const passkey = form.optional('passkey')
  if (passkey !== undefined) {
    const answer = await signInByPasskey(parts.base, parts.passkeys, passkey, from)
    if (answer.kind !== 'wrong') return finishSignIn(parts, visit, context, answer)
    return showSignIn(parts, visit, context, { faults: formFault(messages.passkey) })
  }
  const email = form.text('email')
  const remember = form.text('remember') === 'yes'
  const faults = blankFields(form, {
    email: t('Enter your e-mail address.'),
    password: t('Enter your password.'),
  })
  if (faults.size > 0) return showSignIn(parts, visit, context, { faults, email, remember })
  const answer = await signInByPassword(parts.base, {
    email,
    password: form.text('password'),
    remember,
    ...from,
  })
  if (answer.kind !== 'wrong') return finishSignIn(parts, visit, context, answer)
  return showSignIn(parts, visit, context, { faults: formFault(messages.wrong), email, remember })
}

/** The messages of the fields that are blank. */
export function blankFields(form: FormBody, messages: Readonly<Record<string, Text>>): FormFaults {
  return new Map(Object.entries(messages).filter(([name]) => form.text(name).trim() === ''))
}

/** A sign-in to the account pages. `next`: see `safeNext`. */
export function accountContext(
  { server }: RouteParts,
  visit: Visit,
  next: string | undefined,
  note?: Text,
): SignInContext {
  return {
    action: '/account/sign-in',
    signUp: '/account/sign-up',
    app: undefined,
    email: undefined,
    next,
    note,
    leadsTo: undefined,
    async finish({ kind: _kind, ...authentication }) {
      await server.signIn(visit.req, visit.res, { ...authentication, address: visit.address })
      return next ?? '/account'
    },
  }
}

/** For a user who is signed in and authenticates again. */
function confirmingContext(
  parts: RouteParts,
  visit: Visit,
  next: string | undefined,
  viewer: Viewer | undefined,
): SignInContext {
  const context = accountContext(parts, visit, next, messages.confirm)
  return { ...context, start: { confirm: 'yes' }, confirms: viewer?.user.name }
}

/** Explains to a user who has signed in with a provider why they have to sign in here too. */
async function offerNote(
  parts: RouteParts,
  visit: Visit,
  next: string | undefined,
): Promise<Text | undefined> {
  const offer = next === linkPath ? await peekOffer(parts, visit) : undefined
  const provider = offer && parts.providers.get(offer.provider)
  return (
    provider &&
    t(
      'An account with your address at {provider} exists already. Sign in to it as before: then you can link {provider}.',
      { provider: provider.name },
    )
  )
}

/** `/account/sign-in`. */
export async function signInRoute(parts: RouteParts, visit: Visit): Promise<RouteReply> {
  if (visit.method === 'POST') {
    const form = postedForm(parts, visit)
    const next = safeNext(form.optional('next'))
    // A user who is signed in sees the form only with `?confirm=yes`.
    const viewer = await findViewer(parts, visit)
    const context = viewer
      ? confirmingContext(parts, visit, next, viewer)
      : accountContext(parts, visit, next)
    return handleSignIn(parts, visit, context, form)
  }
  const query = readQuery(visit)
  const next = safeNext(query.optional('next'))
  const confirms = query.text('confirm') === 'yes'
  const viewer = await findViewer(parts, visit)
  // For a link that belongs to another account than the one that is signed in.
  const switches = query.text('switch') === 'yes'
  if (viewer && !confirms && !switches) return redirect(next ?? '/account')
  const context = confirms
    ? confirmingContext(parts, visit, next, viewer)
    : accountContext(parts, visit, next, await offerNote(parts, visit, next))
  const email = switches ? undefined : viewer?.user.email
  return showSignIn(parts, visit, context, { faults: noFaults, email })
}

export interface SignUpContext {
  readonly action: string
  /** Where to sign in, with or without a new account. */
  readonly signIn: SignInContext
  readonly app: string | undefined
  readonly leadsTo: string | undefined
}

interface SignUpInput {
  readonly faults: FormFaults
  readonly name?: string
  readonly email?: string
  /** By the name of the model's field. */
  readonly answers?: ReadonlyMap<string, string>
}

/** The faults by the names of the form's fields. */
function renameFaults(faults: FormFaults, fields: readonly EnteredField[]): FormFaults {
  const names = new Set(fields.map(({ name }) => name))
  return new Map([...faults].map(([name, fault]) => [names.has(name) ? formName(name) : name, fault]))
}

/** The default as the text of a form. */
function defaultText({ field }: EnteredField): string | undefined {
  if (field.default?.kind !== 'value') return undefined
  // Any text but an empty one checks a checkbox.
  return field.default.value === false ? '' : String(field.default.value)
}

/** The sign-up page, with the status 400 if there are faults. Throws NOT_FOUND if sign-up is off. */
export function showSignUp(
  parts: RouteParts,
  visit: Visit,
  context: SignUpContext,
  input: SignUpInput,
): RouteReply {
  const { action, app, leadsTo } = context
  const signIn = context.signIn.action
  const { faults, name, email, answers } = input
  if (parts.base.signUp === 'off') throw new ApiError('NOT_FOUND', signUpIsOff)
  const csrf = parts.csrf.token(visit, visit.res)
  const { inputs, inputFaults } = signUpInputs(parts, answers)
  const providers = buttonsOf(parts, csrf, context.signIn)
  const page = signUpPage({
    action,
    csrf,
    faults: inputFaults(faults),
    name,
    email,
    app,
    signIn,
    modelFields: inputs,
    providers,
  })
  return { page, leadsTo: withProviders(parts, leadsTo) }
}

/** The inputs of the model's further fields, and a function that renames faults of fields to faults of inputs. */
export function signUpInputs({ base: { model } }: RouteParts, answers?: ReadonlyMap<string, string>) {
  const fields = signUpFields(model)
  const inputs = fields.map(field => ({
    name: formName(field.name),
    label: field.label,
    schema: field.field.type.schema,
    value: answers ? answers.get(field.name) : defaultText(field),
  }))
  return { inputs, inputFaults: (faults: FormFaults) => renameFaults(faults, fields) }
}

/** The entered texts of the model's further fields, by the names of the fields. */
export function answersIn({ base: { model } }: RouteParts, form: FormBody): ReadonlyMap<string, string> {
  return new Map(signUpFields(model).map(({ name }) => [name, form.text(formName(name))]))
}

/** The page after a sign-up, the same whether an account exists or not. */
export function linkSent(
  parts: RouteParts,
  visit: Visit,
  { action: signIn, signUp: action }: Pick<SignInContext, 'action' | 'signUp'>,
  { email, again }: SentLink,
): RouteReply {
  if (!parts.base.mailArrives) return noMailReply()
  const page = sentPage({
    email,
    sent: address =>
      t(
        'We have sent a message to {email}. Open its link within 24 hours to continue, here or on another device.',
        {
          email: address,
        },
      ),
    action,
    csrf: parts.csrf.token(visit, visit.res),
    again: { again },
    correct: `${action}${action.includes('?') ? '&' : '?'}again=${again}`,
    signIn,
  })
  return { page }
}

async function sendAgain(
  parts: RouteParts,
  visit: Visit,
  context: SignUpContext,
  token: string,
): Promise<RouteReply> {
  const address = parts.throttleAddress(visit.address)
  const answer = await sendLinkAgain(parts.base, token, address, requesterOf(visit))
  if (answer.kind === 'throttled') return tooMany(answer.seconds)
  if (answer.kind === 'sent')
    return linkSent(parts, visit, { ...context.signIn, signUp: context.action }, answer)
  return showSignUp(parts, visit, context, { faults: formFault(messages.signUpOver) })
}

/** The sign-up form, filled in as before if the visitor corrects it. */
export async function openSignUp(
  parts: RouteParts,
  visit: Visit,
  context: SignUpContext,
): Promise<RouteReply> {
  const again = readQuery(visit).optional('again')
  const entered = again === undefined ? undefined : await enteredSignUp(parts.base, again)
  return showSignUp(parts, visit, context, { faults: noFaults, ...entered })
}

/** The reply to a posted sign-up form. */
export async function handleSignUp(
  parts: RouteParts,
  visit: Visit,
  context: SignUpContext,
  form: FormBody,
): Promise<RouteReply> {
  const again = form.optional('again')
  if (again !== undefined) return sendAgain(parts, visit, context, again)
  const [name, email] = [form.text('name'), form.text('email')]
  const address = parts.throttleAddress(visit.address)
  const answers = answersIn(parts, form)
  const answer = await signUp(parts.base, {
    ...{ name, email, password: form.text('password'), address, answers },
    requester: requesterOf(visit),
  })
  if (answer.kind === 'throttled') return tooMany(answer.seconds)
  if (answer.kind === 'faults')
    return showSignUp(parts, visit, context, { faults: answer.faults, name, email, answers })
  if (answer.kind === 'sent')
    return linkSent(parts, visit, { ...context.signIn, signUp: context.action }, answer)
  return showSignIn(parts, visit, { ...context.signIn, note: messages.ready }, { faults: noFaults, email })
}

/** `/account/sign-up`. */
export async function signUpRoute(parts: RouteParts, visit: Visit): Promise<RouteReply> {
  const signIn = accountContext(parts, visit, undefined)
  const context: SignUpContext = { action: '/account/sign-up', signIn, app: undefined, leadsTo: undefined }
  if (visit.method !== 'POST') return openSignUp(parts, visit, context)
  const form = postedForm(parts, visit)
  return handleSignUp(parts, visit, context, form)
}

/** `/account/sign-out`: ends the session of this browser. */
export async function signOutRoute(parts: RouteParts, visit: Visit): Promise<RouteReply> {
  postedForm(parts, visit)
  await parts.server.signOut(visit.req, visit.res)
  return redirect('/account/sign-in')
}
