/** Which files a test reaches: by its imports, and by the programs that it names in order to start them. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { importsOf } from '../scripts/layers.ts'

/** A program beside the file, above or below it: `new URL('node.ts', import.meta.url)`, `'../../src/bin.ts'`. */
const programName = /'((?:\.{1,2}\/)*(?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs))'/g

const sources = resolve(import.meta.dirname, '..', 'src') + sep

interface ReadFile {
  readonly text: string
  readonly imports: readonly string[]
  readonly programs: readonly string[]
}

function filesAt(paths: readonly string[], from: string): readonly string[] {
  return paths.map(path => resolve(dirname(from), path)).filter(path => existsSync(path))
}

/** All paths are absolute. */
export class ImportGraph {
  readonly #files = new Map<string, ReadFile>()

  text(file: string): string {
    return this.#read(file).text
  }

  /** The file and all files of the tests that it imports, directly and indirectly. */
  importedTests(file: string): readonly string[] {
    return this.#reach(file, path => this.#read(path).imports.filter(other => !other.startsWith(sources)))
  }

  /** All that it imports, and the programs that these name, with all that they import. */
  reached(file: string): readonly string[] {
    return this.#reach(file, path => [...this.#read(path).imports, ...this.#read(path).programs])
  }

  #reach(file: string, next: (path: string) => readonly string[]): readonly string[] {
    const paths = new Set([file])
    // The loop also visits files that are added meanwhile.
    for (const path of paths) for (const other of next(path)) paths.add(other)
    return [...paths]
  }

  #read(path: string): ReadFile {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const text = readFileSync(path, 'utf8')
    const specifiers = importsOf(text).map(({ specifier }) => specifier)
    const names = [...text.matchAll(programName)].map(([, name = '']) => name)
    const file = {
      text,
      imports: filesAt(
        specifiers.filter(specifier => specifier.startsWith('.')),
        path,
      ),
      programs: filesAt(names, path),
    }
    this.#files.set(path, file)
    return file
  }
}
