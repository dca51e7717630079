/** `/account/reset` and `/account/verify`, the pages of the links in mails. */

import type { Text } from '../../../base/html.ts'
import {
  addressToConfirm,
  confirmAddress,
  sendConfirmation,
} from '../../../identity/accounts/addresses/verification.ts'
import { canReset, requestReset, reset } from '../../../identity/accounts/recovery/reset.ts'
import { finishSignUp, pendingSignUp } from '../../../identity/accounts/sign-up/sign-up.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { signInTime } from '../../../identity/server/sessions/session-ends.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { messagePage } from '../../pages/frame/message.ts'
import { endedPage } from '../../pages/sign-in/account-recovery.ts'
import { finishWithProviderPage } from '../../pages/sign-in/providers.ts'
import { finishPage, resetPage, resetRequestPage, verifyPage } from '../../pages/sign-in/reset.ts'
import { sentPage } from '../../pages/sign-in/sent.ts'
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
import { hasRecentSignIn, postedForm } from '../self-service/self-service.ts'
import { attemptOrigin, rememberDevice } from './device-cookie.ts'
import { providerOf } from './provider-flow.ts'
import { blankFields } from './sign-in.ts'

function expiredReply(href: string, label: Text): RouteReply {
  const page = messagePage({
    title: t('This link no longer works'),
    paragraphs: [t('It has expired, or was used already. Ask for a new one.')],
    link: { href, label },
    icon: 'clock',
  })
  return { page, status: 400 }
}

function refusedReply(messages: readonly Text[]): RouteReply {
  const page = messagePage({
    title: t('Your account could not be created'),
    paragraphs: messages,
    link: { href: '/account/sign-up', label: t('Create an account') },
  })
  return { page, status: 400 }
}

function resetExpiredReply(): RouteReply {
  return expiredReply('/account/reset', t('Ask for a new link'))
}

function showReset({ csrf }: RouteParts, visit: Visit, token: string, faults: FormFaults): RouteReply {
  const page = resetPage({ csrf: csrf.token(visit, visit.res), faults, token })
  return { page }
}

function showRequest({ csrf }: RouteParts, visit: Visit, faults: FormFaults): RouteReply {
  const page = resetRequestPage({ csrf: csrf.token(visit, visit.res), faults })
  return { page }
}

/** The reply is the same for every address. */
async function requestLink(parts: RouteParts, visit: Visit, form: FormBody): Promise<RouteReply> {
  const faults = blankFields(form, { email: t('Enter your e-mail address.') })
  if (faults.size > 0) return showRequest(parts, visit, faults)
  const { address, secrets } = attemptOrigin(parts, visit)
  const seconds = await requestReset(
    parts.base,
    form.text('email').slice(0, 300),
    address,
    secrets,
    requesterOf(visit),
  )
  if (seconds !== undefined) return tooMany(seconds)
  const page = sentPage({
    email: form.text('email').trim(),
    sent: email =>
      t('If there is an account with the address {email}, we have sent a link to it. It works for an hour.', {
        email,
      }),
    note: t('Every link of the last half hour works: use the newest one that you find.'),
    action: '/account/reset',
    csrf: parts.csrf.token(visit, visit.res),
    again: { email: form.text('email') },
    correct: '/account/reset',
    signIn: '/account/sign-in',
  })
  return { page }
}

async function setPassword(
  parts: RouteParts,
  visit: Visit,
  form: FormBody,
  token: string,
): Promise<RouteReply> {
  const answer = await reset(parts.base, token, form.text('password'), requesterOf(visit))
  if (answer.kind === 'over') return resetExpiredReply()
  if (answer.kind === 'fault')
    return showReset(parts, visit, token, new Map([[answer.field, answer.message]]))
  await rememberDevice(parts, visit, answer.userId)
  const link = { href: '/account/sign-in', label: t('Sign in') }
  return { page: endedPage({ title: t('Your password is set'), ended: answer.outcome, link }) }
}

export async function resetRoute(parts: RouteParts, visit: Visit): Promise<RouteReply> {
  if (visit.method === 'POST') {
    const form = postedForm(parts, visit)
    const token = form.optional('token')
    if (token !== undefined) return setPassword(parts, visit, form, token)
    return parts.base.mailArrives ? requestLink(parts, visit, form) : noMailReply()
  }
  const token = readQuery(visit).optional('token')
  if (token === undefined) return parts.base.mailArrives ? showRequest(parts, visit, noFaults) : noMailReply()
  return (await canReset(parts.base, token)) ? showReset(parts, visit, token, noFaults) : resetExpiredReply()
}

function verifyExpiredReply(): RouteReply {
  return expiredReply('/account', t('Your account'))
}

async function showVerify(parts: RouteParts, visit: Visit): Promise<RouteReply> {
  const query = readQuery(visit)
  const account = query.optional('account')
  if (account !== undefined) {
    const pending = await pendingSignUp(parts.base, account)
    if (pending === undefined) return expiredReply('/account/sign-up', t('Create an account'))
    const { email, provider } = pending
    if (provider !== undefined) return showFinishWith(parts, visit, account, email, provider)
    return showPending(parts, visit, account, email, noFaults)
  }
  const token = query.text('token')
  return showConfirm(parts, visit, token, noFaults)
}

