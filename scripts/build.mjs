// Builds dist/ from src/: what the package contains and what `npm start` runs. The compiler checks the sources and writes the
// types and the client; scripts/bundle.mjs writes everything else.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { capture, chosenNode, prepareToServe, root, say } from './node.mjs'

const src = join(root, 'src')
const dist = join(root, 'dist')
const entry = join(dist, 'bin.js')

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath ?? entry.path, entry.name))
}

/** Whether dist/ is newer than all of its sources. */
export function isBuilt() {
  if (!existsSync(entry)) return false
  const built = statSync(entry).mtimeMs
  const sources = [
    ...filesIn(src),
    ...['tsconfig.json', 'tsconfig.build.json'].map(name => join(root, name)),
    ...['build.mjs', 'bundle.mjs'].map(name => join(root, 'scripts', name)),
  ]
  return sources.every(file => statSync(file).mtimeMs <= built)
}

/** Copies styles and scripts of pages into one folder, beside all chunks. */
function copyAssets(target) {
  const assets = join(target, 'assets')
  for (const file of filesIn(src)) {
    if (!file.endsWith('.ts'))
      cpSync(file, join(assets, basename(file)), { errorOnExist: true, force: false })
  }
}

/** Removes the modules that will be bundled. */
function removeModules(target) {
  for (const file of filesIn(target)) {
    const isClient = /^client(\.js$|[\\/])/.test(relative(target, file))
    if (file.endsWith('.js') && !isClient) rmSync(file)
  }
}

/** Runs a program on the chosen Node. If it fails, prints its output and the sentence, and ends this process. */
async function runOrExit(args, target, sentence) {
  const { code, output } = await capture(chosenNode(), args)
  if (code === 0) return
  rmSync(target, { recursive: true, force: true })
  say(output)
  say(sentence)
  process.exit(code)
}

/** The highest Brotli quality that takes less than a second. */
const brotliQuality = 9

function compressInto(target, name, content) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  }
  writeFileSync(join(target, 'assets', `${name}.br`), brotliCompressSync(content, { params }))
}

/**
 * Adds the renderer of /docs/rest and GraphiQL, compressed and with their licences, so that an installation needs no
 * further packages for them.
 */
async function bundleAssets(target) {
  mkdirSync(join(target, 'assets'), { recursive: true })
  const files = [
    ['graphiql', 'graphiql.min.js', 'graphiql.min.js'],
    ['graphiql', 'graphiql.min.css', 'graphiql.min.css'],
    ['react', 'umd/react.production.min.js', 'react.production.min.js'],
    ['react-dom', 'umd/react-dom.production.min.js', 'react-dom.production.min.js'],
  ]
  for (const [name, file, as] of files) {
    compressInto(target, as, readFileSync(join(root, 'node_modules', name, file)))
  }
  const { renderer } = await import(pathToFileURL(join(target, 'web', 'portal', 'renderer.js')).href)
  const module = readFileSync(join(root, 'node_modules', renderer.packageName, renderer.file), 'utf8')
  compressInto(target, renderer.name, Buffer.from(renderer.extract(module)))
  const licences = [
    [renderer.packageName, 'scalar.LICENSE.txt'],
    ['graphiql', 'graphiql.LICENSE.txt'],
    ['react', 'react.LICENSE.txt'],
  ]
  for (const [name, as] of licences) {
    cpSync(join(root, 'node_modules', name, 'LICENSE'), join(target, 'assets', as))
  }
}

/** Builds next to the old dist/ and then replaces it, so that no process reads an incomplete one. */
export async function build() {
  const target = join(root, `dist.${process.pid}.tmp`)
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const compile = [compiler, '-p', 'tsconfig.build.json', '--outDir', target]
  await runOrExit(compile, target, 'The sources do not compile; the faults are above.')
  await bundleAssets(target)
  removeModules(target)
  copyAssets(target)
  const bundle = [join(root, 'scripts', 'bundle.mjs'), target]
  await runOrExit(bundle, target, 'The sources cannot be bundled; the fault is above.')
  const bin = join(target, 'bin.js')
  if (existsSync(bin)) chmodSync(bin, 0o755)
  rmSync(dist, { recursive: true, force: true })
  renameSync(target, dist)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await prepareToServe()
  await build()
}
