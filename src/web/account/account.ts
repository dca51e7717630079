/** `/account`, `/account/apps`, `/account/sessions`. */
import type { Message } from '../../base/html.ts'
import { type PageText, t } from '../../identity/mail/page-texts.ts'
import { scopeGroups } from '../../identity/server/consent/choices.ts'
import type { SessionInfo } from '../../identity/server/server.ts'
import { accountPage } from '../pages/account/account.ts'
import { appsPage } from '../pages/account/apps.ts'
import { sessionsPage } from '../pages/account/sessions.ts'
import { type RouteParts, type RouteReply, redirect, type Viewer, type Visit } from './context.ts'
import { readQuery } from './form-body.ts'
import { accountState, createdAt } from './overview.ts'
import { postedForm } from './self-service/self-service.ts'

/** The notes after a change. The query of the page names one of them, so that links of strangers cannot show other text. */
const notes: ReadonlyMap<string, PageText> = new Map([
  ['verified', 'Your address is confirmed.'],
  [
    'first-verified',
    'Your address is confirmed. Other sessions have ended, with everything that was created or allowed in them, and your API keys are revoked.',
  ],
  ['address-kept', 'Your account keeps its address.'],
  ['disconnected', 'The app is disconnected. Its tokens no longer work.'],
  ['signed-out', 'The session has ended.'],
  ['others', 'You are signed out everywhere else.'],
  ['passkey-added', 'The passkey is added.'],
  ['passkey-removed', 'The passkey is removed.'],
  ['key-revoked', 'The key is revoked. It no longer works.'],
  ['saved', 'Your changes are saved.'],
  ['app-deleted', 'The app is deleted. Its tokens no longer work.'],
  ['secret-ended', 'The secret has ended.'],
  [
    'address-asked',
    'We have sent a link to the new address. Your account gets the address when you open the link and confirm it.',
  ],
  [
    'address-unsent',
    'Mail is not set up here, so the new address cannot be confirmed. Whoever runs the service can change it for you.',
  ],
  ['provider-linked', 'The account is linked. You can now sign in with it.'],
  ['provider-unlinked', 'The account is unlinked.'],
  ['password-set', 'Your password is set.'],
  ['webhook-deleted', 'The webhook is deleted.'],
  ['webhook-enabled', 'The webhook resumes where it stopped.'],
  ['webhook-on', 'The webhook is turned on.'],
  ['webhook-off', 'The webhook is turned off.'],
  [
    'webhook-tested',
    'A test was sent. The response is shown below, or will be when you load the page again.',
  ],
  ['redelivered', 'The event is sent again.'],
  ['totp-off', 'One-time codes are turned off.'],
])

/** The sentence about what was just done, by the parameter `done` of the redirect; undefined if there is none. */
export function noteOf(visit: Visit): Message | undefined {
  const note = notes.get(readQuery(visit).text('done'))
  return note && t(note)
}

/** `/account`: the overview. */
export async function accountRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const { base } = parts
  const { menu, user } = viewer
  const [pendingAddress, since, state] = await Promise.all([
    base.addresses.pending(user.id),
    createdAt(parts, viewer),
    accountState(parts, viewer),
  ])
  const verified = menu.unconfirmed === undefined
  return { page: accountPage({ menu, verified, since, waiting: pendingAddress, state, note: noteOf(visit) }) }
}

async function showApps({ base, server }: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const connectedApps = await server.connectedApps(viewer.user.id)
  const apps = connectedApps.map(connected => {
    const request = { scopes: connected.scopes, allowedBefore: new Set<string>() }
    return { ...connected, groups: scopeGroups(base.model, request, viewer.user) }
  })
  const page = appsPage({ menu: viewer.menu, apps, note: noteOf(visit), now: base.now() })
  return { page, images: apps.map(({ app }) => app.logoUri) }
}

/** `/account/apps`: the connected apps; a POST disconnects one. */
export async function appsRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  if (visit.method !== 'POST') return showApps(parts, visit, viewer)
  await parts.server.revokeApp(viewer.user.id, postedForm(parts, visit).text('client_id'))
  return redirect('/account/apps?done=disconnected')
}

async function showSessions({ base, server }: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const sessions = [...(await server.sessions(viewer.user.id, viewer.session.id))]
  sessions.sort((a, b) => rank(b) - rank(a))
  const page = sessionsPage({ menu: viewer.menu, sessions, note: noteOf(visit), now: base.now() })
  return { page }
}

/** Sorts the current session first, and the others by their last use. */
function rank({ current, usedAt }: SessionInfo): number {
  return current ? Number.POSITIVE_INFINITY : usedAt
}

/** `/account/sessions`; a POST ends one session, or all. */
export async function sessionsRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  if (visit.method !== 'POST') return showSessions(parts, visit, viewer)
  const form = postedForm(parts, visit)
  const sessionId = form.text('session')
  if (sessionId === 'others') return signOutEverywhere(parts, visit, viewer, form.text('this') === 'yes')
  await parts.server.revokeSession(viewer.user.id, sessionId)
  return redirect('/account/sessions?done=signed-out')
}

async function signOutEverywhere(
  { server }: RouteParts,
  { req, res }: Visit,
  { user, session }: Viewer,
  includesCurrent: boolean,
): Promise<RouteReply> {
  const others = (await server.sessions(user.id, session.id)).filter(({ current }) => !current)
  await Promise.all(others.map(({ id }) => server.revokeSession(user.id, id)))
  if (!includesCurrent) return redirect('/account/sessions?done=others')
  await server.signOut(req, res)
  return redirect('/account/sign-in')
}
