/**
 * Static assets: pages, style sheets and scripts that never change while the service runs. Answers GET, HEAD and
 * OPTIONS, and conditional requests by entity tag (RFC 9110, 13.1.2).
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Call, Reply } from './call.ts'
import { matchesNone } from './conditional.ts'
import { ApiError } from './errors.ts'
import { entityTag } from './plan/answer.ts'

const mediaTypes = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  script: 'text/javascript; charset=utf-8',
} as const

export interface StaticAsset {
  readonly type: keyof typeof mediaTypes
  /** Called when the asset is first asked for. */
  readonly read: () => string | Buffer
  /** How long browsers and proxies keep it without asking; 0: they always ask. */
  readonly maxAgeSeconds: number
}

export interface StaticAssetsOptions {
  /** By path. */
  readonly assets: ReadonlyMap<string, StaticAsset>
  /** Content Security Policy Level 3, on every asset. */
  readonly policy?: string
}

const Allow = 'GET, HEAD, OPTIONS'

/** Answers the paths of `assets`; NOT_FOUND for every other one. */
export function serveStatic({ assets, policy }: StaticAssetsOptions): (call: Call) => Reply {
  const replies = new Map<string, Reply & { readonly etag: string }>()
  const replyOf = (path: string, asset: StaticAsset) => {
    const known = replies.get(path)
    if (known) return known
    const body = asset.read()
    const etag = entityTag(typeof body === 'string' ? body : body.toString('latin1'))
    const age = asset.maxAgeSeconds === 0 ? 'no-cache' : `max-age=${asset.maxAgeSeconds}`
    const headers = ['Content-Type', mediaTypes[asset.type], 'Cache-Control', `public, ${age}`, 'ETag', etag]
    if (policy !== undefined) {
      headers.push('Referrer-Policy', 'no-referrer', 'Content-Security-Policy', policy)
    }
    const reply = { status: 200, headers, body, etag }
    replies.set(path, reply)
    return reply
  }
  return ({ method, path, headers }) => {
    const asset = assets.get(path)
    if (!asset) throw new ApiError('NOT_FOUND')
    if (method === 'OPTIONS') {
      return { status: 204, headers: ['Allow', Allow, 'Cache-Control', 'no-store'], body: null }
    }
    if (method !== 'GET' && method !== 'HEAD') {
      throw new ApiError('METHOD_NOT_ALLOWED', `This path takes ${Allow}.`, { headers: { Allow } })
    }
    const reply = replyOf(path, asset)
    const tags = headers['if-none-match']
    const isUnchanged = tags !== undefined && matchesNone(tags, reply.etag)
    return isUnchanged ? { status: 304, headers: reply.headers.slice(2), body: null } : reply
  }
}

/** A policy for pages that bring their own scripts, set styles in place and use `data:` URLs, as API consoles do. */
export function consolePolicy(connectSources: string, ...directives: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src ${connectSources}`,
    ...directives,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/**
 * Reads a file of a package: the built package carries it in `assets/` beside this file, where `scripts/build.mjs` puts
 * it; a clone has it in `node_modules/`. `file`: where it is in the package.
 */
export function packageFile(name: string, packageName: string, file = name): () => Buffer {
  return () => {
    const bundled = new URL(`./assets/${name}`, import.meta.url)
    if (existsSync(bundled)) return readFileSync(bundled)
    // Packages may export nothing but their manifest.
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`)
    return readFileSync(join(dirname(manifest), file))
  }
}
