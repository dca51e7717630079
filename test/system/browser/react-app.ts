/** The React example, built as its users build it, and served from its own origin. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { build, type Rolldown } from 'vite'

const example = join(import.meta.dirname, '..', '..', '..', 'examples', 'react')

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
}

const clientChunk = { name: 'client', test: /src[\\/]client/ }

export interface AppFile {
  readonly name: string
  readonly content: string
}

/** The files of `vite build` with `VITE_…` variables; nothing is written to disk. */
export async function buildApp(
  variables: Readonly<Record<string, string>>,
  { root = example, base = '/' } = {},
): Promise<readonly AppFile[]> {
  const define = Object.entries(variables).map(([name, value]) => [
    `import.meta.env.${name}`,
    JSON.stringify(value),
  ])
  const result = (await build({
    root,
    base,
    logLevel: 'error',
    define: Object.fromEntries(define),
    // Resolves the package to this clone.
    resolve: { conditions: ['portico-source', 'module', 'browser', 'production'] },
    // Puts the client into a separate file, so that its size can be measured.
    build: { write: false, rolldownOptions: { output: { codeSplitting: { groups: [clientChunk] } } } },
  })) as Rolldown.RolldownOutput
  return result.output.map(file => ({
    name: file.fileName,
    content: file.type === 'chunk' ? file.code : String(file.source),
  }))
}

export interface AppServer {
  readonly url: string
  files: readonly AppFile[]
  close(): Promise<void>
}

/** Serves the files from its own origin. */
export async function serveApp(): Promise<AppServer> {
  const app: { files: readonly AppFile[] } = { files: [] }
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://app')
    const expected = pathname === '/' ? 'index.html' : pathname.slice(1)
    const file = app.files.find(({ name }) => name === expected)
    if (file === undefined) return response.writeHead(404).end()
    return response
      .writeHead(200, { 'content-type': types[extname(expected)] ?? 'text/plain' })
      .end(file.content)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(app, {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  })
}
