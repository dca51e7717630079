/** GraphiQL, for browsers that open the path. Every byte is served from here. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Call, Reply } from '../call.ts'
import { ApiError } from '../errors.ts'
import { entityTag } from '../plan/answer.ts'
import { assetsPath } from './http-reply.ts'

/** Queries go by POST, subscriptions by server-sent events: both carry the headers that the user has set. */
const start = `async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\\n\\n')
    rest = blocks.pop()
    for (const block of blocks) {
      const lines = block.split('\\n')
      if (lines.includes('event: complete')) return
      const data = lines.find(line => line.startsWith('data: '))
      if (data !== undefined) yield JSON.parse(data.slice(6))
    }
  }
}

// The headers begin with a place for the key.
function isFilledIn([, value]) {
  return String(value).trim() !== 'Bearer'
}

async function fetcher(params, options) {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/graphql-response+json, application/json;q=0.9, text/event-stream;q=0.8',
      ...Object.fromEntries(Object.entries(options?.headers ?? {}).filter(isFilledIn)),
    },
    body: JSON.stringify(params),
  })
  const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream')
  return isStream ? events(response) : response.json()
}

ReactDOM.createRoot(document.getElementById('graphiql')).render(
  React.createElement(GraphiQL, {
    fetcher,
    defaultEditorToolsVisibility: 'headers',
    defaultHeaders: '{\\n  "Authorization": "Bearer "\\n}',
    shouldPersistHeaders: false,
  }),
)
`

const style = 'html, body, #graphiql { height: 100%; margin: 0; overflow: hidden; }\n'

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphiQL</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assetsPath}graphiql.min.css">
<link rel="stylesheet" href="${assetsPath}page.css">
</head>
<body>
<main id="graphiql"><noscript>This page needs JavaScript.</noscript></main>
<script src="${assetsPath}react.production.min.js"></script>
<script src="${assetsPath}react-dom.production.min.js"></script>
<script src="${assetsPath}graphiql.min.js"></script>
<script src="${assetsPath}start.js"></script>
</body>
</html>
`

// The editor styles its elements in place and carries its font and icons as data: URLs.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The built package carries the assets beside this file; a clone has them in its packages. */
function asset(name: string, module: string, file: string): () => Buffer {
  return () => {
    const beside = new URL(`./assets/${name}`, import.meta.url)
    if (existsSync(beside)) return readFileSync(beside)
    // Of its files, a module need export none but this one.
    const manifest = createRequire(import.meta.url).resolve(`${module}/package.json`)
    return readFileSync(join(dirname(manifest), file))
  }
}

/** Which files of which packages the page is made of; `scripts/build.mjs` copies them. */
const packaged = [
  ['graphiql.min.js', 'graphiql', 'graphiql.min.js'],
  ['graphiql.min.css', 'graphiql', 'graphiql.min.css'],
  ['react.production.min.js', 'react', 'umd/react.production.min.js'],
  ['react-dom.production.min.js', 'react-dom', 'umd/react-dom.production.min.js'],
] as const

const files = new Map<string, () => string | Buffer>([
  ['start.js', () => start],
  ['page.css', () => style],
  ...packaged.map(([name, module, file]) => [name, asset(name, module, file)] as const),
])

const constant = [
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Content-Security-Policy',
  policy,
]

export function graphiqlPage(): Reply {
  const headers = ['Content-Type', 'text/html; charset=utf-8', 'Cache-Control', 'no-cache', 'Vary', 'Accept']
  return { status: 200, headers: [...headers, ...constant], body: html }
}

const made = new Map<string, { readonly etag: string; readonly reply: Reply }>()

function makeAsset(name: string) {
  const body = files.get(name)?.()
  if (body === undefined) throw new ApiError('NOT_FOUND')
  const etag = entityTag(typeof body === 'string' ? body : body.toString('latin1'))
  const type = name.endsWith('.css') ? 'text/css' : 'text/javascript'
  const headers = [
    'Content-Type',
    `${type}; charset=utf-8`,
    'Cache-Control',
    'public, max-age=3600',
    'ETag',
    etag,
  ]
  const asset = { etag, reply: { status: 200, headers: [...headers, ...constant], body } }
  made.set(name, asset)
  return asset
}

/** A file below `assetsPath`, read when it is first asked for. */
export function graphiqlAsset({ method, path, headers }: Call): Reply {
  const Allow = 'GET, HEAD'
  if (method !== 'GET' && method !== 'HEAD') {
    throw new ApiError('METHOD_NOT_ALLOWED', undefined, { headers: { Allow } })
  }
  const name = path.slice(assetsPath.length)
  const { etag, reply } = made.get(name) ?? makeAsset(name)
  return headers['if-none-match'] === etag
    ? { status: 304, headers: reply.headers.slice(2), body: null }
    : reply
}
