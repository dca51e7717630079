/** The context of a browser's request: the viewer, and the parts that pages need. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { AccountBase } from '../../identity/accounts/accounts.ts'
import { isJsonCall } from '../../identity/accounts/paths.ts'
import type { Provider, ProviderFault } from '../../identity/accounts/providers/provider.ts'
import type { OwnItemsParts } from '../../identity/accounts/self-service/own-items.ts'
import type { ShownOnce } from '../../identity/accounts/self-service/shown-once.ts'
import type { Passkeys } from '../../identity/accounts/sign-in/passkeys.ts'
import { findUser, type UserRow } from '../../identity/accounts/users.ts'
import { type PageLanguage, t } from '../../identity/mail/page-texts.ts'
import type { AuthorizationServer, NextPath, SessionInfo } from '../../identity/server/server.ts'
import type { WebhookOperations } from '../../identity/webhooks/operations.ts'
import { waitText } from '../pages/frame/error-reply.ts'
import type { FrameOptions, Menu, Unconfirmed } from '../pages/frame/layout.ts'
import { messagePage } from '../pages/frame/message.ts'
import type { PageReply } from '../pages/frame/reply.ts'

import type { Csrf } from './csrf.ts'

/** Of an administrator whose address nobody has set: no mail reaches it (RFC 2606, 3). */
const placeholderEmail = 'admin@example.com'

export const noMail = t('Mail is not set up here, so no link can be sent to you.')

/** A call, with the response on which cookies can be set before the reply is sent. */
export interface Visit extends Call {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** For the log. */
  userId: number | null
  /** The language of the user; undefined: that of the browser. */
  language?: PageLanguage
}

/** For the pages of a user's own keys, apps and webhooks. */
export interface OwnPageOptions extends Pick<OwnItemsParts, 'run' | 'hooks'> {
  /** How long a secret of an app remains valid after a newer one is created. */
  readonly secretOverlapSeconds: number
  /** How long a secret of a webhook continues to sign after a newer one is created. */
  readonly webhookOverlapSeconds: number
  readonly webhooks: WebhookOperations
  /** The defaults for apps without settings of their own. */
  readonly apps: {
    readonly tokenFormat: 'opaque' | 'jwt'
    readonly separator: string
    /** Of an app without a limit of its own, for all of its users together. */
    readonly requestsPerMinute: number | 'off'
    /** False: all rate limits are off. */
    readonly hasLimits: boolean
  }
  /** Whether users can delete their account. */
  readonly selfDeletion: boolean
}

/** What a route answers: most show a page. */
export type RouteReply = Reply | PageReply

export interface RouteParts {
  readonly base: AccountBase
  readonly server: AuthorizationServer
  readonly passkeys: Passkeys
  /** The providers, by id. */
  readonly providers: ReadonlyMap<string, Provider>
  /** Where forms that start a sign-in with a provider may redirect: see `leadsTo` of `PageReplyOptions`. */
  readonly providersLeadTo: string | undefined
  /** For the log: a sign-in with a provider failed. */
  readonly onProviderFault: (provider: string, fault: ProviderFault) => void
  readonly frame: FrameOptions
  readonly csrf: Csrf
  /** The body as a JSON value. */
  readonly readJson: (call: Call) => unknown
  /** Writes of users on their pages, with the rules of the API. */
  readonly own: OwnPageOptions
  readonly shownOnce: ShownOnce
  /** The address whose attempts are counted: see `budgetAddress`. */
  readonly throttleAddress: (address: string) => string
}

/** A 303: the browser requests the path by GET (RFC 9110, 15.4.4). */
export function redirect(path: NextPath): RouteReply {
  return { status: 303, headers: ['Location', path, 'Cache-Control', 'no-store'], body: null }
}

/** A page with the status 429 and `Retry-After`. */
export function tooMany(seconds: number): RouteReply {
  const page = messagePage({
    title: t('Too many attempts'),
    paragraphs: [waitText(seconds)],
    link: { href: '/account', label: t('Your account') },
    icon: 'clock',
  })
  return { page, status: 429, headers: ['Retry-After', String(seconds)] }
}

/** The user who is signed in. */
export interface Viewer {
  readonly user: UserRow
  readonly session: SessionInfo
  readonly menu: Menu
}

/** Pages are written in the language of this user. */
export async function writeFor({ base }: RouteParts, visit: Visit, userId: number): Promise<void> {
  visit.language = await base.mail.pageLanguageOf(userId, visit.headers['accept-language'])
}

/** Undefined if nobody is signed in, or the account was deleted. */
export async function findViewer(parts: RouteParts, visit: Visit): Promise<Viewer | undefined> {
  const session = await parts.server.session(visit.req, visit.res)
  const user = session && (await findUser(parts.base.run, session.userId))
  if (!session || !user) return undefined
  visit.userId = user.id
  if (!isJsonCall(visit)) await writeFor(parts, visit, user.id)
  await parts.server.noteUse(session, visit.req, visit.address)
  const csrf = parts.csrf.token(visit, visit.res)
  const { name, email } = user
  const unconfirmed = await unconfirmedOf(parts, visit, user)
  return { user, session, menu: { here: visit.path, csrf, name, email, unconfirmed } }
}

async function unconfirmedOf(
  { base: { addresses, mailArrives } }: RouteParts,
  { query }: Visit,
  { id, email }: UserRow,
): Promise<Unconfirmed | undefined> {
  if (await addresses.isVerified(id, email)) return undefined
  const isReachable = mailArrives && email !== placeholderEmail
  const state = query === 'done=sent' ? 'sent' : 'offered'
  return { link: isReachable ? state : 'none', endsOthers: await addresses.isUnproven(id) }
}

/** The reply in place of a link that the service cannot send. */
export function noMailReply(): RouteReply {
  const page = messagePage({
    title: t('This service sends no mail'),
    paragraphs: [noMail, t('Whoever runs the service can set a new password for you.')],
    link: { href: '/account/sign-in', label: t('Back to sign-in') },
  })
  return { page }
}

const nextPattern = /^\/account(?:(?:\/[a-z0-9-]{1,30}){0,5}|\/verify\?token=[\w-]{20,128})$/

/** The path if a sign-in may redirect to it: a page of the account, or the confirmation of an address. Otherwise undefined. */
export function safeNext(path: string | undefined): string | undefined {
  return path !== undefined && nextPattern.test(path) ? path : undefined
}

/** RATE_LIMITED with `Retry-After`, for JSON calls. */
export function rateLimited(seconds: number): ApiError {
  return new ApiError('RATE_LIMITED', undefined, { headers: { 'Retry-After': String(seconds) } })
}

/** METHOD_NOT_ALLOWED with the header `Allow`, e.g. `GET, HEAD`. */
export function methodNotAllowed(allow: string): ApiError {
  return new ApiError('METHOD_NOT_ALLOWED', undefined, { headers: { Allow: allow } })
}
