/** Content negotiation (RFC 9110, 12.5.1): every response is JSON; errors can also be problem details (RFC 9457). */
import { Cache, CacheBound } from '../cache.ts'
import { ApiError } from '../errors.ts'

export interface Accepted {
  /** Whether the client accepts `application/json`. */
  readonly json: boolean
  /** Whether the client prefers errors as `application/problem+json`. */
  readonly problem: boolean
  /** Whether the client prefers `text/event-stream` to JSON, where there is one. */
  readonly eventStream: boolean
}

interface MediaRange {
  readonly type: string
  readonly quality: number
}

const everything: Accepted = { json: true, problem: false, eventStream: false }
const parsed = new Cache<string, Accepted>(new CacheBound('rest_accept', 200))
const maxHeaderLength = 1000

function parseRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice(2)
  const quality =
    weight === undefined ? 1 : /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0
  return { type, quality }
}

/** The weight of the first of these ranges that the header has: the most specific one comes first. Undefined: it has none. */
function qualityOf(ranges: readonly MediaRange[], ...types: readonly string[]): number | undefined {
  for (const type of types) {
    const range = ranges.find(candidate => candidate.type === type)
    if (range) return range.quality
  }
  return undefined
}

function parseAccept(header: string): Accepted {
  const ranges = header.split(',').map(parseRange)
  const json = qualityOf(ranges, 'application/json', 'application/*', '*/*')
  const problem = qualityOf(ranges, 'application/problem+json') ?? 0
  const eventStream = qualityOf(ranges, 'text/event-stream', 'text/*') ?? 0
  return {
    // A client that names only problem details means errors: a successful request is answered with JSON.
    json: json === undefined ? problem > 0 : json > 0,
    problem: problem > 0 && problem >= (qualityOf(ranges, 'application/json') ?? 0),
    eventStream: eventStream > (qualityOf(ranges, 'application/json', 'application/*') ?? 0),
  }
}

/** What an `Accept` header accepts. Without the header, everything. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header === '*/*' || header === 'application/json') return everything
  if (header.trim() === '' || header.length > maxHeaderLength) return everything
  const known = parsed.get(header)
  if (known) return known
  const made = parseAccept(header)
  parsed.set(header, made)
  return made
}

/** Throws NOT_ACCEPTABLE when the client does not accept JSON. */
export function requireJson(header: string | undefined): void {
  if (!readAccept(header).json) {
    throw new ApiError(
      'NOT_ACCEPTABLE',
      'The answer is application/json, which the Accept header leaves out.',
    )
  }
}
