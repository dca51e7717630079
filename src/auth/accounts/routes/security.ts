/** `/account/security` and `/account/passkeys/…`. */
import type { Reply } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'
import { recoveryCodesPage, securityPage, totpPage } from '../../pages/account/security.ts'
import { type Faults, noFaults } from '../../pages/components/form.ts'
import { drawing } from '../../pages/components/html.ts'
import { pageReply } from '../../pages/frame/reply.ts'
import { endedPage } from '../../pages/sign-in/account-recovery.ts'
import { keysOf } from '../../user-keys.ts'
import { identityKind } from '../identities.ts'
import { notifyOfProtection } from '../notifications.ts'
import { changePassword, setFirstPassword } from '../recovery/reset.ts'
import type { Enrolment } from '../sign-in/one-time-codes.ts'
import { passkeyKind } from '../sign-in/passkeys.ts'
import { removeWay } from '../sign-in/ways-to-sign-in.ts'
import { passkeyOptions } from '../sign-in.ts'
import { noteOf } from './account.ts'
import { askerOf } from './asker.ts'
import { type RouteParts, redirect, type SignedIn, signedIn, tooMany, type Visit } from './context.ts'
import type { FormBody } from './form-body.ts'
import { isFresh, postedForm } from './own.ts'
import { fromOf, rememberDevice } from './sign-in/device-cookie.ts'
import { providerOf, startFlow } from './sign-in/provider-flow.ts'

const here = '/account/security'

