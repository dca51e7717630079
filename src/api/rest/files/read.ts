/** GET of a file: the rules of its item and field first, then conditions and ranges (RFC 9110, 13 and 14). */
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Reply } from '../../../base/call.ts'
import { matchesNone, requireMatch } from '../../../base/conditional.ts'
import { ApiError } from '../../../base/errors.ts'
import type { StoredFile } from '../../../model/fields/file.ts'
import { parseItem } from '../query/item.ts'
import { parseQuery, unknownParameter } from '../query/query-string.ts'
import { vary } from '../reply/headers.ts'
import type { Read } from '../services.ts'
import { disposition } from './names.ts'
import type { FileRoute } from './routes.ts'

/** What browsers show without running it. Everything else is saved. */
const shown =
  /^(?:image\/(?!svg)[a-z0-9.+-]+|audio\/[a-z0-9.+-]+|video\/[a-z0-9.+-]+|text\/plain|application\/pdf)$/

export const readFile: Read<FileRoute> = (services, route, call, principal) => {
  const { files, run } = services
  const view = services.viewOf(route.collection.name, principal)
  const { name } = route.field
  const isDownload = parseDownload(call.query)
  if (!view.fields.has(name)) throw new ApiError('NOT_FOUND')
  const { shape } = parseItem(view, `fields=${name}`)
  return then(run.item({ shape, args: [route.id] }, principal), ({ text }): Awaitable<Reply> => {
    const file: StoredFile | null = text === null ? null : JSON.parse(text)[name]
    // The name may be encoded in another way.
    if (file === null || !isAddress(route.file ?? '', file)) throw new ApiError('NOT_FOUND')
    const tag = `"${file.sha256}"`
    requireMatch(call.headers['if-match'], tag)
    const headers = headersOf(tag, isOpen(route))
    const noneMatch = call.headers['if-none-match']
    if (noneMatch !== undefined && matchesNone(noneMatch, tag)) return { status: 304, headers, body: null }
    const ifRange = call.headers['if-range']
    const isRanged = ifRange === undefined || ifRange === tag
    const range = isRanged && call.method === 'GET' ? parseRange(call.headers.range, file.size) : undefined
    if (range === 'unsatisfiable')
      return {
        status: 416,
        headers: ['Content-Range', `bytes */${file.size}`, 'Cache-Control', 'no-store'],
        body: null,
      }
    const [first, last] = range ?? [0, file.size - 1]
    const key = route.file?.split('/', 1)[0] ?? ''
    const status = range === undefined ? 200 : 206
    const content = [
      ...headers,
      ...typeHeaders(file, isDownload),
      ...(range === undefined ? [] : ['Content-Range', `bytes ${first}-${last}/${file.size}`]),
      ...['Content-Length', String(last + 1 - first)],
    ]
    // An explanation has no store: the rights alone decide.
    if (files === undefined) return { status, headers: content, body: null }
    // Opened first: without its object, the answer is an error rather than a body that breaks off.
    return then(files.read(key, first, last), body => ({ status, headers: content, body }))
  })
}

/** Whether the end of an address, the key and the name, is that of the file. */
function isAddress(end: string, { url }: StoredFile): boolean {
  const [key, name = '', ...more] = end.split('/')
  const [ownKey, ownName = ''] = url.split('/').slice(-2)
  if (key !== ownKey || more.length > 0) return false
  try {
    return decodeURIComponent(name) === decodeURIComponent(ownName)
  } catch {
    return false
  }
}

/** Whether caches may keep the file for everyone: only if everyone may read it. */
function isOpen({ collection, field }: FileRoute): boolean {
  const isPublic = field.type.file?.isPublic === true
  return isPublic && collection.access.read.kind === 'anyone' && field.access.read.kind === 'anyone'
}

/** Whether the query asks for a file to be saved. Throws BAD_REQUEST for other parameters. */
function parseDownload(query: string): boolean {
  const parameters = query === '' ? [] : parseQuery(query)
  for (const { name } of parameters) if (name !== 'download') throw unknownParameter(name, ['download'])
  return parameters.length > 0
}

function headersOf(tag: string, isPublic: boolean): readonly string[] {
  const caching = isPublic ? 'public, max-age=31536000, immutable' : 'private, no-cache'
  return ['Cache-Control', caching, 'Vary', vary, 'ETag', tag, 'Accept-Ranges', 'bytes']
}

function typeHeaders({ name, type }: StoredFile, isDownload: boolean): readonly string[] {
  const kind = shown.test(type) && !isDownload ? 'inline' : 'attachment'
  return [
    ...['Content-Type', type.startsWith('text/') ? `${type}; charset=utf-8` : type],
    ...['Content-Disposition', disposition(kind, name)],
    // Chromium shows no PDF in a sandboxed document. Its viewer runs nothing in the origin of the service.
    ...['Content-Security-Policy', type === 'application/pdf' ? "script-src 'none'" : 'sandbox'],
  ]
}

/** One range of bytes (RFC 9110, 14.1.2). Undefined: the header is missing, malformed, or names several ranges. */
function parseRange(
  header: string | undefined,
  size: number,
): readonly [number, number] | 'unsatisfiable' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '') ?? []
  if (from === '' && to === '') return undefined
  if (from === '')
    return Number(to) === 0 || size === 0 ? 'unsatisfiable' : [Math.max(0, size - Number(to)), size - 1]
  if (to !== '' && Number(to) < Number(from)) return undefined
  if (Number(from) >= size) return 'unsatisfiable'
  return [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)]
}
