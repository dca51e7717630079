/** A request's body → a JSON value. */
import { isUtf8 } from 'node:buffer'
import type { Call } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'

const maxDepth = 32
/** In all objects of a body together. More would block the event loop for over 50 ms: `npm run bench -- growth`. */
export const maxMembers = 40_000
const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** RFC 9110, 8.3.1: parameters are separated by `;`, a value is a token or a quoted string. */
const parameter = /^[ \t]*(?:([!#$%&'*+.^_`|~0-9a-z-]+)=([!#$%&'*+.^_`|~0-9a-z-]+|"[^"\\]*"))?[ \t]*$/

/** Whether a Content-Type is one of `types`, in UTF-8. */
export function isMediaType(header: string, types: readonly string[]): boolean {
  const [type = '', ...parameters] = header.toLowerCase().split(';')
  if (!types.includes(/^([^ \t]*)[ \t]*$/.exec(type)?.[1] ?? '')) return false
  return parameters.every(text => {
    const match = parameter.exec(text)
    return match !== null && (match[1] !== 'charset' || match[2] === 'utf-8' || match[2] === '"utf-8"')
  })
}

function requireMediaType(call: Call, types: readonly string[]): void {
  const header = call.headers['content-type']
  if (header !== 'application/json' && (header === undefined || !isMediaType(header, types))) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${types.join(' or ')}, in UTF-8.`, {
      headers: { [call.method === 'PATCH' ? 'Accept-Patch' : 'Accept']: types.join(', ') },
    })
  }
  const encoding = call.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without a Content-Encoding.', {
      headers: { 'Accept-Encoding': 'identity' },
    })
  }
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === BACKSLASH) index += 1
    else if (code === QUOTE) return index
  }
  return text.length
}

/**
 * Counts the members of all objects, duplicates included. `before`: those of other texts of the body. Throws when the text
 * nests too deep, or all have too many members.
 */
function countMembers(text: string, before = 0): number {
  let depth = 0
  let members = before
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === COLON) members += 1
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1
    if (depth > maxDepth) {
      throw new ApiError(
        'BAD_REQUEST',
        `The body is nested too deep; at most ${maxDepth} levels are allowed.`,
      )
    }
  }
  if (members <= maxMembers) return members - before
  const limit = maxMembers.toLocaleString('en')
  throw new ApiError(
    'BAD_REQUEST',
    `The body has ${members.toLocaleString('en')} object members; at most ${limit} are allowed.`,
  )
}

/** Counts the members of all objects in a parsed value, which has no duplicates. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) for (const item of value) members += membersIn(item)
  else for (const key of Object.keys(value)) members += 1 + membersIn(Reflect.get(value, key))
  return members
}

/**
 * The names of the members of a JSON object. None for other values: `Object.keys` of a string or an array creates a name for
 * each character or element, which takes seconds for a body of 1 MB.
 */
export function memberNames(value: unknown): readonly string[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
}

interface Level {
  /** The keys so far; undefined in an array. */
  readonly keys: Set<string> | undefined
  /** The current key, or the index in an array. */
  key: string | number
}

/** The place of the first repeated key, as a JSON Pointer (RFC 6901). */
function findDuplicate(text: string): string {
  const levels: Level[] = []
  let lastText = ''
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    const level = levels.at(-1)
    if (code === QUOTE) {
      const end = endOfString(text, index)
      lastText = text.slice(index, end + 1)
      index = end
    } else if (code === OPEN_BRACE) levels.push({ keys: new Set(), key: '' })
    else if (code === OPEN_BRACKET) levels.push({ keys: undefined, key: 0 })
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) levels.pop()
    else if (code === COMMA && typeof level?.key === 'number') level.key += 1
    else if (code === COLON && level?.keys) {
      level.key = JSON.parse(lastText) as string
      if (level.keys.has(level.key)) break
      level.keys.add(level.key)
    }
  }
  return levels.map(({ key }) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

const maxShownPointerLength = 200

function duplicateKey(text: string): ApiError {
  const pointer = findDuplicate(text)
  const shownPointer =
    pointer.length > maxShownPointerLength
      ? `${pointer.slice(0, maxShownPointerLength).toWellFormed()}…`
      : pointer
  return new ApiError(
    'BAD_REQUEST',
    `The body names the key ${JSON.stringify(shownPointer)} twice: send each key once.`,
  )
}

/** Locating a mistake takes several parses, so errors do not locate mistakes in longer texts. */
const maxLocatedLength = 10_000

/** Whether the text is the beginning of some JSON text. */
function isJsonPrefix(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    const position = /position (\d+)/.exec(message)?.[1]
    if (position !== undefined) return message.startsWith('Unterminated') || Number(position) >= text.length
    return message.startsWith('Unexpected end')
  }
}

/** The length of the longest prefix that can begin a JSON text. The parser's own message does not always give it. */
function findMistake(text: string): number {
  let valid = 0
  let broken = text.length + 1
  while (broken - valid > 1) {
    const middle = (valid + broken) >> 1
    if (isJsonPrefix(text.slice(0, middle))) valid = middle
    else broken = middle
  }
  return valid
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const place = text.length <= maxLocatedLength ? `: the error is at position ${findMistake(text)}` : ''
    throw new ApiError('BAD_REQUEST', `The body is not valid JSON${place}.`)
  }
}

/**
 * The JSON value of a body. Throws UNSUPPORTED_MEDIA_TYPE unless it is declared as one of `types`, and
 * BAD_REQUEST when it is empty, not UTF-8, not JSON, nested deeper than 32 levels, has more than
 * `maxMembers` members, or names a key twice in one object.
 */
export function readBody(call: Call, types: readonly string[]): unknown {
  if (call.parsed !== undefined) return call.parsed.body
  requireMediaType(call, types)
  if (call.body.length === 0) throw new ApiError('BAD_REQUEST', 'The body is empty: send a JSON object.')
  if (!isUtf8(call.body)) throw new ApiError('BAD_REQUEST', 'The body is not valid UTF-8.')
  return parseBodyText(call.body.toString('utf8'))
}

/** The JSON value of a body's text, under the same conditions. */
export function parseBodyText(text: string): unknown {
  const members = countMembers(text)
  const value = parseText(text)
  if (membersIn(value) !== members) throw duplicateKey(text)
  return value
}

/** The texts of one body, which may together have as many members as a body of JSON. */
export class BodyTexts {
  #members = 0

  /** The JSON value of a text, under the conditions of `parseBodyText`. The text itself if it is no JSON. */
  parse(text: string): unknown {
    const members = countMembers(text, this.#members)
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return text
    }
    if (members !== membersIn(value)) throw duplicateKey(text)
    this.#members += members
    return value
  }
}
