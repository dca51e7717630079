// `node scripts/bundle.mjs FOLDER`: bundles src/ into FOLDER, with source maps. scripts/build.mjs runs it on the chosen Node.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from './packages.mjs'

const src = join(root, 'src')

/** The modules that programs import, and those with which processes and threads start, by the name of their file. */
const entries = {
  index: join(src, 'index.ts'),
  testing: join(src, 'testing.ts'),
  bin: join(src, 'bin.ts'),
  worker: join(src, 'server', 'workers', 'thread.ts'),
  watchdog: join(src, 'base', 'watchdog', 'thread.ts'),
  serving: join(src, 'tools', 'dev', 'serving.ts'),
  reader: join(src, 'engine', 'store', 'sqlite', 'reader-processes', 'program.ts'),
}

/**
 * Chunks of what always loads together: modules, and what they import directly or indirectly and earlier chunks lack. So a
 * chunk imports only earlier ones, and neither a reader process nor `portico check` loads the service.
 */
const sharedChunks = {
  command: [join(src, 'server', 'http', 'next-tick-guard.ts'), join(src, 'tools', 'cli', 'cli.ts')],
  reading: [entries.reader],
  model: [entries.index],
  project: [join(src, 'tools', 'cli', 'options.ts'), join(src, 'server', 'serve', 'background', 'mailer.ts')],
  service: [join(src, 'server', 'serve', 'serve.ts')],
}

/** Returns the name of the shared chunk that gets a module; null if none does. */
function chunkNames() {
  let names
  return (id, context) => {
    names ??= namesByModule(module => context.getModuleInfo(module)?.importedIds ?? [])
    return names.get(id) ?? null
  }
}

/** `importsOf`: the modules that a module imports statically. */
function namesByModule(importsOf) {
  // An entry would run in every process that loads its chunk.
  const names = new Map(Object.values(entries).map(entry => [entry, null]))
  for (const [name, starts] of Object.entries(sharedChunks)) {
    const modules = new Set(starts)
    // The loop also visits modules that are added meanwhile.
    for (const module of modules) {
      for (const imported of importsOf(module)) modules.add(imported)
      if (!names.has(module)) names.set(module, name)
    }
  }
  return names
}

/** The name of a chunk that is neither an entry nor in `sharedChunks`: the path of the module for which it is there. */
function fileName({ name, facadeModuleId, moduleIds }) {
  if (Object.hasOwn(sharedChunks, name)) return `${name}.js`
  const module = facadeModuleId ?? moduleIds.at(-1)
  if (module === undefined || relative(src, module).startsWith('..')) return `${name}.js`
  return `${relative(src, module)
    .replace(/\.ts$/, '')
    .replaceAll(/[^\w-]+/g, '-')}.js`
}

/** Leaves the client unbundled: it runs in browsers, and `generate client` copies its files. */
const separateClient = {
  name: 'separate-client',
  resolveId(specifier, importer) {
    if (importer === undefined || !specifier.startsWith('.')) return undefined
    const module = relative(src, resolve(dirname(importer), specifier)).replaceAll('\\', '/')
    return /^client(\.ts$|\/)/.test(module)
      ? { id: `./${module.replace(/\.ts$/, '.js')}`, external: true }
      : undefined
  },
}

/**
 * Escapes what is not ASCII. V8 keeps a text with one character outside Latin-1 in twice the memory. The code has such
 * characters only in literals: names are ASCII, and comments are removed.
 */
function inAscii(code) {
  if (/\bString\.raw`[^`]*[^\0-\x7f]/.test(code))
    throw new Error('`String.raw` cannot have an escape: write ASCII.')
  return code.replaceAll(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const [, , folder] = process.argv
const bundle = await rolldown({
  input: entries,
  platform: 'node',
  tsconfig: false,
  transform: { target: 'esnext' },
  // With it, the bundler drops calls that are there for what they throw, such as `decodeURIComponent(password)`.
  treeshake: false,
  external: id => !/^[./]/.test(id) && !/^[A-Za-z]:/.test(id),
  plugins: [separateClient],
  onLog(level, log) {
    throw new Error(`${level}: ${log.message}`)
  },
})
const { output } = await bundle.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: fileName,
  codeSplitting: { groups: [{ name: chunkNames(), debugName: 'shared' }] },
  comments: false,
  minify: false,
  sourcemap: true,
  sourcemapExcludeSources: true,
})
for (const { type, fileName: name } of output) {
  const file = join(folder, name)
  if (type === 'chunk') writeFileSync(file, inAscii(readFileSync(file, 'utf8')))
}
