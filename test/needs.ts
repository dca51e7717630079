/**
 * Which test files a run consists of, and which of them need a program that this machine lacks. Prints both as JSON, for
 * `scripts/needs.mjs`. Its arguments are files, folders and patterns; without any, it is every test file.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { importsOf } from '../scripts/layers.ts'
import { configuredPostgres, installedPath, type ProgramName, programs } from './programs.ts'

const root = resolve(import.meta.dirname, '..')

export interface LackingFile {
  readonly file: string
  readonly lacks: readonly ProgramName[]
}

const programCalls = /\bfindProgram\('([\w-]+)'\)/g
const serverCall = /= configuredPostgres\(\)/

/** The files of the tests that one imports. Those in src/ call for no program. */
function importedFiles(file: string, text: string): readonly string[] {
  return importsOf(text)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => resolve(dirname(file), specifier))
    .filter(path => !relative(root, path).startsWith('src') && path.endsWith('.ts') && existsSync(path))
}

function needsIn(text: string): readonly ProgramName[] {
  const called = [...text.matchAll(programCalls)].map(([, name]) => name as ProgramName)
  const startsServer = serverCall.test(text) && configuredPostgres() === undefined
  return startsServer ? [...called, 'initdb'] : called
}

interface ReadFile {
  readonly needs: readonly ProgramName[]
  readonly imports: readonly string[]
}

/** What a file and all files that it imports call for. */
class Needs {
  readonly #files = new Map<string, ReadFile>()

  of(path: string): readonly ProgramName[] {
    const paths = new Set([path])
    // The loop also visits files that are added meanwhile.
    for (const one of paths) for (const imported of this.#read(one).imports) paths.add(imported)
    return [...new Set([...paths].flatMap(one => this.#read(one).needs))]
  }

  #read(path: string): ReadFile {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const text = readFileSync(path, 'utf8')
    const file = { needs: needsIn(text), imports: importedFiles(path, text) }
    this.#files.set(path, file)
    return file
  }
}

/** The programs that are needed and not there, for each of the files that lack one. `has`: whether the machine has a program. */
export function lackingFiles(
  files: readonly string[],
  has: (name: ProgramName) => boolean = name => installedPath(programs[name]) !== undefined,
): readonly LackingFile[] {
  const needs = new Needs()
  const missing = new Set((Object.keys(programs) as ProgramName[]).filter(name => !has(name)))
  return files
    .map(file => ({ file, lacks: needs.of(join(root, file)).filter(name => missing.has(name)) }))
    .filter(({ lacks }) => lacks.length > 0)
}

function everyTestFile(): readonly string[] {
  return ['test', 'examples']
    .flatMap(folder =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter(name => name.endsWith('.test.ts') && !name.includes('node_modules'))
        .map(name => `${folder}/${name.split(sep).join('/')}`),
    )
    .sort()
}

/** The test files that a file, folder or pattern names. Throws if there are none. */
function filesNamed(name: string, all: readonly string[]): readonly string[] {
  const path = relative(root, resolve(root, name)).split(sep).join('/')
  const files = all.filter(
    file => path === '' || file === path || file.startsWith(`${path}/`) || matchesGlob(file, path),
  )
  if (files.length > 0) return files
  throw new Error(`No test file is named ${name}.`)
}

export function testFiles(names: readonly string[]): readonly string[] {
  const all = everyTestFile()
  return names.length === 0 ? all : [...new Set(names.flatMap(name => filesNamed(name, all)))]
}

/** What `scripts/needs.mjs` reads. */
function report(names: readonly string[]) {
  const files = testFiles(names)
  const lacking = lackingFiles(files)
  const count = (name: ProgramName) => lacking.filter(({ lacks }) => lacks.includes(name)).length
  const missing = [...new Set(lacking.flatMap(({ lacks }) => lacks))].map(name => {
    const { title, package: debianPackage } = programs[name]
    return { title, package: debianPackage, files: count(name) }
  })
  const leftOut = new Set(lacking.map(({ file }) => file))
  return { files: files.filter(file => !leftOut.has(file)), leftOut: leftOut.size, missing }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    process.stdout.write(JSON.stringify(report(process.argv.slice(2))))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}
