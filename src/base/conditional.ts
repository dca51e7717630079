/** Entity tags and conditional requests (RFC 9110, 8.8.3 and 13). */
import { createHash, hash } from 'node:crypto'
import { ApiError } from './errors.ts'

/** RFC 9110, 8.8.3: `[W/]"etagc*"`, in a list that may have empty elements (5.6.1.2). */
const entityTags =
  /^[ \t,]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[ \t]*,[ \t,]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*(?:[ \t]*,)*[ \t]*$/
const oneTag = /(?:W\/)?"[^"]*"/g
const maxTags = 100

function parseTags(name: string, header: string): readonly string[] | '*' {
  const text = header.trim()
  if (text === '*') return '*'
  const tags = text.length <= 8000 && entityTags.test(text) ? text.match(oneTag) : null
  if (!tags || tags.length > maxTags) {
    throw new ApiError(
      'BAD_REQUEST',
      `The header ${name} must be * or a list of at most ${maxTags} entity tags, e.g. "abc".`,
    )
  }
  return tags
}

/** What Apache and Caddy append to the tag of an answer that they compress. */
const compressed = /-(?:gzip|br|zstd|deflate)"$/

/** Without what a proxy has changed when it compressed the answer. */
function originTag(tag: string): string {
  return tag.replace(compressed, '"')
}

/**
 * Whether `If-None-Match` names the tag, compared weakly (RFC 9110, 13.1.2), as it was before a proxy compressed the answer.
 * Throws BAD_REQUEST if it is malformed.
 */
export function matchesNone(header: string, etag: string): boolean {
  if (header === etag) return true
  const tags = parseTags('If-None-Match', header)
  if (tags === '*') return true
  return tags.some(tag => [tag, originTag(tag)].some(own => own === etag || own === `W/${etag}`))
}

/** Throws PRECONDITION_FAILED if `If-Match` is sent and does not name the tag; BAD_REQUEST if it is malformed. */
export function requireMatch(header: string | undefined, etag: string): void {
  const tags = readIfMatch(header)
  if (tags === undefined || tags === '*' || tags.includes(etag)) return
  throw new ApiError('PRECONDITION_FAILED', 'The header If-Match does not name the current entity tag.')
}

/**
 * The tags of `If-Match` that can match strongly (RFC 9110, 13.1.1), or `'*'`; undefined without the header. With a tag that a
 * proxy changed when it compressed the answer, also the one it had before: both name the same state of the item. Weak tags never match, so they are omitted. Throws BAD_REQUEST if the header is malformed.
 */
export function readIfMatch(header: string | undefined): readonly string[] | '*' | undefined {
  if (header === undefined) return undefined
  const tags = parseTags('If-Match', header)
  if (tags === '*') return '*'
  const strong = tags.filter(tag => !tag.startsWith('W/'))
  return [...new Set([...strong, ...strong.map(originTag)])]
}

/** The first half of a character, which is encoded together with the second. */
function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

/** In characters. A longer text is hashed in parts, so that no copy of the whole is made in UTF-8. */
const maxHashedLength = 65_536

/** The entity tag (RFC 9110, 8.8.3) of a representation: strong, and equal on every node. */
export function entityTag(representation: string): string {
  if (representation.length <= maxHashedLength) return `"${hash('sha1', representation, 'base64url')}"`
  const sha1 = createHash('sha1')
  let start = 0
  while (start < representation.length) {
    const last = start + maxHashedLength - 1
    const end = isHighSurrogate(representation.charCodeAt(last)) ? last : last + 1
    sha1.update(representation.slice(start, end))
    start = end
  }
  return `"${sha1.digest('base64url')}"`
}
