/** Replies whose addresses begin with the path of the public address. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { htmlWithBasePath, withBasePath } from '../../base/base-path.ts'
import type { Reply } from '../../base/call.ts'

const addressHeaders: ReadonlySet<string> = new Set(['location', 'content-location'])

function indexOfHeader(headers: readonly string[], name: string): number {
  return headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name)
}

function headerOf(headers: readonly string[], name: string): string {
  const index = indexOfHeader(headers, name)
  return index < 0 ? '' : (headers[index + 1] ?? '')
}

function publicHeaders(headers: readonly string[], basePath: string): readonly string[] {
  return headers.map((text, index) => {
    const name = index % 2 === 0 ? '' : (headers[index - 1]?.toLowerCase() ?? '')
    if (name === 'link') return text.replace(/<(\/[^>]*)>/g, (_, path) => `<${withBasePath(path, basePath)}>`)
    return addressHeaders.has(name) ? withBasePath(text, basePath) : text
  })
}

/** How the addresses in a body of a media type get the base path; undefined: it contains none. */
function rewriting(type: string, basePath: string): ((text: string) => string) | undefined {
  if (type.startsWith('text/html')) return text => htmlWithBasePath(text, basePath)
  if (!type.startsWith('application/problem+json')) return undefined
  return text => text.replace(/^\{"type":"(?=\/)/, `{"type":"${basePath}`)
}

/** Pages that are made once are compressed. */
function decompressed(body: string | Buffer, encoding: string): string {
  if (typeof body === 'string') return body
  if (encoding === 'br') return brotliDecompressSync(body).toString()
  return (encoding === 'gzip' ? gunzipSync(body) : body).toString()
}

function rewritten(reply: Reply, basePath: string): Reply {
  const { status, body } = reply
  const headers = publicHeaders(reply.headers, basePath)
  const rewrite = rewriting(headerOf(headers, 'content-type'), basePath)
  if (rewrite === undefined || (typeof body !== 'string' && !Buffer.isBuffer(body)))
    return { status, headers, body }
  const text = rewrite(decompressed(body, headerOf(headers, 'content-encoding')))
  const encodingAt = indexOfHeader(headers, 'content-encoding')
  return { status, headers: encodingAt < 0 ? headers : headers.toSpliced(encodingAt, 2), body: text }
}

/** Returns a function that changes replies; it changes those that are sent repeatedly once. */
export function publicReplies(basePath: string): (reply: Reply) => Reply {
  if (basePath === '') return reply => reply
  const known = new WeakMap<Reply, Reply>()
  return reply => {
    const cached = known.get(reply)
    if (cached !== undefined) return cached
    const changed = rewritten(reply, basePath)
    known.set(reply, changed)
    return changed
  }
}
