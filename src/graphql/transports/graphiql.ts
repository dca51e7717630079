/** GraphiQL, for browsers that open `/graphql`. Nothing is loaded from other servers. */
import type { Reply } from '../../call.ts'
import { consolePolicy, packageFile, type StaticAsset, serveStatic } from '../../static-assets.ts'
import { assetsPath } from './http-reply.ts'

/** Sends queries and subscriptions by POST, which carries the headers that the user has set; a WebSocket would not. */
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

// The default header has no credential yet.
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

/** The editor carries its font as a `data:` URL. */
const policy = consolePolicy("'self'", 'font-src data:')

const hour = 3600

const assets = new Map<string, StaticAsset>([
  ['start.js', { type: 'script', read: () => start, maxAgeSeconds: hour }],
  ['page.css', { type: 'css', read: () => style, maxAgeSeconds: hour }],
  [
    'graphiql.min.js',
    { type: 'script', read: packageFile('graphiql.min.js', 'graphiql'), maxAgeSeconds: hour },
  ],
  [
    'graphiql.min.css',
    { type: 'css', read: packageFile('graphiql.min.css', 'graphiql'), maxAgeSeconds: hour },
  ],
  ...['react', 'react-dom'].map((name): [string, StaticAsset] => {
    const file = `${name}.production.min.js`
    return [file, { type: 'script', read: packageFile(file, name, `umd/${file}`), maxAgeSeconds: hour }]
  }),
])

export function graphiqlPage(): Reply {
  const headers = [
    'Content-Type',
    'text/html; charset=utf-8',
    'Cache-Control',
    'no-cache',
    'Vary',
    'Accept',
    'Referrer-Policy',
    'no-referrer',
    'Content-Security-Policy',
    policy,
  ]
  return { status: 200, headers, body: html }
}

/** Answers the paths below `assetsPath`. */
export const graphiqlAsset = serveStatic({
  assets: new Map([...assets].map(([name, asset]) => [assetsPath + name, asset])),
  policy,
})
