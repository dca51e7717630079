/** Error replies, in the form of the request's transport. */
import { asOauthError } from '../../auth/server/responses/error-response.ts'
import type { Call, Reply } from '../../call.ts'
import {
  assetsPath,
  errorReply as graphqlErrorReply,
  path as graphqlPath,
} from '../../graphql/transports/http-reply.ts'
import { errorReply as restErrorReply } from '../../rest/rest.ts'
import type { RefusalLog } from '../monitoring/refusal-log.ts'
import type { LazyOauth } from '../oauth.ts'

export function isGraphql(path: string): boolean {
  return path.startsWith(graphqlPath) && (path.length === graphqlPath.length || path.startsWith(assetsPath))
}

/** `issuer`: the address of the authorization server. `refusals` logs every error. */
export function errorReplies(
  oauth: LazyOauth,
  issuer: () => string,
  refusals: RefusalLog | undefined,
): (error: unknown, call: Call) => Reply {
  return (error, call) => {
    refusals?.(error, call)
    return oauth.errorReply(error, call) ?? withMetadata(replyTo(error, call, oauth), call.path, issuer)
  }
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
