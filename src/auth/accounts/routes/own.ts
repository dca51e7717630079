/** What the pages of a user's own keys, apps, webhooks and profile share. */
import type { Reply } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { recentSignInMs } from '../../../plan/recent-sign-in.ts'
import { sessionPrincipal } from '../../session-principal.ts'
import { type CreatedItem, OwnItems } from '../own/own-items.ts'
import { type RouteParts, redirect, type SignedIn, type Visit } from './context.ts'
import { type FormBody, readForm } from './form-body.ts'

export function ownItems({ base, own }: RouteParts, { user }: SignedIn): OwnItems {
  return new OwnItems({ model: base.model, ...own }, sessionPrincipal(user))
}

/** Users have at least this long to fill in a form that they have opened. */
const fillingInMs = 5 * 60 * 1000

/** Whether the sign-in is recent enough to change how the account is protected. */
export function isFresh({ base }: RouteParts, { session }: SignedIn, withinMs = recentSignInMs): boolean {
  return base.now() - session.signedInAt < withinMs
}

/** Sends users without a recent sign-in to the sign-in page, from which they come back. Undefined if the sign-in is recent. */
export function confirmation(parts: RouteParts, visit: Visit, who: SignedIn): Reply | undefined {
  const within = visit.method === 'POST' ? recentSignInMs : recentSignInMs - fillingInMs
  if (isFresh(parts, who, within)) return undefined
  return redirect(`/account/sign-in?confirm=yes&next=${visit.path}`)
}

/** The posted form. Throws FORBIDDEN if it is not one of ours. */
export function postedForm({ csrf }: RouteParts, visit: Visit): FormBody {
  const form = readForm(visit)
  csrf.check(visit, form.text('csrf'))
  return form
}

/**
 * Calls `undo` and throws UNAUTHORIZED if the session has ended: what an intruder creates while the owner recovers the account
 * must not outlive the recovery.
 */
export async function requireSession(
  { server }: RouteParts,
  { req, res }: Visit,
  undo: () => Promise<void>,
): Promise<void> {
  if (await server.session(req, res)) return
  await undo()
  throw new ApiError('UNAUTHORIZED', 'This session has ended: nothing was made. Sign in again.')
}

/** Stores secrets for the page at `path`, which shows them once, and redirects to it. */
export async function showOnce(
  { shownOnce }: RouteParts,
  { session }: SignedIn,
  path: string,
  secrets: Readonly<Record<string, JsonValue>>,
): Promise<Reply> {
  const texts = Object.entries(secrets).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  await shownOnce.keep(session, path, Object.fromEntries(texts))
  return redirect(path)
}

/** Creates an item from a form, and redirects to the page that shows its secret once. */
export async function createShown(
  parts: RouteParts,
  visit: Visit,
  who: SignedIn,
  collection: string,
  body: Readonly<Record<string, unknown>>,
  pathOf: (created: CreatedItem) => string,
): Promise<Reply> {
  const items = ownItems(parts, who)
  const created = await items.create(collection, body)
  await requireSession(parts, visit, () => items.remove(collection, created.id))
  return showOnce(parts, who, pathOf(created), created.revealed)
}
