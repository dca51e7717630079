/** The 503 of whoever is refused because too much is asked. It must cost next to nothing. */
import { type Call, type Reply, unsent } from '../call.ts'
import { ApiError } from '../errors.ts'

/** Seconds after which to come again: not for all the same, so that they do not come at once. */
const WAITS = [1, 2, 3]
/** Of the replies of one wait. */
const MOST_KEPT = 64

type ErrorReply = (error: unknown, call: Call) => Reply

/** Faces whose errors depend on nothing but the media types that are accepted. */
function faceOf(path: string): string | undefined {
  if (path.startsWith('/api/')) return 'rest'
  return path === '/graphql' ? 'graphql' : undefined
}

/** Makes the reply to a request that is refused. */
export function createRefusals(errorReply: ErrorReply): (call: Call) => Reply {
  const kept = WAITS.map(() => new Map<string, Reply>())
  let count = 0
  return call => {
    count = (count + 1) % WAITS.length
    const known = kept[count] ?? new Map()
    const face = faceOf(call.path)
    const { accept = '' } = call.headers
    // Problem details name the request.
    const isKept = face !== undefined && !/problem/i.test(accept)
    const key = isKept ? `${face} ${accept}` : undefined
    const found = key === undefined ? undefined : known.get(key)
    if (found) return found
    const headers = { 'Retry-After': String(WAITS[count]) }
    const error = new ApiError('UNAVAILABLE', 'More is asked of the service than it can answer in time.', {
      headers,
    })
    const made: Reply = { ...errorReply(error, call), kept: unsent() }
    if (key !== undefined && known.size < MOST_KEPT) known.set(key, made)
    return made
  }
}
