/** The `Accept` header (RFC 9110, 12.5.1; GraphQL over HTTP, "Accept"). */
import { Cache, CacheBound } from '../../cache.ts'

export type JsonType = 'application/graphql-response+json' | 'application/json'

export interface Accepted {
  /** Undefined when the client accepts no JSON. */
  readonly json: JsonType | undefined
  /** Whether the client names `text/event-stream`. */
  readonly stream: boolean
  /** Whether the client prefers a page to JSON, as a browser's address bar does. */
  readonly page: boolean
}

interface MediaRange {
  readonly type: string
  readonly quality: number
}

const noRange: MediaRange = { type: '', quality: 0 }

/** RFC 9110, 12.4.2; also without the zero, as Java's `HttpURLConnection` sends it (JDK-8163921). */
const weightForm = /^(?:0?\.\d{1,3}|0\.?|1(?:\.0{0,3})?)$/

function rangeOf(part: string): MediaRange {
  const [type = '', ...parameters] = part.toLowerCase().split(';')
  let quality = 1
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.trim().split('=')
    if (name === 'q') quality = weightForm.test(value) ? Number(value) : 0
    if (name === 'charset' && value !== 'utf-8' && value !== '"utf-8"') return noRange
  }
  return { type: type.trim(), quality }
}

function read(header: string): Accepted {
  const ranges = header.split(',').map(rangeOf)
  const named = (type: string) => Math.max(0, ...ranges.filter(r => r.type === type).map(r => r.quality))
  const isNamed = (type: string) => ranges.some(range => range.type === type)
  // The most specific range decides.
  const wild = named(isNamed('application/*') ? 'application/*' : '*/*')
  const quality = (type: string) => (isNamed(type) ? named(type) : wild)
  // A client that accepts anything gets plain JSON, which every client understands.
  const response = isNamed('application/graphql-response+json')
    ? named('application/graphql-response+json')
    : 0
  const plain = quality('application/json')
  const json = Math.max(response, plain)
  return {
    json:
      json === 0 ? undefined : response >= plain ? 'application/graphql-response+json' : 'application/json',
    stream: named('text/event-stream') > 0,
    page:
      named('text/html') > json || (named('text/html') > 0 && named('text/html') === json && wild === json),
  }
}

const anything: Accepted = { json: 'application/json', stream: false, page: false }
const known = new Cache<string, Accepted>(new CacheBound('graphql_accept', 200))

/** Without the header, the client accepts anything (RFC 9110, 12.5.1). */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header === '') return anything
  const found = known.get(header)
  if (found) return found
  const made = read(header)
  if (header.length <= 500) known.set(header, made)
  return made
}
