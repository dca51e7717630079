/** What becomes of an error, at each face. */
import { asOauthError } from '../auth/server/oauth-error.ts'
import type { Call, Reply } from '../call.ts'
import { assetsPath, errorReply as graphqlErrorReply, path as graphqlPath } from '../graphql/http-reply.ts'
import { errorReply as restErrorReply } from '../rest/rest.ts'
import type { OauthFace } from './oauth.ts'

export function isGraphql(path: string): boolean {
  return path.startsWith(graphqlPath) && (path.length === graphqlPath.length || path.startsWith(assetsPath))
}

/** `issuer`: who gives out credentials. */
export function errorReplies(oauth: OauthFace, issuer: () => string): (error: unknown, call: Call) => Reply {
  return (error, call) => oauth.errorReply(error, call) ?? withMetadata(replyTo(error, call, oauth), issuer)
}

function replyTo(error: unknown, call: Call, oauth: OauthFace): Reply {
  if (isGraphql(call.path)) return graphqlErrorReply(error, call)
  const reply = restErrorReply(error, call)
  return oauth.isForApps(call.path) ? asOauthError(reply, error) : reply
}

/** RFC 9728, 5.1: a challenge tells where to learn who gives out credentials. */
function withMetadata(reply: Reply, issuer: () => string): Reply {
  const at = reply.headers.indexOf('WWW-Authenticate') + 1
  if (at === 0) return reply
  const metadata = `resource_metadata="${issuer()}/.well-known/oauth-protected-resource"`
  return { ...reply, headers: reply.headers.with(at, `${reply.headers[at]}, ${metadata}`) }
}
