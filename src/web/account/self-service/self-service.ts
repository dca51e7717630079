/** Functions that the pages of a user's own keys, apps, webhooks and profile share. */
import { ApiError } from '../../../base/errors.ts'
import { recentSignInMs } from '../../../engine/plan/recent-sign-in.ts'
import { type CreatedItem, OwnItems } from '../../../identity/accounts/self-service/own-items.ts'
import { sessionPrincipal } from '../../../identity/session-principal.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { type RouteParts, type RouteReply, redirect, type Viewer, type Visit } from '../context.ts'
import { type FormBody, readForm } from '../form-body.ts'

/** The items that the viewer may read and write, as a client of the API with the viewer’s session could. */
export function ownItems({ base, own }: RouteParts, { user }: Viewer): OwnItems {
  return new OwnItems({ model: base.model, ...own }, sessionPrincipal(user))
}

/** The minimum time that users have to fill in a form. */
const formTimeMs = 5 * 60 * 1000

/** Whether the sign-in is recent enough to change how the account is protected. */
export function hasRecentSignIn(
  { base }: RouteParts,
  { session }: Viewer,
  maxAgeMs = recentSignInMs,
): boolean {
  return base.now() - session.signedInAt < maxAgeMs
}

/** Redirects users without a recent sign-in to the sign-in page, which leads back. Undefined if the sign-in is recent. */
export function signInRedirect(parts: RouteParts, visit: Visit, viewer: Viewer): RouteReply | undefined {
  const maxAgeMs = visit.method === 'POST' ? recentSignInMs : recentSignInMs - formTimeMs
  if (hasRecentSignIn(parts, viewer, maxAgeMs)) return undefined
  return redirect(`/account/sign-in?confirm=yes&next=${visit.path}`)
}

/** The reply to one form of a page that has several. `form` was checked by `postedForm`. */
export type FormRoute = (
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  form: FormBody,
) => Promise<RouteReply>

/** The posted form. Throws FORBIDDEN if it does not come from one of our pages. */
export function postedForm({ csrf }: RouteParts, visit: Visit): FormBody {
  const form = readForm(visit)
  csrf.check(visit, form.text('csrf'))
  return form
}

/** Shows a form that needs a recent sign-in, or handles it once it was posted. */
export async function protectedForm(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  show: () => RouteReply | Promise<RouteReply>,
  submit: (form: FormBody) => Promise<RouteReply>,
): Promise<RouteReply> {
  const redirection = signInRedirect(parts, visit, viewer)
  if (visit.method !== 'POST') return redirection ?? show()
  const form = postedForm(parts, visit)
  return redirection ?? submit(form)
}

/** The one of a page's changes that the form names. Throws BAD_REQUEST for an unknown name. */
export function changeIn<Change>(form: FormBody, changes: ReadonlyMap<string, Change>): Change {
  const change = changes.get(form.text('change'))
  if (change === undefined) throw new ApiError('BAD_REQUEST', 'The form names an unknown change.')
  return change
}

/**
 * Calls `undo` and throws UNAUTHORIZED if the session has ended: nothing that an attacker creates while the owner recovers the
 * account may outlive the recovery.
 */
export async function requireSession(
  { server }: RouteParts,
  { req, res }: Visit,
  undo: () => Promise<void>,
): Promise<void> {
  if (await server.session(req, res)) return
  await undo()
  throw new ApiError('UNAUTHORIZED', 'This session has ended, and nothing was created. Sign in again.')
}

/** Stores secrets for the page at `path`, which shows them once, and redirects to it. */
export async function showOnce(
  { shownOnce }: RouteParts,
  { session }: Viewer,
  path: string,
  secrets: Readonly<Record<string, JsonValue>>,
): Promise<RouteReply> {
  const shownSecrets = Object.entries(secrets).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  await shownOnce.keep(session, path, Object.fromEntries(shownSecrets))
  return redirect(path)
}

/** Creates an item from a form, and redirects to the page that shows its secret once. */
export async function createAndShow(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  collection: string,
  body: Readonly<Record<string, unknown>>,
  pathOf: (created: CreatedItem) => string,
): Promise<RouteReply> {
  const items = ownItems(parts, viewer)
  const created = await items.create(collection, body)
  await requireSession(parts, visit, () => items.remove(collection, created.id))
  return showOnce(parts, viewer, pathOf(created), created.revealed)
}
