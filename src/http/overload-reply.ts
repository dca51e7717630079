/** The 503 for requests that are refused under overload. It must cost next to nothing. */
import { type Call, type Reply, unsent } from '../call.ts'
import { temporaryRefusal } from '../errors.ts'

/** Values of `Retry-After`, used in turn so that refused clients do not all return at once. */
const retrySeconds = [1, 2, 3]
const maxCachedReplies = 200

type ErrorReply = (error: unknown, call: Call) => Reply

/** Transports whose errors depend on the path and the accepted media types alone. */
function transportOf(path: string): string | undefined {
  if (path.startsWith('/api/')) return 'rest'
  return path === '/graphql' ? 'graphql' : undefined
}

/** Undefined where every request needs a reply of its own: problem details name the request. */
function cacheKey({ path, headers: { accept = '' } }: Call, seconds: number): string | undefined {
  const transport = transportOf(path)
  return transport === undefined || /problem/i.test(accept) ? undefined : `${seconds} ${transport} ${accept}`
}

/** Makes the reply to a request that is refused. */
export function createOverloadReplies(errorReply: ErrorReply): (call: Call) => Reply {
  const cached = new Map<string, Reply>()
  let count = 0
  return call => {
    count = (count + 1) % retrySeconds.length
    const seconds = retrySeconds[count] ?? 1
    const key = cacheKey(call, seconds)
    const known = key === undefined ? undefined : cached.get(key)
    if (known) return known
    const message = 'More is asked of the service than it can answer in time.'
    const error = temporaryRefusal(message, { 'Retry-After': String(seconds) })
    const reply: Reply = { ...errorReply(error, call), kept: unsent() }
    if (key !== undefined && cached.size < maxCachedReplies) cached.set(key, reply)
    return reply
  }
}
