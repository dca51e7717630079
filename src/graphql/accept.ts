/** What a client takes (RFC 9110, 12.5.1; GraphQL over HTTP, "Accept"). */

/** The media types of replies that are one JSON text. */
export type JsonType = 'application/graphql-response+json' | 'application/json'

export interface Accepted {
  /** Undefined when the client takes no JSON. */
  readonly json: JsonType | undefined
  /** Whether the client names `text/event-stream`: it takes the stream of a subscription. */
  readonly stream: boolean
  /** Whether the client would rather have a page than JSON: a browser's address bar. */
  readonly page: boolean
}

interface Range {
  readonly type: string
  readonly quality: number
}

const nothing: Range = { type: '', quality: 0 }

function rangeOf(part: string): Range {
  const [type = '', ...parameters] = part.toLowerCase().split(';')
  let quality = 1
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.trim().split('=')
    if (name === 'q') quality = /^(?:1(?:\.0{0,3})?|0(?:\.\d{0,3})?)$/.test(value) ? Number(value) : 0
    if (name === 'charset' && value !== 'utf-8' && value !== '"utf-8"') return nothing
  }
  return { type: type.trim(), quality }
}

function read(header: string): Accepted {
  const ranges = header.split(',').map(rangeOf)
  const named = (type: string) => Math.max(0, ...ranges.filter(r => r.type === type).map(r => r.quality))
  const wild = Math.max(named('*/*'), named('application/*'))
  const isNamed = (type: string) => ranges.some(range => range.type === type)
  const quality = (type: string) => (isNamed(type) ? named(type) : wild)
  // Who takes anything gets what every client understands.
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
const known = new Map<string, Accepted>()
const MAX_KNOWN = 200

/** `header`: the `Accept` header; without one, anything is taken. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header === '') return anything
  const found = known.get(header)
  if (found) return found
  const made = read(header)
  if (known.size >= MAX_KNOWN) known.clear()
  if (header.length <= 500) known.set(header, made)
  return made
}
