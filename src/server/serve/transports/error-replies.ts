/** Error replies, in the form of the request's transport. */

import {
  assetsPath,
  errorReply as graphqlErrorReply,
  path as graphqlPath,
} from '../../../api/graphql/transports/http-reply.ts'
import { errorReply as restErrorReply } from '../../../api/rest/rest.ts'
import { type Call, isHealthCheck, type Reply } from '../../../base/call.ts'
import { acceptsPage } from '../../../base/media-ranges.ts'
import type { Mailer } from '../../../identity/mail/mailer.ts'
import { asOauthError } from '../../../identity/server/responses/error-response.ts'
import { errorPageReply } from '../../../web/pages/frame/error-reply.ts'
import type { FrameOptions } from '../../../web/pages/frame/layout.ts'
import type { RefusalLog } from '../monitoring/refusal-log.ts'
import type { LazyOauth } from '../oauth/oauth.ts'

export function isGraphql(path: string): boolean {
  return path.startsWith(graphqlPath) && (path.length === graphqlPath.length || path.startsWith(assetsPath))
}

export interface ErrorReplyParts {
  readonly oauth: LazyOauth
  readonly frame: FrameOptions
  readonly mail: Pick<Mailer, 'pageLanguage'>
  /** The address of the authorization server. */
  readonly issuer: () => string
  /** Logs every error. */
  readonly refusals: RefusalLog | undefined
}

export function errorReplies({
  oauth,
  frame,
  mail,
  issuer,
  refusals,
}: ErrorReplyParts): (error: unknown, call: Call) => Reply {
  const isPage = (call: Call) => (oauth.owns(call.path) ? oauth.isForBrowsers(call) : isPortalPage(call))
  return (error, call) => {
    refusals?.(error, call)
    if (isPage(call))
      return errorPageReply(frame, mail.pageLanguage(call.headers['accept-language']), error, call)
    return withMetadata(replyTo(error, call, oauth), call.path, issuer)
  }
}

/** Paths that programs call: what a browser shows of them are the answers to programs. */
function isForPrograms(path: string): boolean {
  return path.startsWith('/api/') || isGraphql(path) || isHealthCheck(path)
}

/** Whether a browser opens a page of the portal, or an address that does not exist. */
function isPortalPage({ path, method, headers }: Call): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && !isForPrograms(path) && acceptsPage(headers.accept)
}

function replyTo(error: unknown, call: Call, oauth: LazyOauth): Reply {
  if (isGraphql(call.path)) return graphqlErrorReply(error, call)
  const reply = restErrorReply(error, call)
  return oauth.isForApps(call.path) ? asOauthError(reply, error) : reply
}

const apiPath = '/api/v1'

function resourceOf(path: string): string {
  if (isGraphql(path)) return graphqlPath
  return path === apiPath || path.startsWith(`${apiPath}/`) ? apiPath : ''
}

/**
 * RFC 9728, 5.1: a challenge contains the address of the resource's metadata, which names the authorization server. The
 * requested address is the resource's or below it (3.3).
 */
export function metadataParameter(path: string, issuer: string): string {
  return `resource_metadata="${issuer}/.well-known/oauth-protected-resource${resourceOf(path)}"`
}

function withMetadata(reply: Reply, path: string, issuer: () => string): Reply {
  const valueIndex = reply.headers.indexOf('WWW-Authenticate') + 1
  if (valueIndex === 0) return reply
  const metadata = metadataParameter(path, issuer())
  return { ...reply, headers: reply.headers.with(valueIndex, `${reply.headers[valueIndex]}, ${metadata}`) }
}
