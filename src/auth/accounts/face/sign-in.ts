/** `/account/sign-in`, `/account/sign-up`, `/account/sign-out`; and their like while an app waits. */
import type { Reply } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'
import { formName } from '../../pages/asked-field.ts'
import { type Faults, noFaults } from '../../pages/form.ts'
import { messagePage } from '../../pages/message.ts'
import { pageReply } from '../../pages/reply.ts'
import { secondFactorPage, signInPage } from '../../pages/sign-in.ts'
import { signUpPage } from '../../pages/sign-up.ts'
import type { NextPath } from '../../server/server.ts'
import { type Asked, askedFields } from '../asked-fields.ts'
import {
  type Proven,
  type SignInAnswer,
  signInByCode,
  signInByPasskey,
  signInByPassword,
} from '../sign-in.ts'
import { signUp, signUpIsOff } from '../sign-up.ts'
import { type FaceParts, redirect, safeNext, signedIn, tooMany, type Visit } from './context.ts'
import { fromOf, rememberDevice } from './device-cookie.ts'
import { type FormBody, readForm, readQuery } from './form-body.ts'

/** Where somebody signs in, and what follows. */
export interface Desk {
  readonly action: string
  readonly signUp: string
  /** The app that waits. */
  readonly app: string | undefined
  readonly email: string | undefined
  readonly next: string | undefined
  readonly note: string | undefined
  /** Where a form's answer may lead. */
  readonly leadsTo: string | undefined
  finish(proven: Proven): Promise<NextPath>
}

const messages = {
  wrong: 'The e-mail address or the password is wrong.',
  code: 'The code is wrong, or was used already.',
  ready:
    'If this address had no account yet, it has one now. Sign in with the password that you have just chosen.',
  over: 'That took too long. Sign in again.',
  passkey: 'The passkey was not accepted. Try again, or use your password.',
}

function formFault(message: string): Faults {
  return new Map([['form', message]])
}

interface Shown {
  readonly faults: Faults
  readonly email?: string | undefined
  readonly remember?: boolean
}

export function showSignIn({ base, theme, csrf }: FaceParts, visit: Visit, desk: Desk, shown: Shown): Reply {
  const { faults, email = desk.email, remember = false } = shown
  const page = signInPage({
    action: desk.action,
    csrf: csrf.token(visit, visit.res),
    faults,
    email,
    remember,
    app: desk.app,
    signUp: base.signUp === 'off' ? undefined : desk.signUp,
    next: desk.next,
    note: desk.note,
  })
  return pageReply(theme, page, { status: faults.size > 0 ? 400 : 200, leadsTo: desk.leadsTo })
}

function showSecondFactor(parts: FaceParts, visit: Visit, desk: Desk, token: string, faults: Faults): Reply {
  const csrf = parts.csrf.token(visit, visit.res)
  const page = secondFactorPage({ action: desk.action, csrf, faults, token, next: desk.next })
  return pageReply(parts.theme, page, { status: faults.size > 0 ? 400 : 200, leadsTo: desk.leadsTo })
}

async function byCode(
  parts: FaceParts,
  visit: Visit,
  desk: Desk,
  form: FormBody,
  token: string,
): Promise<Reply> {
  const answer = await signInByCode(parts.base, token, form.text('code'), fromOf(parts, visit))
  if (answer.kind === 'over') return showSignIn(parts, visit, desk, { faults: formFault(messages.over) })
  if (answer.kind === 'wrong') {
    return showSecondFactor(parts, visit, desk, token, new Map([['code', messages.code]]))
  }
  return settled(parts, visit, desk, answer)
}

async function settled(parts: FaceParts, visit: Visit, desk: Desk, answer: SignInAnswer): Promise<Reply> {
  if (answer.kind === 'throttled') return tooMany(parts.theme, answer.seconds)
  if (answer.kind === 'second-factor') return showSecondFactor(parts, visit, desk, answer.token, noFaults)
  if (answer.kind === 'wrong') return showSignIn(parts, visit, desk, { faults: formFault(messages.wrong) })
  visit.userId = answer.userId
  await rememberDevice(parts, visit, answer.userId)
  return redirect(await desk.finish(answer))
}

/** Any of the three forms by which somebody signs in. */
export async function handleSignIn(
  parts: FaceParts,
  visit: Visit,
  desk: Desk,
  form: FormBody,
): Promise<Reply> {
  const from = fromOf(parts, visit)
  const token = form.optional('second_factor')
  if (token !== undefined) return byCode(parts, visit, desk, form, token)
  const passkey = form.optional('passkey')
  if (passkey !== undefined) {
    const answer = await signInByPasskey(parts.base, parts.passkeys, passkey, from)
    if (answer.kind !== 'wrong') return settled(parts, visit, desk, answer)
    return showSignIn(parts, visit, desk, { faults: formFault(messages.passkey) })
  }
  const email = form.text('email')
  const remember = form.text('remember') === 'yes'
  const faults = missing(form, { email: 'Enter your e-mail address.', password: 'Enter your password.' })
  if (faults.size > 0) return showSignIn(parts, visit, desk, { faults, email, remember })
  const answer = await signInByPassword(parts.base, {
    email,
    password: form.text('password'),
    remember,
    ...from,
  })
  if (answer.kind !== 'wrong') return settled(parts, visit, desk, answer)
  return showSignIn(parts, visit, desk, { faults: formFault(messages.wrong), email, remember })
}

