/**
 * Static assets: pages, style sheets, scripts and data that never change while the service runs. Answers GET, HEAD and
 * OPTIONS, conditional requests by entity tag (RFC 9110, 13.1.2), and compresses each asset once (12.5.3).
 */

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants, gzip } from 'node:zlib'
import { type Awaitable, then } from './awaitable.ts'
import type { Call, Reply } from './call.ts'
import { entityTag, matchesNone, requireMatch } from './conditional.ts'
import { ApiError } from './errors.ts'
import { ownFolder } from './package-files.ts'

const mediaTypes = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  script: 'text/javascript; charset=utf-8',
  json: 'application/json',
} as const

/** A file that the built package contains only in compressed form. */
interface Compressed {
  readonly brotli: Buffer
}

type Content = string | Buffer | Compressed

export interface StaticAsset {
  readonly type: keyof typeof mediaTypes
  /** Called at the first request for the asset. */
  readonly read: () => Awaitable<Content>
  /** How long browsers and proxies may cache it; 0: they always revalidate. */
  readonly maxAgeSeconds: number
  /** Whether the content depends on the session: then only browsers may cache it. */
  readonly personal?: boolean
  /** A further request header that the content depends on, for `Vary`. */
  readonly varies?: string
}

export interface StaticAssetsOptions {
  /** By path. */
  readonly assets: ReadonlyMap<string, StaticAsset>
  /** Content Security Policy Level 3, on every asset. */
  readonly policy?: string
}

const Allow = 'GET, HEAD, OPTIONS'

/** Smaller assets fit into one packet anyway. */
const minCompressedBytes = 1024

type Encoding = 'br' | 'gzip' | 'identity'

/** The best content coding that the header accepts (RFC 9110, 12.5.3). */
function acceptedEncoding(header: string | undefined): Encoding {
  const refused = /;\s*q=0(?:\.0*)?\s*$/i
  const names = (header ?? '')
    .slice(0, 500)
    .split(',')
    .filter(range => !refused.test(range))
    .map(range => range.split(';', 1)[0]?.trim().toLowerCase())
  return (['br', 'gzip'] as const).find(name => names.includes(name)) ?? 'identity'
}

/** The best quality that takes less than a second for the largest asset. */
const brotliQuality = 5
const compressBrotli = promisify(brotliCompress)
const compressGzip = promisify(gzip)
const decompressBrotli = promisify(brotliDecompress)

async function encode(content: Content, encoding: Encoding): Promise<string | Buffer> {
  const isCompressed = typeof content === 'object' && 'brotli' in content
  if (isCompressed && encoding === 'br') return content.brotli
  const plain = isCompressed ? await decompressBrotli(content.brotli) : content
  if (encoding === 'identity') return plain
  if (encoding === 'gzip') return compressGzip(plain)
  return compressBrotli(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } })
}

function isSmall(content: Content): boolean {
  return (typeof content === 'string' || Buffer.isBuffer(content)) && content.length < minCompressedBytes
}

type TaggedReply = Reply & { readonly etag: string }

function createReply(
  body: string | Buffer,
  encoding: Encoding,
  asset: StaticAsset,
  policy?: string,
): TaggedReply {
  const etag = entityTag(typeof body === 'string' ? body : body.toString('latin1'))
  const age = asset.maxAgeSeconds === 0 ? 'no-cache' : `max-age=${asset.maxAgeSeconds}`
  const headers = ['Content-Type', mediaTypes[asset.type]]
  headers.push('Cache-Control', `${asset.personal ? 'private' : 'public'}, ${age}`, 'ETag', etag)
  const varyingHeaders = ['Accept-Encoding', asset.personal && 'Cookie', asset.varies]
  headers.push('Vary', varyingHeaders.filter(Boolean).join(', '))
  if (policy !== undefined) headers.push('Referrer-Policy', 'no-referrer', 'Content-Security-Policy', policy)
  if (encoding !== 'identity') headers.push('Content-Encoding', encoding)
  return { status: 200, headers, body, etag }
}

