/** `/account`, `/account/apps`, `/account/sessions`. */
import type { Reply } from '../../../call.ts'
import { accountPage } from '../../pages/account/account.ts'
import { appsPage } from '../../pages/account/apps.ts'
import { sessionsPage } from '../../pages/account/sessions.ts'
import { pageReply } from '../../pages/frame/reply.ts'
import { scopeGroups } from '../../server/consent/choices.ts'
import type { SessionInfo } from '../../server/server.ts'
import { type RouteParts, redirect, type SignedIn, type Visit } from './context.ts'
import { readQuery } from './form-body.ts'
import { accountState, createdAt } from './overview.ts'
import { postedForm } from './own.ts'

/** The notes after a change. The query of the page names one of them, so links of strangers show no other text. */
const notes: ReadonlyMap<string, string> = new Map([
  ['verified', 'Your address is confirmed.'],
  [
    'first-verified',
    'Your address is confirmed. Other sessions are over, with what was made or allowed in them, and so are API keys.',
  ],
  ['address-kept', 'Your account keeps its address.'],
  ['disconnected', 'The app is disconnected. Its tokens no longer work.'],
  ['signed-out', 'That session is over.'],
  ['others', 'You are signed out everywhere else.'],
  ['passkey-added', 'The passkey is added.'],
  ['passkey-removed', 'The passkey is removed.'],
  ['key-revoked', 'The key is revoked. It no longer works.'],
  ['saved', 'Your changes are saved.'],
  ['app-deleted', 'The app is deleted. Its tokens no longer work.'],
  ['secret-ended', 'The secret has ended.'],
  [
    'address-asked',
    'We have sent a link to the new address. It becomes yours when you open the link and confirm it.',
  ],
  ['provider-linked', 'It is linked. You can now sign in with it.'],
  ['provider-unlinked', 'It is unlinked.'],
  ['password-set', 'Your password is set.'],
  ['webhook-deleted', 'The webhook is deleted.'],
  ['webhook-enabled', 'The webhook goes on from where it stopped.'],
  ['webhook-on', 'The webhook is turned on.'],
  ['webhook-off', 'The webhook is turned off.'],
  [
    'webhook-tested',
    'A test was sent. The response is shown below, or will be when you load the page again.',
  ],
  ['redelivered', 'The event is sent again.'],
  ['totp-off', 'One-time codes are turned off.'],
])

export function noteOf(visit: Visit): string | undefined {
  return notes.get(readQuery(visit).text('done'))
}

export async function accountRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const { base, theme } = parts
  const { menu, user } = who
  const [waiting, since, state] = await Promise.all([
    base.addresses.waiting(user.id),
    createdAt(parts, who),
    accountState(parts, who),
  ])
  const verified = menu.unconfirmed === undefined
  return pageReply(theme, accountPage({ menu, verified, since, waiting, state, note: noteOf(visit) }))
}

async function showApps({ base, server, theme }: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const found = await server.connectedApps(who.user.id)
  const apps = found.map(one => {
    const asked = { scopes: one.scopes, allowedBefore: new Set<string>() }
    return { ...one, groups: scopeGroups(base.model, asked, who.user) }
  })
  const page = appsPage({ menu: who.menu, apps, note: noteOf(visit), now: base.now() })
  return pageReply(theme, page, { images: apps.map(({ app }) => app.logoUri) })
}

export async function appsRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  if (visit.method !== 'POST') return showApps(parts, visit, who)
  await parts.server.revokeApp(who.user.id, postedForm(parts, visit).text('client_id'))
  return redirect('/account/apps?done=disconnected')
}

async function showSessions(
  { base, server, theme }: RouteParts,
  visit: Visit,
  who: SignedIn,
): Promise<Reply> {
  const found = await server.sessions(who.user.id, who.session.id)
  const sessions = [...found].sort((one, other) => rank(other) - rank(one))
  const page = sessionsPage({ menu: who.menu, sessions, note: noteOf(visit), now: base.now() })
  return pageReply(theme, page)
}

/** The current browser comes first, then the others by their last use. */
function rank({ current, usedAt }: SessionInfo): number {
  return current ? Number.POSITIVE_INFINITY : usedAt
}

export async function sessionsRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  if (visit.method !== 'POST') return showSessions(parts, visit, who)
  const form = postedForm(parts, visit)
  const which = form.text('session')
  if (which === 'others') return signOutEverywhere(parts, visit, who, form.text('this') === 'yes')
  await parts.server.revokeSession(who.user.id, which)
  return redirect('/account/sessions?done=signed-out')
}

async function signOutEverywhere(
  { server }: RouteParts,
  { req, res }: Visit,
  { user, session }: SignedIn,
  alsoThis: boolean,
): Promise<Reply> {
  const others = (await server.sessions(user.id, session.id)).filter(({ current }) => !current)
  await Promise.all(others.map(({ id }) => server.revokeSession(user.id, id)))
  if (!alsoThis) return redirect('/account/sessions?done=others')
  await server.signOut(req, res)
  return redirect('/account/sign-in')
}