async function show(parts: RouteParts, visit: Visit, who: SignedIn, faults: Faults): Promise<Reply> {
  const { base, passkeys, theme } = parts
  const { id, password_hash } = who.user
  const page = securityPage({
    menu: who.menu,
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
  return pageReply(theme, page, { status: faults.size > 0 ? 400 : 200, leadsTo })
}

async function showTotp(
  parts: RouteParts,
  who: SignedIn,
  enrolment: Enrolment,
  faults: Faults,
): Promise<Reply> {
  const { default: encodeQR } = await import('qr')
  const qr = drawing(encodeQR(enrolment.uri, 'svg', { border: 2 }))
  const page = totpPage({ menu: who.menu, faults, qr, secret: enrolment.secret })
  return pageReply(parts.theme, page, { status: faults.size > 0 ? 400 : 200 })
}

type Change = (parts: RouteParts, visit: Visit, who: SignedIn, form: FormBody) => Promise<Reply>

const password: Change = async (parts, visit, who, form) => {
  const answer = await changePassword(parts.base, {
    userId: who.user.id,
    current: form.text('current_password'),
    password: form.text('new_password'),
    ...fromOf(parts, visit),
    session: who.session.id,
    keys: form.text('keys') === 'yes',
    asker: askerOf(visit),
  })
  if (answer.kind === 'done') {
    await rememberDevice(parts, visit, who.user.id)
    const link = { href: here, label: 'Back to security' }
    const { menu } = who
    return pageReply(
      parts.theme,
      endedPage({ title: 'Your password is changed', ended: answer.ended, link, menu }),
    )
  }
  if (answer.kind === 'over') throw new ApiError('NOT_FOUND')
  return show(parts, visit, who, new Map([[answer.field, answer.message]]))
}

/** To be checked after a change: what an intruder changes while the owner recovers the account is undone. */
export async function isStillSignedIn({ server }: RouteParts, { req, res }: Visit): Promise<boolean> {
  return (await server.session(req, res)) !== undefined
}

const addPasskey: Change = async (parts, visit, who, form) => {
  const name = form.text('passkey_name').trim().slice(0, 60) || 'Passkey'
  const maker = { userId: who.user.id, session: who.session.id }
  const added = await parts.passkeys.add(maker, name, form.text('passkey'))
  if (added !== undefined && !(await isStillSignedIn(parts, visit))) await parts.passkeys.remove(added)
  else if (added !== undefined) {
    notifyOfProtection(parts.base, who.user, 'passkey-added', askerOf(visit))
    return redirect(`${here}?done=passkey-added`)
  }
  return show(parts, visit, who, new Map([['form', 'The passkey was not added. Try again.']]))
}

const lastWay = 'This is your only way to sign in. Set a password first, or add another.'

const removePasskey: Change = async (parts, visit, who, form) => {
  const { id: userId } = who.user
  const id = form.text('passkey')
  const removed = await removeWay(parts, userId, { kind: passkeyKind, id })
  if (removed === 'last') return show(parts, visit, who, new Map([['form', lastWay]]))
  if (removed === 'missing') throw new ApiError('NOT_FOUND', 'You have no such passkey.')
  notifyOfProtection(parts.base, who.user, 'passkey-removed', askerOf(visit))
  return redirect(`${here}?done=passkey-removed`)
}

const startTotp: Change = async (parts, _visit, who) => {
  const { base, theme } = parts
  if (await base.codes.isOn(who.user.id)) return redirect(here)
  return showTotp(parts, who, await base.codes.start(who.user.id, who.user.email, theme.name), noFaults)
}

const confirmTotp: Change = async (parts, visit, who, form) => {
  const { base, theme } = parts
  const { id, email } = who.user
  const key = `code:${id}`
  const address = parts.throttleAddress(visit.address)
  const seconds = await base.codeAttempts.take(key, address)
  if (seconds !== undefined) return tooMany(theme, seconds)
  const codes = await base.codes.confirm(id, form.text('code'), who.session.id)
  if (codes && !(await isStillSignedIn(parts, visit))) await base.codes.turnOff(id)
  else if (codes) {
    notifyOfProtection(base, who.user, 'codes-on', askerOf(visit))
    base.codeAttempts.succeed(key, address)
    return pageReply(theme, recoveryCodesPage({ menu: who.menu, codes }))
  }
  const waiting = await base.codes.waiting(id, email, theme.name)
  if (!waiting) return redirect(here)
  const message = 'The code is wrong. Type the one that the app shows now.'
  return showTotp(parts, who, waiting, new Map([['code', message]]))
}

const recoveryCodes: Change = async ({ base, theme }, visit, who) => {
  if (!(await base.codes.isOn(who.user.id))) return redirect(here)
  const codes = await base.codes.newRecoveryCodes(who.user.id)
  notifyOfProtection(base, who.user, 'recovery-codes', askerOf(visit))
  return pageReply(theme, recoveryCodesPage({ menu: who.menu, codes }))
}

const removeTotp: Change = async ({ base }, visit, who) => {
  await base.codes.turnOff(who.user.id)
  notifyOfProtection(base, who.user, 'codes-off', askerOf(visit))
  return redirect(`${here}?done=totp-off`)
}

const linkProvider: Change = (parts, visit, who, form) => {
  const provider = providerOf(parts, form.text('provider'))
  return startFlow(parts, visit, provider, { kind: 'link', userId: who.user.id, session: who.session.id })
}

const unlinkProvider: Change = async (parts, visit, who, form) => {
  const { base, providers } = parts
  const { id: userId } = who.user
  const id = form.text('identity')
  const identity = (await base.identities.list(userId)).find(one => one.id === id)
  if (!identity) throw new ApiError('NOT_FOUND', 'Nothing of the kind is linked.')
  const removed = await removeWay(parts, userId, { kind: identityKind, id })
  if (removed === 'last') return show(parts, visit, who, new Map([['form', lastWay]]))
  const name = providers.get(identity.provider)?.name ?? identity.provider
  if (removed === 'removed') notifyOfProtection(base, who.user, 'provider-unlinked', askerOf(visit), name)
  return redirect(`${here}?done=provider-unlinked`)
}

const firstPassword: Change = async (parts, visit, who, form) => {
  const { base } = parts
  const isStill = () => isStillSignedIn(parts, visit)
  const fault = await setFirstPassword(base, who.user, form.text('new_password'), isStill, askerOf(visit))
  if (fault !== undefined) return show(parts, visit, who, new Map([['new_password', fault]]))
  return redirect(`${here}?done=password-set`)
}

const changes: ReadonlyMap<string, Change> = new Map([
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

export async function securityRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  if (visit.method !== 'POST') return show(parts, visit, who, noFaults)
  const form = postedForm(parts, visit)
  const name = form.text('change')
  const change = changes.get(name)
  if (!change) throw new ApiError('BAD_REQUEST', 'There is no such change.')
  // The form for a new password asks for the old one.
  if (name !== 'password' && !isFresh(parts, who))
    return redirect(`/account/sign-in?confirm=yes&next=${here}`)
  return change(parts, visit, who, form)
}

/** The options for `navigator.credentials`, which the script fetches. */
export async function passkeyOptionsRoute(parts: RouteParts, visit: Visit, kind: string): Promise<Reply> {
  postedForm(parts, visit)
  const options = kind === 'create' ? await creationOptions(parts, visit) : await requestOptions(parts, visit)
  const headers = ['Content-Type', 'application/json', 'Cache-Control', 'no-store']
  return { status: 200, headers, body: JSON.stringify(options) }
}

async function creationOptions(parts: RouteParts, visit: Visit): Promise<object> {
  const who = await signedIn(parts, visit)
  if (!who) throw new ApiError('UNAUTHORIZED', 'Sign in first.')
  const { id: userId, email, name } = who.user
  return parts.passkeys.creationOptions({ userId, email, name })
}

export async function requestOptions(parts: RouteParts, visit: Visit): Promise<object> {
  const options = await passkeyOptions(parts.base, parts.passkeys, fromOf(parts, visit))
  if (typeof options !== 'number') return options
  throw new ApiError('RATE_LIMITED', undefined, { headers: { 'Retry-After': String(options) } })
}
