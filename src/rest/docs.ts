/** `/docs`: a page that renders the OpenAPI document, and the catalogue of errors. Every byte is served from here. */
import type { Call, Reply } from '../call.ts'
import { catalogue } from '../errors.ts'
import { consolePolicy, packageFile, type StaticAsset, serveStatic } from '../static-assets.ts'
import { prefix } from './routes.ts'

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

/** Requests that are tried out go to the server that the document names, which may have another name than the page. */
function policy(baseUrl: string | undefined): string {
  return consolePolicy(baseUrl === undefined ? "'self'" : `'self' ${new URL(baseUrl).origin}`)
}

const hour = 3600
const assets: ReadonlyMap<string, StaticAsset> = new Map<string, StaticAsset>([
  ['/docs', { type: 'html', read: () => page, maxAgeSeconds: 0 }],
  ['/docs/errors', { type: 'html', read: errorsPage, maxAgeSeconds: 0 }],
  ['/docs/assets/start.js', { type: 'script', read: () => start, maxAgeSeconds: hour }],
  ['/docs/assets/docs.css', { type: 'css', read: () => style, maxAgeSeconds: hour }],
  ['/docs/assets/errors.css', { type: 'css', read: () => errorsStyle, maxAgeSeconds: hour }],
  [
    '/docs/assets/swagger-ui-bundle.js',
    { type: 'script', read: packageFile('swagger-ui-bundle.js', 'swagger-ui-dist'), maxAgeSeconds: hour },
  ],
  [
    '/docs/assets/swagger-ui.css',
    { type: 'css', read: packageFile('swagger-ui.css', 'swagger-ui-dist'), maxAgeSeconds: hour },
  ],
])

/** Answers `/docs` and the paths below it. */
export function createDocs(baseUrl: string | undefined): (call: Call) => Reply {
  return serveStatic({ assets, policy: policy(baseUrl) })
}
