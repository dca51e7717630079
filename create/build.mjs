// `prepack`: compiles src/ to dist/, and adds the templates, which are the examples, and the versions. Does nothing if dist/
// is newer than all of its sources.
// Needs the packages of the repository; runs on the machine's own Node, from version 20.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '..')
const dist = join(here, 'dist')

function read(...path) {
  return JSON.parse(readFileSync(join(root, ...path), 'utf8'))
}

/** Written last. */
const versionsFile = join(dist, 'versions.json')

function newestIn(...path) {
  const place = join(root, ...path)
  if (!statSync(place).isDirectory()) return statSync(place).mtimeMs
  return Math.max(...readdirSync(place).map(name => newestIn(...path, name)))
}

function isBuilt() {
  if (!existsSync(versionsFile)) return false
  const sources = [
    'create/src',
    'create/template',
    'create/build.mjs',
    'create/package.json',
    'package-lock.json',
  ]
  const examples = ['examples/blog', 'examples/empty', 'examples/tracker']
  const newest = Math.max(...[...sources, ...examples].map(path => newestIn(path)))
  return newest < statSync(versionsFile).mtimeMs
}

function compile() {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { status } = spawnSync(process.execPath, [compiler, '-p', here], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
  chmodSync(join(dist, 'bin.js'), 0o755)
}

/** In a project, the test of an example is the test of the model. */
async function copyTemplates() {
  const { templateNames } = await import('./dist/templates.js')
  const templates = join(dist, 'templates')
  cpSync(join(here, 'template'), templates, { recursive: true })
  for (const name of templateNames) {
    mkdirSync(join(templates, name))
    const example = join(root, 'examples', name)
    for (const file of ['model.ts', 'seed.ts']) cpSync(join(example, file), join(templates, name, file))
    cpSync(join(example, `${name}.test.ts`), join(templates, name, 'model.test.ts'))
  }
}

/** A new project uses the versions with which this repository is tested. */
function writeVersions() {
  const installed = name => `^${read('node_modules', name, 'package.json').version}`
  const versions = {
    portico: read('package.json').version,
    oldestNode: read('package.json').engines.node.replace('>=', ''),
    typescript: installed('typescript'),
    typesOfNode: installed('@types/node'),
    node: read('runtime', 'package.json').optionalDependencies,
  }
  writeFileSync(versionsFile, `${JSON.stringify(versions, null, 2)}\n`)
}

async function build() {
  rmSync(dist, { recursive: true, force: true })
  compile()
  await copyTemplates()
  cpSync(join(root, 'LICENSE'), join(here, 'LICENSE'))
  writeVersions()
}

if (!isBuilt()) await build()