async function showConfirm(
  parts: RouteParts,
  visit: Visit,
  token: string,
  faults: FormFaults,
): Promise<RouteReply> {
  const address = await addressToConfirm(parts.base, token)
  if (address === undefined) return verifyExpiredReply()
  const viewer = await findViewer(parts, visit)
  if (!viewer) return signInFirst(token)
  if (viewer.user.id !== address.userId) return otherAccount(address.email, token)
  const asksPassword = address.isNew && viewer.user.password_hash !== null
  if (address.isNew && !asksPassword && !hasRecentSignIn(parts, viewer)) return signInAgain(token)
  const csrf = parts.csrf.token(visit, visit.res)
  const page = verifyPage({ csrf, token, ...address, asksPassword, faults })
  return { page }
}

/** For users without a password. */
function signInAgain(token: string): RouteReply {
  const next = encodeURIComponent(`/account/verify?token=${token}`)
  return redirect(`/account/sign-in?confirm=yes&next=${next}`)
}

/** The sign-in leads back to the link, which is often opened on another device than the one with the session. */
function signInFirst(token: string): RouteReply {
  const next = encodeURIComponent(`/account/verify?token=${token}`)
  return redirect(`/account/sign-in?next=${next}`)
}

/** For a link that is opened in a browser where somebody else is signed in. */
function otherAccount(email: string, token: string): RouteReply {
  const next = encodeURIComponent(`/account/verify?token=${token}`)
  const page = messagePage({
    title: t('This link is for another account'),
    paragraphs: [
      t(
        'You are signed in to a different account. To confirm {email}, sign in to the account that asked for it.',
        {
          email,
        },
      ),
    ],
    link: { href: `/account/sign-in?switch=yes&next=${next}`, label: t('Sign in to that account') },
  })
  return { page }
}

function showPending(
  parts: RouteParts,
  visit: Visit,
  account: string,
  email: string,
  faults: FormFaults,
): RouteReply {
  const page = finishPage({ csrf: parts.csrf.token(visit, visit.res), account, email, faults })
  return { page }
}

/** For an account without a password: the person who opens the link signs in with the provider again. */
function showFinishWith(
  parts: RouteParts,
  visit: Visit,
  account: string,
  email: string,
  id: string,
): RouteReply {
  const { csrf, providersLeadTo: leadsTo } = parts
  const provider = providerOf(parts, id)
  const page = finishWithProviderPage({ csrf: csrf.token(visit, visit.res), provider, account, email })
  return { page, leadsTo }
}

async function finishAccount(
  parts: RouteParts,
  visit: Visit,
  form: FormBody,
  account: string,
): Promise<RouteReply> {
  const { base, server } = parts
  const answer = await finishSignUp(
    base,
    account,
    form.text('password'),
    parts.throttleAddress(visit.address),
  )
  if (answer.kind === 'throttled') return tooMany(answer.seconds)
  if (answer.kind === 'wrong') {
    const email = (await pendingSignUp(base, account))?.email ?? ''
    return showPending(parts, visit, account, email, new Map([['password', t('The password is wrong.')]]))
  }
  if (answer.kind === 'over') return expiredReply('/account/sign-up', t('Create an account'))
  if (answer.kind === 'refused') return refusedReply(answer.messages)
  const { userId } = answer
  const { req, res, address } = visit
  const at = await signInTime(base.records, userId, base.now())
  await server.signIn(req, res, { userId, remember: false, methods: ['pwd'], address, at })
  await rememberDevice(parts, visit, userId)
  return redirect('/account?done=verified')
}

async function sendAgain(
  parts: RouteParts,
  visit: Visit,
  { user }: Viewer,
  form: FormBody,
): Promise<RouteReply> {
  if (!parts.base.mailArrives) return noMailReply()
  const seconds = await parts.base.confirmationMails.take(user.email, parts.throttleAddress(visit.address))
  if (seconds !== undefined) return tooMany(seconds)
  parts.base.background(() => sendConfirmation(parts.base, user.id, user.email, requesterOf(visit)))
  return redirect(`${safeNext(form.optional('back')) ?? '/account'}?done=sent`)
}

export async function verifyRoute(parts: RouteParts, visit: Visit): Promise<RouteReply> {
  if (visit.method !== 'POST') return showVerify(parts, visit)
  const form = postedForm(parts, visit)
  const account = form.optional('account')
  if (account !== undefined) return finishAccount(parts, visit, form, account)
  const viewer = await findViewer(parts, visit)
  if (!viewer) return signInFirst(form.text('token'))
  if (form.text('send') === 'yes') return sendAgain(parts, visit, viewer, form)
  if (form.text('drop') === 'yes') {
    await parts.base.addresses.dropPending(viewer.user.id)
    return redirect('/account?done=address-kept')
  }
  return confirm(parts, visit, form, viewer)
}

async function confirm(parts: RouteParts, visit: Visit, form: FormBody, viewer: Viewer): Promise<RouteReply> {
  const token = form.text('token')
  const answer = await confirmAddress(parts.base, {
    token,
    userId: viewer.user.id,
    session: viewer.session.id,
    password: form.text('password'),
    hasRecentSignIn: hasRecentSignIn(parts, viewer),
    ...attemptOrigin(parts, visit),
  })
  if (answer.kind === 'done') {
    await rememberDevice(parts, visit, viewer.user.id)
    return redirect(`/account?done=${answer.isFirst ? 'first-verified' : 'verified'}`)
  }
  if (answer.kind === 'throttled') return tooMany(answer.seconds)
  if (answer.kind === 'over') return verifyExpiredReply()
  if (answer.kind === 'stale') return signInAgain(token)
  return showConfirm(parts, visit, token, new Map([['password', t('This is not your password.')]]))
}
