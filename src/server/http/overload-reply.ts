/** The 503 for requests that are refused under overload. It must cost very little. */
import { type Call, emptyHead, type Reply } from '../../base/call.ts'
import { temporaryRefusal } from '../../base/errors.ts'

/** Values of `Retry-After`, used in turn so that refused clients do not all return at once. */
const retrySeconds = [1, 2, 3]
const maxCachedReplies = 200

type ErrorReply = (error: unknown, call: Call) => Reply

/** The transport of a path, if its errors depend only on the path and the accepted media types. */
function transportOf(path: string): string | undefined {
  if (path.startsWith('/api/')) return 'rest'
  return path === '/graphql' ? 'graphql' : undefined
}

/** Undefined if each request needs its own reply: problem details contain the request id. */
function cacheKey({ path, headers: { accept = '' } }: Call, seconds: number): string | undefined {
  const transport = transportOf(path)
  return transport === undefined || /problem/i.test(accept) ? undefined : `${seconds} ${transport} ${accept}`
}

/** Returns a function that makes the reply to a refused request. */
export function createOverloadReplies(errorReply: ErrorReply): (call: Call) => Reply {
  const cached = new Map<string, Reply>()
  let count = 0
  return call => {
    count = (count + 1) % retrySeconds.length
    const seconds = retrySeconds[count] ?? 1
    const key = cacheKey(call, seconds)
    const cachedReply = key === undefined ? undefined : cached.get(key)
    if (cachedReply) return cachedReply
    const message = 'The service is overloaded: it cannot answer all requests in time.'
    const error = temporaryRefusal(message, { 'Retry-After': String(seconds) })
    const reply: Reply = { ...errorReply(error, call), cachedHead: emptyHead() }
    if (key !== undefined && cached.size < maxCachedReplies) cached.set(key, reply)
    return reply
  }
}
