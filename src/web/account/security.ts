/** `/account/security` and `/account/passkeys/…`. */

import { ApiError } from '../../base/errors.ts'
import { drawing } from '../../base/html.ts'
import { identityKind } from '../../identity/accounts/identities.ts'
import { notifyOfProtection } from '../../identity/accounts/notifications.ts'
import { changePassword, setFirstPassword } from '../../identity/accounts/recovery/reset.ts'
import type { Enrolment } from '../../identity/accounts/sign-in/one-time-codes.ts'
import { passkeyKind } from '../../identity/accounts/sign-in/passkeys.ts'
import { passkeyOptions } from '../../identity/accounts/sign-in/sign-in.ts'
import { removeSignInMethod } from '../../identity/accounts/sign-in/sign-in-methods.ts'
import { keysOf } from '../../identity/keys/user-keys.ts'
import { t } from '../../identity/mail/page-texts.ts'
import { recoveryCodesPage, securityPage, totpPage } from '../pages/account/security.ts'
import { type FormFaults, noFaults } from '../pages/components/form.ts'
import { endedPage } from '../pages/sign-in/account-recovery.ts'
import { noteOf } from './account.ts'
import {
  findViewer,
  type RouteParts,
  type RouteReply,
  rateLimited,
  redirect,
  tooMany,
  type Viewer,
  type Visit,
} from './context.ts'
import { requesterOf } from './requester.ts'
import { changeIn, type FormRoute, hasRecentSignIn, postedForm } from './self-service/self-service.ts'
import { attemptOrigin, rememberDevice } from './sign-in/device-cookie.ts'
import { providerOf, startFlow } from './sign-in/provider-flow.ts'

const path = '/account/security'

async function show(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  faults: FormFaults,
): Promise<RouteReply> {
  const { base, passkeys } = parts
  const { id, password_hash } = viewer.user
  const page = securityPage({
    menu: viewer.menu,
    faults,
    note: faults.size > 0 ? undefined : noteOf(visit),
    passkeys: await passkeys.list(id),
    totp: await base.codes.isOn(id),
    recoveryCodes: await base.codes.recoveryCodesLeft(id),
    keys: (await keysOf(base.run, id)).length,
    hasPassword: password_hash !== null,
    providers: [...parts.providers.values()],
    identities: await base.identities.list(id),
  })
  const leadsTo = parts.providersLeadTo
  return { page, leadsTo }
}

async function showTotp(viewer: Viewer, enrolment: Enrolment, faults: FormFaults): Promise<RouteReply> {
  const { default: encodeQR } = await import('qr')
  const qr = drawing(encodeQR(enrolment.uri, 'svg', { border: 2 }))
  const page = totpPage({ menu: viewer.menu, faults, qr, secret: enrolment.secret })
  return { page }
}

const password: FormRoute = async (parts, visit, viewer, form) => {
  const answer = await changePassword(parts.base, {
    userId: viewer.user.id,
    current: form.text('current_password'),
    password: form.text('new_password'),
    ...attemptOrigin(parts, visit),
    session: viewer.session.id,
    keys: form.text('keys') === 'yes',
    requester: requesterOf(visit),
  })
  if (answer.kind === 'done') {
    await rememberDevice(parts, visit, viewer.user.id)
    const link = { href: path, label: t('Back to security') }
    const title = t('Your password is changed')
    return { page: endedPage({ title, ended: answer.outcome, link, menu: viewer.menu }) }
  }
  if (answer.kind === 'over') throw new ApiError('NOT_FOUND')
  return show(parts, visit, viewer, new Map([[answer.field, answer.message]]))
}

/** Check this after a change, and undo the change if the session has ended: the owner may have recovered the account. */
export async function isStillSignedIn({ server }: RouteParts, { req, res }: Visit): Promise<boolean> {
  return (await server.session(req, res)) !== undefined
}

const addPasskey: FormRoute = async (parts, visit, viewer, form) => {
  const name = form.text('passkey_name').trim().slice(0, 60) || 'Passkey'
  const creator = { userId: viewer.user.id, session: viewer.session.id }
  const passkeyId = await parts.passkeys.add(creator, name, form.text('passkey'))
  if (passkeyId !== undefined && !(await isStillSignedIn(parts, visit)))
    await parts.passkeys.remove(passkeyId)
  else if (passkeyId !== undefined) {
    notifyOfProtection(parts.base, viewer.user, 'passkey-added', requesterOf(visit))
    return redirect(`${path}?done=passkey-added`)
  }
  return show(parts, visit, viewer, new Map([['form', t('The passkey was not added. Try again.')]]))
}

const lastMethod = t('This is your only way to sign in. Set a password or add another way first.')

const removePasskey: FormRoute = async (parts, visit, viewer, form) => {
  const { id: userId } = viewer.user
  const id = form.text('passkey')
  const outcome = await removeSignInMethod(parts, userId, { kind: passkeyKind, id })
  if (outcome === 'last') return show(parts, visit, viewer, new Map([['form', lastMethod]]))
  if (outcome === 'missing') throw new ApiError('NOT_FOUND', 'The passkey does not exist.')
  notifyOfProtection(parts.base, viewer.user, 'passkey-removed', requesterOf(visit))
  return redirect(`${path}?done=passkey-removed`)
}

const startTotp: FormRoute = async (parts, _visit, viewer) => {
  const { base, frame } = parts
  if (await base.codes.isOn(viewer.user.id)) return redirect(path)
  return showTotp(
    viewer,
    await base.codes.start(viewer.user.id, viewer.user.email, frame.theme.name),
    noFaults,
  )
}

