/** GraphiQL, for browsers that open `/graphql`. Nothing is loaded from other servers. */
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Call, Reply } from '../../../base/call.ts'
import { consolePolicy, packageFile, type StaticAsset, serveStatic } from '../../../base/static-assets.ts'
import { assetsPath } from './http-reply.ts'

/** Sends queries and subscriptions by POST with the headers that the user has set. A WebSocket could not send them. */
const startScript = `async function* events(response) {
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
  const response = await fetch(location.pathname, {
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

// CodeMirror gives its text areas no accessible names: they get the names of the sections around them.
new MutationObserver(() => {
  for (const area of document.querySelectorAll('#graphiql textarea:not([aria-label])')) {
    const name = area.closest('[aria-label]')?.getAttribute('aria-label')
    if (name) area.setAttribute('aria-label', name)
  }
}).observe(document.getElementById('graphiql'), { childList: true, subtree: true })

ReactDOM.createRoot(document.getElementById('graphiql')).render(
  React.createElement(GraphiQL, {
    fetcher,
    defaultQuery: document.getElementById('graphiql').dataset.query,
    defaultEditorToolsVisibility: 'headers',
    defaultHeaders: '{\\n  "Authorization": "Bearer "\\n}',
    shouldPersistHeaders: false,
  }),
)
`

const styleSheet = `body.tool { display: flex; flex-direction: column; height: 100vh; overflow: hidden }
.explorer { position: relative; flex: 1; min-height: 0 }
#graphiql { height: 100% }
/* GraphiQL's own colours have a contrast of 2.6 to 4.3 on white; WCAG 1.4.3 requires 4.5. */
@media (prefers-color-scheme: light) {
  body:not(.graphiql-dark) :is(.graphiql-container, .CodeMirror-info, .CodeMirror-lint-tooltip) {
    --color-info: 208, 100%, 36%;
    --color-warning: 36, 100%, 25%;
    --color-tertiary: 188, 100%, 24%;
    --color-success: 158, 60%, 26%;
    --color-secondary: 242, 51%, 50%;
    --alpha-secondary: .86;
  }
}
.unseen { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%) }
`

/** The document around the editor, for the visitor who sent the call: `styles` and `scripts` are paths, in order. */
export type ExplorerFrame = (
  call: Call,
  parts: { readonly styles: readonly string[]; readonly scripts: readonly string[] },
) => Awaitable<{ readonly html: string; readonly images: readonly string[] }>

const fileNames = {
  styles: ['graphiql.min.css', 'page.css'],
  scripts: ['react.production.min.js', 'react-dom.production.min.js', 'graphiql.min.js', 'start.js'],
}

/** The editor embeds its font as a `data:` URL. */
function policyWith(images: readonly string[]): string {
  return consolePolicy({ fonts: ['data:'], images })
}

const hourSeconds = 3600

const assets = new Map<string, StaticAsset>([
  ['start.js', { type: 'script', read: () => startScript, maxAgeSeconds: hourSeconds }],
  ['page.css', { type: 'css', read: () => styleSheet, maxAgeSeconds: hourSeconds }],
  [
    'graphiql.min.js',
    {
      type: 'script',
      read: packageFile({ name: 'graphiql.min.js', packageName: 'graphiql' }),
      maxAgeSeconds: hourSeconds,
    },
  ],
  [
    'graphiql.min.css',
    {
      type: 'css',
      read: packageFile({ name: 'graphiql.min.css', packageName: 'graphiql' }),
      maxAgeSeconds: hourSeconds,
    },
  ],
  ...['react', 'react-dom'].map((name): [string, StaticAsset] => {
    const file = `${name}.production.min.js`
    const read = packageFile({ name: file, packageName: name, file: `umd/${file}` })
    return [file, { type: 'script', read, maxAgeSeconds: hourSeconds }]
  }),
])

/** The page of GraphiQL. Its `<main>` has the id `graphiql`. */
export function graphiqlPage(frame: ExplorerFrame, call: Call): Awaitable<Reply> {
  const paths = (files: readonly string[]) => files.map(name => assetsPath + name)
  const framed = frame(call, { styles: paths(fileNames.styles), scripts: paths(fileNames.scripts) })
  return then(framed, ({ html, images }) => ({
    status: 200,
    headers: [
      ...['Content-Type', 'text/html; charset=utf-8', 'Cache-Control', 'private, no-cache'],
      ...['Vary', 'Accept, Accept-Language, Cookie', 'Referrer-Policy', 'no-referrer'],
      ...['Content-Security-Policy', policyWith(images)],
    ],
    body: html,
  }))
}

/** Answers the paths below `assetsPath`. */
export const graphiqlAsset = serveStatic({
  assets: new Map([...assets].map(([name, asset]) => [assetsPath + name, asset])),
  policy: policyWith([]),
})
