/** Content negotiation (RFC 9110, 12.5.1): JSON, and of lists CSV and NDJSON; errors can also be problem details (RFC 9457). */
import { Cache, CacheBound } from '../../base/cache.ts'
import { ApiError } from '../../base/errors.ts'
import { type MediaRange, mediaRanges } from '../../base/media-ranges.ts'

export interface Accepted {
  /** Whether the client accepts `application/json`. */
  readonly json: boolean
  /** Whether the client prefers errors as `application/problem+json`. */
  readonly problem: boolean
  /** Whether the client prefers `text/event-stream` to JSON, on paths that offer both. */
  readonly eventStream: boolean
  /** The format that the client names and prefers to JSON, on paths that offer it. */
  readonly exported: 'csv' | 'ndjson' | undefined
}

const everything: Accepted = { json: true, problem: false, eventStream: false, exported: undefined }
const acceptedByHeader = new Cache<string, Accepted>(new CacheBound('rest_accept', 200))
const maxHeaderCharacters = 1000

/** `types`: from the most to the least specific range. Undefined if the header has none of them. */
function findRange(ranges: readonly MediaRange[], ...types: readonly string[]): MediaRange | undefined {
  for (const type of types) {
    const range = ranges.find(candidate => candidate.type === type)
    if (range) return range
  }
  return undefined
}

function exportedOf(
  csv: number,
  ndjson: number,
  isPreferred: (quality: number) => boolean,
): Accepted['exported'] {
  if (csv >= ndjson && isPreferred(csv)) return 'csv'
  return isPreferred(ndjson) ? 'ndjson' : undefined
}

function parseAccept(header: string): Accepted {
  const ranges = mediaRanges(header)
  const json = findRange(ranges, 'application/json', 'application/*', '*/*')
  const problem = findRange(ranges, 'application/problem+json')?.quality ?? 0
  const eventStream = findRange(ranges, 'text/event-stream', 'text/*')?.quality ?? 0
  const jsonQuality = json?.quality ?? 0
  // At equal weights, a type that the header names is preferred to one that only `*/*` accepts.
  const isPreferred = (quality: number) =>
    quality > jsonQuality || (quality > 0 && quality === jsonQuality && json?.type === '*/*')
  // Only by their names: who accepts anything does not want all rows.
  const [csv, ndjson] = ['text/csv', 'application/x-ndjson'].map(
    type => findRange(ranges, type)?.quality ?? 0,
  )
  return {
    // For a client that names only problem details: these are for errors, so success is answered with JSON.
    json: json === undefined ? problem > 0 : jsonQuality > 0,
    problem: problem > 0 && problem >= jsonQuality,
    eventStream: isPreferred(eventStream),
    exported: exportedOf(csv ?? 0, ndjson ?? 0, isPreferred),
  }
}

/** The types that an `Accept` header accepts. Without the header: all. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header === '*/*' || header === 'application/json') return everything
  if (header.trim() === '' || header.length > maxHeaderCharacters) return everything
  const cached = acceptedByHeader.get(header)
  if (cached) return cached
  const accepted = parseAccept(header)
  acceptedByHeader.set(header, accepted)
  return accepted
}

/** Throws NOT_ACCEPTABLE when the client does not accept NDJSON. */
export function requireNdjson(header = ''): void {
  const ranges = mediaRanges(header.length > maxHeaderCharacters ? '' : header)
  const range = findRange(ranges, 'application/x-ndjson', 'application/*', '*/*')
  if (header.trim() === '' || (range?.quality ?? 0) > 0) return
  throw new ApiError(
    'NOT_ACCEPTABLE',
    'The answer is application/x-ndjson, which the Accept header excludes.',
  )
}

/** Throws NOT_ACCEPTABLE when the client does not accept JSON. `isExported`: the formats of exports are offered, too. */
export function requireJson(header: string | undefined, isExported = false): void {
  const { json, exported } = readAccept(header)
  if (json || (isExported && exported !== undefined)) return
  const types = isExported ? 'application/json, text/csv or application/x-ndjson' : 'application/json'
  throw new ApiError('NOT_ACCEPTABLE', `The answer is ${types}, which the Accept header excludes.`)
}
