/** What the pages of one's own keys, apps, webhooks and profile share. */
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

/** Whoever opens a form has this long to fill it in. */
const fillingInMs = 5 * 60 * 1000

/** Whether the sign-in is recent enough for what changes how an account is protected. */
export function isFresh({ base }: RouteParts, { session }: SignedIn, withinMs = recentSignInMs): boolean {
  return base.now() - session.signedInAt < withinMs
}

/** Where who has not signed in recently does so again, and comes back; undefined: they need not. */
export function confirmation(parts: RouteParts, visit: Visit, who: SignedIn): Reply | undefined {
  const within = visit.method === 'POST' ? recentSignInMs : recentSignInMs - fillingInMs
  if (isFresh(parts, who, within)) return undefined
  return redirect(`/account/sign-in?confirm=yes&next=${visit.path}`)
}

/** The form that was posted; FORBIDDEN where it is not one of ours. */
export function postedForm({ csrf }: RouteParts, visit: Visit): FormBody {
  const form = readForm(visit)
  csrf.check(visit, form.text('csrf'))
  return form
}

/**
 * Whoever takes the account back ends this session: what it makes meanwhile must not stay. Throws UNAUTHORIZED after
 * `undo`.
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

/** Keeps a secret for the page at `path`, which shows it once, and leads there. */
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

/** Creates an item by a form, and leads to the page that shows its secret once. */
export async function createShown(
  parts: RouteParts,
  visit: Visit,
  who: SignedIn,
  collection: string,
  body: Readonly<Record<string, unknown>>,
  pathOf: (made: CreatedItem) => string,
): Promise<Reply> {
  const items = ownItems(parts, who)
  const made = await items.create(collection, body)
  await requireSession(parts, visit, () => items.remove(collection, made.id))
  return showOnce(parts, who, pathOf(made), made.revealed)
}
