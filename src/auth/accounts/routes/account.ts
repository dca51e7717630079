/** `/account`, `/account/apps`, `/account/sessions`: what somebody sees of their own account. */
import type { Reply } from '../../../call.ts'
import { accountPage } from '../../pages/account.ts'
import { appsPage } from '../../pages/apps.ts'
import { pageReply } from '../../pages/reply.ts'
import { sessionsPage } from '../../pages/sessions.ts'
import { type RouteParts, redirect, type SignedIn, type Visit } from './context.ts'
import { readForm, readQuery } from './form-body.ts'

/** What a page says after something was done; the address names it, so it can say nothing else. */
const notes: ReadonlyMap<string, string> = new Map([
  ['sent', 'We have sent you a message with a link.'],
  ['verified', 'Your address is confirmed.'],
  [
    'first-verified',
    'Your address is confirmed. Other sessions are over, with what was made or allowed in them, and so are API keys.',
  ],
  ['address-kept', 'Your account keeps its address.'],
  ['disconnected', 'The app is disconnected. What it held works no more.'],
  ['signed-out', 'That session is over.'],
  ['others', 'You are signed out everywhere else.'],
  ['passkey-added', 'The passkey is added.'],
  ['passkey-removed', 'The passkey is removed.'],
  ['key-revoked', 'The key is revoked. It works no more.'],
  ['saved', 'Your changes are saved.'],
  ['app-deleted', 'The app is deleted. Its tokens work no more.'],
  ['secret-ended', 'The secret has ended.'],
  [
    'address-asked',
    'We have sent a link to the new address. It becomes yours when you open the link and type your password.',
  ],
  ['provider-linked', 'It is linked, and signs in to your account from now on.'],
  ['provider-unlinked', 'It is unlinked.'],
  ['password-set', 'Your password is set.'],
  ['webhook-deleted', 'The webhook is deleted.'],
  ['webhook-enabled', 'The webhook goes on from where it stopped.'],
  ['webhook-on', 'The webhook is turned on.'],
  ['webhook-off', 'The webhook is turned off.'],
  [
    'webhook-tested',
    'A test was sent. Its answer stands below, or appears there when you load the page again.',
  ],
  ['redelivered', 'The event is sent again.'],
  ['totp-off', 'One-time codes are turned off.'],
])

export function noteOf(visit: Visit): string | undefined {
  return notes.get(readQuery(visit).text('done'))
}

export async function accountRoute({ base, theme }: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const { id, name, email } = who.user
  const verified = await base.addresses.isVerified(id, email)
  const waiting = await base.addresses.waiting(id)
  const { menu } = who
  return pageReply(theme, accountPage({ menu, name, email, verified, waiting, note: noteOf(visit) }))
}

export async function appsRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const { server, theme, csrf } = parts
  if (visit.method === 'POST') {
    const form = readForm(visit)
    csrf.check(visit, form.text('csrf'))
    await server.revokeApp(who.user.id, form.text('client_id'))
    return redirect('/account/apps?done=disconnected')
  }
  const apps = await server.connectedApps(who.user.id)
  const images = apps.map(({ app }) => app.logoUri)
  return pageReply(theme, appsPage({ menu: who.menu, apps, note: noteOf(visit) }), { images })
}

export async function sessionsRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const { server, theme, csrf } = parts
  const { user, session, menu } = who
  const sessions = await server.sessions(user.id, session.id)
  if (visit.method !== 'POST') {
    return pageReply(theme, sessionsPage({ menu, sessions, note: noteOf(visit) }))
  }
  const form = readForm(visit)
  csrf.check(visit, form.text('csrf'))
  const which = form.text('session')
  if (which !== 'others') {
    await server.revokeSession(user.id, which)
    return redirect('/account/sessions?done=signed-out')
  }
  const others = sessions.filter(({ current }) => !current)
  await Promise.all(others.map(({ id }) => server.revokeSession(user.id, id)))
  return redirect('/account/sessions?done=others')
}
