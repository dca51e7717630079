// Compiles src/ to dist/: what the package holds and what `npm start` runs.
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { capture, chosenNode, prepareToServe, root, say } from './node.mjs'

const src = join(root, 'src')
const dist = join(root, 'dist')
const entry = join(dist, 'bin.js')

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(found => found.isFile())
    .map(found => join(found.parentPath ?? found.path, found.name))
}

/** Whether dist/ is younger than everything it is made from. */
export function isBuilt() {
  if (!existsSync(entry)) return false
  const built = statSync(entry).mtimeMs
  const sources = [...filesIn(src), join(root, 'tsconfig.json'), join(root, 'tsconfig.build.json')]
  return sources.every(file => statSync(file).mtimeMs <= built)
}

/** Pages, styles and other files that the compiler leaves alone. */
function copyAssets(target) {
  for (const file of filesIn(src)) {
    if (file.endsWith('.ts')) continue
    const copy = join(target, relative(src, file))
    mkdirSync(dirname(copy), { recursive: true })
    cpSync(file, copy)
  }
}

/** The page at /docs is built in, with its licence: whoever installs the package needs no further one for it. */
function copyDocsPage(target) {
  const from = join(root, 'node_modules', 'swagger-ui-dist')
  const files = [
    ['swagger-ui-bundle.js', 'swagger-ui-bundle.js'],
    ['swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui-bundle.js.LICENSE.txt'],
    ['swagger-ui.css', 'swagger-ui.css'],
    ['LICENSE', 'swagger-ui.LICENSE.txt'],
    ['NOTICE', 'swagger-ui.NOTICE.txt'],
  ]
  for (const [file, as] of files) cpSync(join(from, file), join(target, 'assets', as))
}

/** GraphiQL is built in likewise. */
function copyGraphiql(target) {
  const files = [
    ['graphiql', 'graphiql.min.js', 'graphiql.min.js'],
    ['graphiql', 'graphiql.min.css', 'graphiql.min.css'],
    ['graphiql', 'LICENSE', 'graphiql.LICENSE.txt'],
    ['react', 'umd/react.production.min.js', 'react.production.min.js'],
    ['react', 'LICENSE', 'react.LICENSE.txt'],
    ['react-dom', 'umd/react-dom.production.min.js', 'react-dom.production.min.js'],
  ]
  for (const [name, file, as] of files) {
    cpSync(join(root, 'node_modules', name, file), join(target, 'assets', as))
  }
}

/** Builds beside the old dist/ and then puts it in its place, so that nobody sees half of it. */
export async function build() {
  const target = join(root, `dist.${process.pid}.tmp`)
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { code, output } = await capture(chosenNode(), [
    compiler,
    '-p',
    'tsconfig.build.json',
    '--outDir',
    target,
  ])
  if (code !== 0) {
    rmSync(target, { recursive: true, force: true })
    say(output)
    say('The sources do not compile; the faults are above.')
    process.exit(code)
  }
  copyAssets(target)
  copyDocsPage(target)
  copyGraphiql(target)
  const made = join(target, 'bin.js')
  if (existsSync(made)) chmodSync(made, 0o755)
  rmSync(dist, { recursive: true, force: true })
  renameSync(target, dist)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await prepareToServe()
  await build()
}