/** Without the headers that describe the body. */
function notModified({ headers }: TaggedReply): Reply {
  const otherHeaders = headers.slice(2, headers.includes('Content-Encoding') ? -2 : undefined)
  return { status: 304, headers: otherHeaders, body: null }
}

/** Answers the paths of `assets`, and NOT_FOUND for others. */
export function serveStatic({ assets, policy }: StaticAssetsOptions): (call: Call) => Awaitable<Reply> {
  const replies = new Map<string, Promise<TaggedReply> | TaggedReply>()
  const readReply = async (asset: StaticAsset, accepted: Encoding) => {
    const content = await asset.read()
    const encoding = isSmall(content) ? 'identity' : accepted
    return createReply(await encode(content, encoding), encoding, asset, policy)
  }
  const replyOf = (path: string, asset: StaticAsset, encoding: Encoding): Awaitable<TaggedReply> => {
    const key = `${encoding} ${path}`
    const existing = replies.get(key)
    if (existing) return existing
    const pending = readReply(asset, encoding)
    replies.set(key, pending)
    pending.then(
      reply => replies.set(key, reply),
      () => replies.delete(key),
    )
    return pending
  }
  return ({ method, path, headers }) => {
    const asset = assets.get(path)
    if (!asset) throw new ApiError('NOT_FOUND')
    if (method === 'OPTIONS') {
      return { status: 204, headers: ['Allow', Allow, 'Cache-Control', 'no-store'], body: null }
    }
    if (method !== 'GET' && method !== 'HEAD') {
      throw new ApiError('METHOD_NOT_ALLOWED', `This path accepts ${Allow}.`, { headers: { Allow } })
    }
    return then(replyOf(path, asset, acceptedEncoding(headers['accept-encoding'])), reply => {
      const tags = headers['if-none-match']
      requireMatch(headers['if-match'], reply.etag)
      const isUnchanged = tags !== undefined && matchesNone(tags, reply.etag)
      return isUnchanged ? notModified(reply) : reply
    })
  }
}

/** The sources that a policy allows besides `'self'`. */
export interface ConsoleSources {
  readonly connect?: readonly string[]
  readonly images?: readonly string[]
  readonly fonts?: readonly string[]
}

/** A policy for pages with their own scripts, inline styles and `data:` URLs, such as API consoles. */
export function consolePolicy({ connect = [], images = [], fonts = [] }: ConsoleSources = {}): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    ["img-src 'self' data:", ...images].join(' '),
    ["connect-src 'self'", ...connect].join(' '),
    ...(fonts.length > 0 ? [['font-src', ...fonts].join(' ')] : []),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

export interface PackageFile {
  /** Its name in the built package. */
  readonly name: string
  readonly packageName: string
  /** Where it is in the package; by default `name`. */
  readonly file?: string
  /** Extracts the needed part of the file. */
  readonly extract?: (text: string) => string
}

/**
 * Reads a file of a package: the built package carries it, compressed, in `assets/`, where
 * `scripts/build.mjs` puts it; a clone has it in `node_modules/`.
 */
export function packageFile({ name, packageName, file = name, extract }: PackageFile): () => Content {
  return () => {
    const bundled = new URL(`assets/${name}.br`, ownFolder)
    if (existsSync(bundled)) return { brotli: readFileSync(bundled) }
    // `resolve` would not find it: packages may export nothing but their code.
    const source = readFileSync(join(folderOf(packageName), file))
    return extract ? extract(source.toString()) : source
  }
}

function folderOf(packageName: string): string {
  const { paths } = createRequire(import.meta.url).resolve
  const folders = (paths(packageName) ?? []).map(folder => join(folder, packageName))
  const folder = folders.find(candidate => existsSync(candidate))
  if (folder === undefined) throw new Error(`The package ${packageName} is not installed.`)
  return folder
}
