/**
 * Which test files a run consists of, and which of them are left out for lack of a program. Prints both as JSON, for
 * `scripts/selection.mjs`. Its arguments are files, folders and patterns, or one of:
 *
 * - `--quick`: what `npm test` runs. Tests in one process, on SQLite, and a few that show that the rest works.
 * - `--rest`: what `npm run test:all` adds. A file that tries several databases is in both, with `PORTICO_TEST_PART`.
 * - `--changed` or `--changed=COMMIT`: what reaches a file that differs from the last commit, or from that one.
 *
 * Without any, it is every test file.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join, matchesGlob, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ImportGraph } from './import-graph.ts'
import { lackingFiles, neededPrograms } from './needs.ts'
import { programs } from './programs.ts'

const root = resolve(import.meta.dirname, '..')

function toRelative(path: string): string {
  return relative(root, path).split(sep).join('/')
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
  const path = toRelative(resolve(root, name))
  const files = all.filter(
    file => path === '' || file === path || file.startsWith(`${path}/`) || matchesGlob(file, path),
  )
  if (files.length > 0) return files
  throw new Error(`No test file is named ${name}.`)
}

/** Tests of what `npm test` otherwise leaves to `npm run test:all`: a break of the whole is noticed at once. */
const smokeFolder = 'test/system/smoke/'

const startsProcesses = /from 'node:(child_process|worker_threads|cluster)'/
/** What starts the databases and nodes of set-ups, and looks for programs. */
const ofSetups = ['test/setups/', 'test/system/nodes/', 'test/programs.ts']
const chosenModule = join(root, 'test', 'chosen.ts')
/** In the path of a test of other databases alone, or of one with many cases. */
const namesOthers =
  /postgres|row-security|replicas|random|\.property\.|\/(nodes|faults|matrix|growth|answers)\//
/** In the text of a test that runs on more than SQLite. */
const otherSetups = /\bchosen\(|databaseKinds|setups\b|seededStores|postgres|redis|nodes|onEach/i

function isOfSetups(path: string): boolean {
  return ofSetups.some(start => toRelative(path).startsWith(start))
}

interface Parts {
  readonly quick: boolean
  readonly rest: boolean
}

/** Which of the two runs a file belongs to. */
export function partsOf(file: string, graph = new ImportGraph()): Parts {
  if (file.startsWith(smokeFolder)) return { quick: true, rest: false }
  const path = join(root, file)
  const imported = graph.importedTests(path)
  const needed = neededPrograms(file, graph)
  const isSlow =
    namesOthers.test(file) ||
    imported.some(other => !isOfSetups(other) && startsProcesses.test(graph.text(other))) ||
    needed.some(name => name !== 'initdb' && name !== 'redis-server')
  if (isSlow) return { quick: false, rest: true }
  if (needed.length === 0) return { quick: true, rest: false }
  if (!imported.includes(chosenModule)) return { quick: false, rest: true }
  return { quick: true, rest: otherSetups.test(graph.text(path)) }
}

function git(...args: readonly string[]): readonly string[] {
  const output = execFileSync('git', args, { cwd: root, encoding: 'utf8' })
  return output.split('\n').filter(line => line !== '')
}

/** The paths that differ from a commit, also those that Git does not know yet. */
function changedPaths(commit: string): readonly string[] {
  return [
    ...git('diff', '--name-only', commit, '--'),
    ...git('ls-files', '--others', '--exclude-standard'),
  ].sort()
}

/** Whether a test reads the path, a file that is not code: the pages have tests of their own, an example its model's. */
function readsDocument(file: string, path: string): boolean {
  if (path.endsWith('.md')) return file.startsWith('test/docs/')
  const [folder, name] = path.split('/')
  return folder === 'test' && name !== undefined && file.startsWith(`${dirname(path)}/`)
}

/** The test files that a change of these paths can reach. A change of what every test uses reaches all. */
export function filesReaching(paths: readonly string[], all: readonly string[]): readonly string[] {
  const graph = new ImportGraph()
  const code = paths.filter(path => /\.(ts|tsx|mjs)$/.test(path)).map(path => join(root, path))
  const documents = paths.filter(path => !/\.(ts|tsx|mjs)$/.test(path))
  if (documents.some(path => /^(package(-lock)?\.json|tsconfig\.json|\.npmrc)$/.test(path))) return all
  return all.filter(file => {
    const reached = new Set(graph.reached(join(root, file)))
    return code.some(path => reached.has(path)) || documents.some(path => readsDocument(file, path))
  })
}

/** Throws if an argument names no test file. */
export function testFiles(args: readonly string[]): readonly string[] {
  const all = everyTestFile()
  const graph = new ImportGraph()
  const [first] = args
  if (first === undefined) return all
  if (first === '--quick') return all.filter(file => partsOf(file, graph).quick)
  if (first === '--rest') return all.filter(file => partsOf(file, graph).rest)
  const [, commit = 'HEAD'] = /^--changed(?:=(.+))?$/.exec(first) ?? []
  if (first.startsWith('--changed')) return filesReaching(changedPaths(commit), all)
  return [...new Set(args.flatMap(name => filesNamed(name, all)))]
}

/** What `scripts/selection.mjs` reads. */
function report(args: readonly string[]) {
  const files = testFiles(args)
  // The quick part of the others needs no database.
  const needing = args[0] === '--quick' ? files.filter(file => file.startsWith(smokeFolder)) : files
  const lacking = lackingFiles(needing)
  const count = (name: keyof typeof programs) => lacking.filter(({ lacks }) => lacks.includes(name)).length
  const missing = [...new Set(lacking.flatMap(({ lacks }) => lacks))].map(name => {
    const { title, package: debianPackage } = programs[name]
    return { title, package: debianPackage, files: count(name) }
  })
  const leftOut = new Set(lacking.map(({ file }) => file))
  const graph = new ImportGraph()
  const isInBoth = (file: string) => args[0] === '--rest' && partsOf(file, graph).quick
  return {
    files: files.filter(file => !leftOut.has(file)),
    inBoth: files.filter(isInBoth),
    leftOut: leftOut.size,
    missing,
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    process.stdout.write(JSON.stringify(report(process.argv.slice(2))))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}
