/** Which test files need a program that this machine lacks. */
import { join, resolve } from 'node:path'
import { ImportGraph } from './import-graph.ts'
import { configuredPostgres, installedPath, type ProgramName, programs } from './programs.ts'

const root = resolve(import.meta.dirname, '..')

export interface LackingFile {
  readonly file: string
  readonly lacks: readonly ProgramName[]
}

const programCalls = /\bfindProgram\('([\w-]+)'\)/g
const serverCall = /= configuredPostgres\(\)/

function needsIn(text: string): readonly ProgramName[] {
  const called = [...text.matchAll(programCalls)].map(([, name]) => name as ProgramName)
  const startsServer = serverCall.test(text) && configuredPostgres() === undefined
  return startsServer ? [...called, 'initdb'] : called
}

/** What a file and all files that it imports call for. */
export function neededPrograms(file: string, graph = new ImportGraph()): readonly ProgramName[] {
  return [...new Set(graph.importedTests(join(root, file)).flatMap(path => needsIn(graph.text(path))))]
}

function isInstalled(name: ProgramName): boolean {
  return installedPath(programs[name]) !== undefined
}

/** The programs that are needed and not there, for each of the files that lack one. `has`: whether the machine has a program. */
export function lackingFiles(
  files: readonly string[],
  has: (name: ProgramName) => boolean = isInstalled,
): readonly LackingFile[] {
  const graph = new ImportGraph()
  const missing = new Set((Object.keys(programs) as ProgramName[]).filter(name => !has(name)))
  return files
    .map(file => ({ file, lacks: neededPrograms(file, graph).filter(name => missing.has(name)) }))
    .filter(({ lacks }) => lacks.length > 0)
}
