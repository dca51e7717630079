/** What a route returns → the reply. */
import { inspect } from 'node:util'
import type { Reply } from '../../base/call.ts'
import type { RouteAnswer } from '../../model/types/route.ts'
import { vary } from '../rest/reply/headers.ts'

/** A token (RFC 9110, 5.6.2). */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** RFC 9110, 5.5: no control characters. */
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/

/** Headers of a connection (RFC 9110, 7.6.1), and those that the service sets itself. */
const ownHeaders = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['content-length', 'date', 'api-version', 'x-content-type-options', 'x-request-id'],
])
const ownPrefixes = ['access-control-', 'ratelimit', 'x-ratelimit']
/** Names of cookies of the account pages, e.g. `__Host-portico_session`. */
const ownCookie = /^[\s=]*(?:__\w+-)?portico_/i

/**
 * Unless the route says otherwise, what it sends is not cached, a cache keeps the answers to different callers apart, and a
 * browser runs none of it with the rights of the service's own pages.
 */
const defaultHeaders = [
  ['Vary', vary],
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'; sandbox"],
] as const

/** Statuses without content (RFC 9110, 15.3.5, 15.3.6, 15.4.5). */
const bodilessStatuses = new Set([204, 205, 304])

const answerMembers = ['status', 'headers', 'body']

type Part = string | Buffer
type Stream = AsyncIterable<unknown> | Iterable<unknown>

export interface RouteReply extends Omit<Reply, 'body'> {
  readonly body: Part | null | { readonly stream: Stream }
}

/** Throws a `TypeError` that says what is wrong. `maxBytes`: of a body that is not a stream. */
export function replyOf(answer: unknown, maxBytes: number): RouteReply {
  const { status: given, headers = {}, body: content = null } = answerOf(answer)
  const [body, type] = bodyOf(content)
  const status = given ?? (body === null ? 204 : 200)
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError(`\`status\` must be a whole number from 200 to 599, not ${shown(status)}.`)
  }
  if (body !== null && bodilessStatuses.has(status)) {
    throw new TypeError(`An answer with the status ${status} has no body.`)
  }
  if (body !== null && !isStream(body)) requireSize(body, maxBytes)
  return { status, headers: headersOf(headers, type), body }
}

/** A part of a stream. Throws a `TypeError`. */
export function partOf(value: unknown, maxBytes: number): Part {
  const part = typeof value === 'string' ? value : bytesOf(value)
  if (part === undefined) throw new TypeError(`A stream yields texts or bytes, not ${shown(value)}.`)
  requireSize(part, maxBytes)
  return part
}

export function isStream(body: RouteReply['body']): body is { readonly stream: Stream } {
  return typeof body === 'object' && body !== null && 'stream' in body
}

/** Calls code of the model. */
export function iteratorOf(stream: Stream): AsyncIterator<unknown> | Iterator<unknown> {
  return Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : stream[Symbol.iterator]()
}

function shown(value: unknown): string {
  return inspect(value, { depth: 0, maxStringLength: 50, breakLength: Number.POSITIVE_INFINITY })
}

function answerOf(answer: unknown): RouteAnswer {
  if (answer === undefined) return {}
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer) || answer instanceof Response) {
    throw new TypeError(`It must return \`{ status, headers, body }\`, not ${shown(answer)}.`)
  }
  const unknown = Object.keys(answer).find(name => !answerMembers.includes(name))
  if (unknown === undefined) return answer
  throw new TypeError(
    `It must return \`{ status, headers, body }\`, without \`${unknown}\`: write \`{ body: … }\`.`,
  )
}

function bytesOf(value: unknown): Buffer | undefined {
  if (value instanceof ArrayBuffer) return Buffer.from(value)
  return ArrayBuffer.isView(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined
}

const textType = 'text/plain; charset=utf-8'
const bytesType = 'application/octet-stream'

/** The body, with its default media type. */
function bodyOf(content: unknown): readonly [RouteReply['body'], string | undefined] {
  if (content === null) return [null, undefined]
  if (typeof content === 'string') return [content, textType]
  const bytes = bytesOf(content)
  if (bytes !== undefined) return [bytes, bytesType]
  if (typeof content === 'object' && !Array.isArray(content)) {
    if (Symbol.asyncIterator in content || Symbol.iterator in content) {
      return [{ stream: content as Stream }, bytesType]
    }
  }
  if (content instanceof Promise) throw new TypeError('`body` is a promise: `await` it.')
  const text = isJson(content) ? JSON.stringify(content) : undefined
  if (text === undefined) {
    throw new TypeError(
      `\`body\` must be a text, bytes, a stream, a plain object or an array, not ${shown(content)}.`,
    )
  }
  return [text, 'application/json']
}

/** Whether all of it is in its JSON: that of a `Blob` is `{}`. */
function isJson(content: unknown): boolean {
  if (typeof content !== 'object' || content === null) return false
  return Array.isArray(content) || isPlain(content) || 'toJSON' in content
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function requireSize(body: Part, maxBytes: number): void {
  const bytes = Buffer.byteLength(body)
  if (bytes <= maxBytes) return
  throw new TypeError(`The body has ${bytes} bytes, more than ${maxBytes} (\`maxAnswer\`): return a stream.`)
}

function headersOf(given: object, type: string | undefined): readonly string[] {
  if (typeof given !== 'object' || given === null || !isPlain(given))
    throw new TypeError(`\`headers\` must be a plain object, not ${shown(given)}.`)
  const flat: string[] = []
  const names = new Set<string>()
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    names.add(name.toLowerCase())
    for (const each of Array.isArray(value) ? value : [value]) {
      requireHeader(name, each)
      flat.push(name, each)
    }
  }
  if (type !== undefined && !names.has('content-type')) flat.push('Content-Type', type)
  for (const [name, value] of defaultHeaders) if (!names.has(name.toLowerCase())) flat.push(name, value)
  return flat
}

function requireHeader(name: string, value: unknown): asserts value is string {
  const lower = name.toLowerCase()
  if (!headerName.test(name)) throw new TypeError(`${shown(name)} is not the name of a header.`)
  if (ownHeaders.has(lower) || ownPrefixes.some(prefix => lower.startsWith(prefix))) {
    throw new TypeError(`The header ${name} cannot be set: the service decides it.`)
  }
  if (typeof value !== 'string')
    throw new TypeError(`The header ${name} must be a text, not ${shown(value)}.`)
  if (forbiddenInValue.test(value)) {
    throw new TypeError(`The header ${name} contains a character that no header may contain.`)
  }
  if (lower === 'set-cookie' && ownCookie.test(value)) {
    throw new TypeError('Cookies whose names begin with `portico_` belong to the account pages.')
  }
}
