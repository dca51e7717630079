/** `/docs`: a page that renders the OpenAPI document, and the catalogue of errors. Every byte is served from here. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Call, Reply } from '../call.ts'
import { ApiError, catalogue } from '../errors.ts'
import { entityTag } from '../plan/answer.ts'
import { matchesNone } from './conditional.ts'
import { prefix } from './path.ts'

const start = `window.ui = SwaggerUIBundle({
  url: '${prefix}/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  validatorUrl: null,
  queryConfigEnabled: false,
  tryItOutEnabled: true,
})
`

/** What the renderer's own style lacks: room on a narrow screen, and no column of links that the document never has. */
const style = `body { margin: 0 }
.swagger-ui .response-col_links { display: none }
.swagger-ui .opblock .opblock-section-header { flex-wrap: wrap }
@media (max-width: 45rem) {
  .swagger-ui .opblock-tag { flex-wrap: wrap }
  .swagger-ui .opblock-tag small { flex-basis: 100%; order: 1; padding: 0 }
}
.swagger-ui .markdown code, .swagger-ui .renderedMarkdown code { overflow-wrap: anywhere }
.swagger-ui .parameter__name { overflow-wrap: anywhere }
`

const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
`

const page = `${head}<title>API reference</title>
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
<link rel="stylesheet" href="/docs/assets/docs.css">
</head>
<body>
<div id="docs"><noscript>This page needs JavaScript. The document itself is <a href="${prefix}/openapi.json">${prefix}/openapi.json</a>.</noscript></div>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/assets/start.js"></script>
</body>
</html>
`

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

const errorsStyle = `body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff }
main { max-width: 72rem; margin: 0 auto; padding: 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-bottom: 1px solid #ddd }
tr:target { background: #fff3c4 }
@media (max-width: 45rem) {
  thead { display: none }
  tr, th, td { display: block }
  tr { padding: .5rem 0; border-bottom: 1px solid #ddd }
  th, td { padding: 0; border: 0; overflow-wrap: anywhere }
}
`

function errorsPage(): string {
  const rows = Object.entries(catalogue).map(
    ([code, { status, message, hint }]) =>
      `<tr id="${code}"><th scope="row"><code>${code}</code></th><td>${status}</td>` +
      `<td>${escapeHtml(message)}</td><td>${escapeHtml(hint).replace(/`([^`]+)`/g, '<code>$1</code>')}</td></tr>`,
  )
  return `${head}<title>Errors</title>
<link rel="stylesheet" href="/docs/assets/errors.css">
</head>
<body>
<main>
<h1>Errors</h1>
<p>Every error is <code>{"error":{"code","message"}}</code>; with <code>Accept: application/problem+json</code> the same facts come as RFC 9457.</p>
<table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Message</th><th scope="col">What to do</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</main>
</body>
</html>
`
}

/**
 * The renderer styles its elements in place, draws its icons from data: URLs, and sends what is tried to the
 * server that the document names, which may have another name than the page.
 */
function policy(baseUrl: string | undefined): string {
  const server = baseUrl === undefined ? '' : ` ${new URL(baseUrl).origin}`
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self'${server}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** The built package carries the assets beside this file; a clone has them in its packages. */
function readAsset(name: string): Buffer {
  const beside = new URL(`./assets/${name}`, import.meta.url)
  if (existsSync(beside)) return readFileSync(beside)
  return readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`))
}

interface Page {
  readonly type: string
  make(): string | Buffer
}

const html = 'text/html; charset=utf-8'
const css = 'text/css; charset=utf-8'
const script = 'text/javascript; charset=utf-8'
const pages: ReadonlyMap<string, Page> = new Map([
  ['/docs', { type: html, make: () => page }],
  ['/docs/errors', { type: html, make: errorsPage }],
  ['/docs/assets/start.js', { type: script, make: () => start }],
  ['/docs/assets/swagger-ui-bundle.js', { type: script, make: () => readAsset('swagger-ui-bundle.js') }],
  ['/docs/assets/swagger-ui.css', { type: css, make: () => readAsset('swagger-ui.css') }],
  ['/docs/assets/docs.css', { type: css, make: () => style }],
  ['/docs/assets/errors.css', { type: css, make: () => errorsStyle }],
])

interface Made {
  readonly etag: string
  readonly reply: Reply
}

function makePage(path: string, { type, make }: Page, baseUrl: string | undefined): Made {
  const body = make()
  const etag = entityTag(typeof body === 'string' ? body : body.toString('latin1'))
  const headers = [
    'Content-Type',
    type,
    'Cache-Control',
    path.startsWith('/docs/assets/') ? 'public, max-age=3600' : 'public, no-cache',
    'ETag',
    etag,
    'Referrer-Policy',
    'no-referrer',
    'Content-Security-Policy',
    policy(baseUrl),
  ]
  return { etag, reply: { status: 200, headers, body } }
}

/** Answers `/docs` and what is below. Assets are read when they are first asked for. */
export function createDocs(baseUrl: string | undefined): (call: Call) => Reply {
  const made = new Map<string, Made>()
  return call => {
    const known = pages.get(call.path)
    if (!known) throw new ApiError('NOT_FOUND')
    const Allow = 'GET, HEAD, OPTIONS'
    if (call.method === 'OPTIONS')
      return { status: 204, headers: ['Allow', Allow, 'Cache-Control', 'no-store'], body: null }
    if (call.method !== 'GET' && call.method !== 'HEAD') {
      throw new ApiError('METHOD_NOT_ALLOWED', `This path takes ${Allow}.`, { headers: { Allow } })
    }
    const found = made.get(call.path) ?? makePage(call.path, known, baseUrl)
    made.set(call.path, found)
    const header = call.headers['if-none-match']
    if (header !== undefined && matchesNone(header, found.etag)) {
      return { status: 304, headers: found.reply.headers.slice(2), body: null }
    }
    return found.reply
  }
}
