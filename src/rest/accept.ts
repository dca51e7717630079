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

/** The weight of the most specific range that covers `application/{subtype}`; undefined when none does. */
function qualityOf(ranges: readonly MediaRange[], subtype: string): number | undefined {
  for (const type of [`application/${subtype}`, 'application/*', '*/*']) {
    const range = ranges.find(candidate => candidate.type === type)
    if (range) return range.quality
  }
  return undefined
}

function parseAccept(header: string): Accepted {
  const ranges = header.split(',').map(parseRange)
  const named = ranges.find(range => range.type === 'application/problem+json')?.quality ?? 0
  const json = qualityOf(ranges, 'json')
  const qualityNamed = (...types: string[]) => ranges.find(range => types.includes(range.type))?.quality ?? 0
  return {
    // A client that names only problem details means its errors: it gets JSON when the request succeeds.
    json: json === undefined ? named > 0 : json > 0,
    problem: named > 0 && named >= (ranges.find(range => range.type === 'application/json')?.quality ?? 0),
    eventStream:
      qualityNamed('text/event-stream', 'text/*') > qualityNamed('application/json', 'application/*'),
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