const confirmTotp: FormRoute = async (parts, visit, viewer, form) => {
  const { base, frame } = parts
  const { id, email } = viewer.user
  const key = `code:${id}`
  const address = parts.throttleAddress(visit.address)
  const seconds = await base.codeAttempts.take(key, address)
  if (seconds !== undefined) return tooMany(seconds)
  const codes = await base.codes.confirm(id, form.text('code'), viewer.session.id)
  if (codes && !(await isStillSignedIn(parts, visit))) await base.codes.turnOff(id)
  else if (codes) {
    notifyOfProtection(base, viewer.user, 'codes-on', requesterOf(visit))
    base.codeAttempts.succeed(key, address)
    return { page: recoveryCodesPage({ menu: viewer.menu, codes }) }
  }
  const enrolment = await base.codes.pending(id, email, frame.theme.name)
  if (!enrolment) return redirect(path)
  const message = t('The code is wrong. Enter the code that the app shows now.')
  return showTotp(viewer, enrolment, new Map([['code', message]]))
}

const recoveryCodes: FormRoute = async ({ base }, visit, viewer) => {
  if (!(await base.codes.isOn(viewer.user.id))) return redirect(path)
  const codes = await base.codes.newRecoveryCodes(viewer.user.id)
  notifyOfProtection(base, viewer.user, 'recovery-codes', requesterOf(visit))
  return { page: recoveryCodesPage({ menu: viewer.menu, codes }) }
}

const removeTotp: FormRoute = async ({ base }, visit, viewer) => {
  await base.codes.turnOff(viewer.user.id)
  notifyOfProtection(base, viewer.user, 'codes-off', requesterOf(visit))
  return redirect(`${path}?done=totp-off`)
}

const linkProvider: FormRoute = (parts, visit, viewer, form) => {
  const provider = providerOf(parts, form.text('provider'))
  return startFlow(parts, visit, provider, {
    kind: 'link',
    userId: viewer.user.id,
    session: viewer.session.id,
  })
}

const unlinkProvider: FormRoute = async (parts, visit, viewer, form) => {
  const { base, providers } = parts
  const { id: userId } = viewer.user
  const id = form.text('identity')
  const identity = (await base.identities.list(userId)).find(linked => linked.id === id)
  if (!identity) throw new ApiError('NOT_FOUND', 'The linked account does not exist.')
  const outcome = await removeSignInMethod(parts, userId, { kind: identityKind, id })
  if (outcome === 'last') return show(parts, visit, viewer, new Map([['form', lastMethod]]))
  const name = providers.get(identity.provider)?.name ?? identity.provider
  if (outcome === 'removed')
    notifyOfProtection(base, viewer.user, 'provider-unlinked', requesterOf(visit), name)
  return redirect(`${path}?done=provider-unlinked`)
}

const firstPassword: FormRoute = async (parts, visit, viewer, form) => {
  const { base } = parts
  const isSignedIn = () => isStillSignedIn(parts, visit)
  const fault = await setFirstPassword(
    base,
    viewer.user,
    form.text('new_password'),
    isSignedIn,
    requesterOf(visit),
  )
  if (fault !== undefined) return show(parts, visit, viewer, new Map([['new_password', fault]]))
  return redirect(`${path}?done=password-set`)
}

const changes: ReadonlyMap<string, FormRoute> = new Map([
  ['password', password],
  ['add-passkey', addPasskey],
  ['remove-passkey', removePasskey],
  ['start-totp', startTotp],
  ['confirm-totp', confirmTotp],
  ['recovery-codes', recoveryCodes],
  ['remove-totp', removeTotp],
  ['link-provider', linkProvider],
  ['unlink-provider', unlinkProvider],
  ['first-password', firstPassword],
])

/** `/account/security`. Every change but that of the password needs a recent sign-in. */
export async function securityRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  if (visit.method !== 'POST') return show(parts, visit, viewer, noFaults)
  const form = postedForm(parts, visit)
  const change = changeIn(form, changes)
  // A change of the password requires the old one instead.
  if (change !== password && !hasRecentSignIn(parts, viewer))
    return redirect(`/account/sign-in?confirm=yes&next=${path}`)
  return change(parts, visit, viewer, form)
}

/** The options for `navigator.credentials`, which the script fetches. */
export async function passkeyOptionsRoute(
  parts: RouteParts,
  visit: Visit,
  kind: string,
): Promise<RouteReply> {
  postedForm(parts, visit)
  const options = kind === 'create' ? await creationOptions(parts, visit) : await requestOptions(parts, visit)
  const headers = ['Content-Type', 'application/json', 'Cache-Control', 'no-store']
  return { status: 200, headers, body: JSON.stringify(options) }
}

async function creationOptions(parts: RouteParts, visit: Visit): Promise<object> {
  const viewer = await findViewer(parts, visit)
  if (!viewer) throw new ApiError('UNAUTHORIZED', 'Sign in first.')
  const { id: userId, email, name } = viewer.user
  return parts.passkeys.creationOptions({ userId, email, name })
}

/** The options for a sign-in with a passkey. Throws RATE_LIMITED. */
export async function requestOptions(parts: RouteParts, visit: Visit): Promise<object> {
  const options = await passkeyOptions(parts.base, parts.passkeys, attemptOrigin(parts, visit))
  if (typeof options !== 'number') return options
  throw rateLimited(options)
}
