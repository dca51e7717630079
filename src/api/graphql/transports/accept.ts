/** The `Accept` header (RFC 9110, 12.5.1; GraphQL over HTTP, "Accept"). */
import { Cache, CacheBound } from '../../../base/cache.ts'
import { mediaRanges } from '../../../base/media-ranges.ts'

export type JsonType = 'application/graphql-response+json' | 'application/json'

export interface Accepted {
  /** Undefined when the client accepts no JSON. */
  readonly json: JsonType | undefined
  /** Whether the client names `text/event-stream`. */
  readonly stream: boolean
  /** Whether the client prefers a page to JSON, as a browser's address bar does. */
  readonly page: boolean
}

/** Ranges with another charset than this one match nothing. */
const charsets = ['utf-8', '"utf-8"']

function parseAccept(header: string): Accepted {
  const ranges = mediaRanges(header).filter(
    ({ charset }) => charset === undefined || charsets.includes(charset),
  )
  const qualityOf = (type: string) =>
    Math.max(0, ...ranges.filter(range => range.type === type).map(range => range.quality))
  const isListed = (type: string) => ranges.some(range => range.type === type)
  // The most specific range decides.
  const wildcardQuality = qualityOf(isListed('application/*') ? 'application/*' : '*/*')
  const quality = (type: string) => (isListed(type) ? qualityOf(type) : wildcardQuality)
  // A client that accepts anything gets plain JSON, which every client understands.
  const graphqlQuality = qualityOf('application/graphql-response+json')
  const plainQuality = quality('application/json')
  const bestQuality = Math.max(graphqlQuality, plainQuality)
  const htmlQuality = qualityOf('text/html')
  return {
    json:
      bestQuality === 0
        ? undefined
        : graphqlQuality >= plainQuality
          ? 'application/graphql-response+json'
          : 'application/json',
    stream: qualityOf('text/event-stream') > 0,
    page:
      htmlQuality > bestQuality ||
      (htmlQuality > 0 && htmlQuality === bestQuality && wildcardQuality === bestQuality),
  }
}

const anything: Accepted = { json: 'application/json', stream: false, page: false }
const maxCachedCharacters = 500
const cache = new Cache<string, Accepted>(new CacheBound('graphql_accept', 200))

/** Without the header, the client accepts anything (RFC 9110, 12.5.1). */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header === '') return anything
  const cached = cache.get(header)
  if (cached) return cached
  const accepted = parseAccept(header)
  if (header.length <= maxCachedCharacters) cache.set(header, accepted)
  return accepted
}