export function missing(form: FormBody, needed: Readonly<Record<string, string>>): Faults {
  return new Map(Object.entries(needed).filter(([name]) => form.text(name).trim() === ''))
}

function accountDesk({ server }: FaceParts, visit: Visit, next: string | undefined, note?: string): Desk {
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

export async function signInRoute(parts: FaceParts, visit: Visit): Promise<Reply> {
  if (visit.method === 'POST') {
    const form = readForm(visit)
    parts.csrf.check(visit, form.text('csrf'))
    return handleSignIn(parts, visit, accountDesk(parts, visit, safeNext(form.optional('next'))), form)
  }
  const query = readQuery(visit)
  const next = safeNext(query.optional('next'))
  const asks = query.text('confirm') === 'yes'
  const who = await signedIn(parts, visit)
  if (who && !asks) return redirect(next ?? '/account')
  const note = asks ? 'Confirm that it is you: this changes how your account is protected.' : undefined
  const desk = accountDesk(parts, visit, next, note)
  return showSignIn(parts, visit, desk, { faults: noFaults, email: who?.user.email })
}

export interface SignUpDesk {
  readonly action: string
  /** Where to sign in, with or without a new account. */
  readonly signIn: Desk
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

/** Faults by the names that fields of the model have in the form. */
function inForm(faults: Faults, asked: readonly Asked[]): Faults {
  const names = new Set(asked.map(({ name }) => name))
  return new Map([...faults].map(([name, fault]) => [names.has(name) ? formName(name) : name, fault]))
}

function proposed({ field }: Asked): string | undefined {
  if (field.default?.kind !== 'value') return undefined
  // A box is ticked by any value.
  return field.default.value === false ? '' : String(field.default.value)
}

export function showSignUp(parts: FaceParts, visit: Visit, desk: SignUpDesk, shown: SignUpShown): Reply {
  const { action, app, leadsTo } = desk
  const signIn = desk.signIn.action
  const { faults, name, email, answers } = shown
  if (parts.base.signUp === 'off') throw new ApiError('NOT_FOUND', signUpIsOff)
  const csrf = parts.csrf.token(visit, visit.res)
  const fields = askedFields(parts.base.model)
  const asked = fields.map(one => ({
    name: formName(one.name),
    label: one.label,
    schema: one.field.type.schema,
    value: answers ? answers.get(one.name) : proposed(one),
  }))
  const page = signUpPage({ action, csrf, faults: inForm(faults, fields), name, email, app, signIn, asked })
  return pageReply(parts.theme, page, { status: faults.size > 0 ? 400 : 200, leadsTo })
}

function linkSent({ theme }: FaceParts, signIn: string): Reply {
  const page = messagePage({
    title: 'Look into your mail',
    paragraphs: ['We have sent you a message. Open the link in it within 24 hours to go on.'],
    link: { href: signIn, label: 'Back to sign-in' },
  })
  return pageReply(theme, page)
}

export async function handleSignUp(
  parts: FaceParts,
  visit: Visit,
  desk: SignUpDesk,
  form: FormBody,
): Promise<Reply> {
  const [name, email] = [form.text('name'), form.text('email')]
  const address = parts.throttleAddress(visit.address)
  const fields = askedFields(parts.base.model)
  const answers = new Map(fields.map(one => [one.name, form.text(formName(one.name))]))
  const answer = await signUp(parts.base, { name, email, password: form.text('password'), address, answers })
  if (answer.kind === 'throttled') return tooMany(parts.theme, answer.seconds)
  if (answer.kind === 'faults')
    return showSignUp(parts, visit, desk, { faults: answer.faults, name, email, answers })
  if (answer.kind === 'sent') return linkSent(parts, desk.signIn.action)
  return showSignIn(parts, visit, { ...desk.signIn, note: messages.ready }, { faults: noFaults, email })
}

export async function signUpRoute(parts: FaceParts, visit: Visit): Promise<Reply> {
  const signIn = accountDesk(parts, visit, undefined)
  const desk: SignUpDesk = { action: '/account/sign-up', signIn, app: undefined, leadsTo: undefined }
  if (visit.method !== 'POST') return showSignUp(parts, visit, desk, { faults: noFaults })
  const form = readForm(visit)
  parts.csrf.check(visit, form.text('csrf'))
  return handleSignUp(parts, visit, desk, form)
}

export async function signOutRoute(parts: FaceParts, visit: Visit): Promise<Reply> {
  parts.csrf.check(visit, readForm(visit).text('csrf'))
  await parts.server.signOut(visit.req, visit.res)
  return redirect('/account/sign-in')
}
