/** A plausible mistake, as a change of the sources that the tests must detect. */
export interface Mutant {
  /** The path from the root of the repository. */
  readonly file: string
  /** A description of the mistake, for the report. */
  readonly mistake: string
  /** The exact text, which occurs once in the file, and its replacement. */
  readonly text: string
  readonly replacement: string
  /** The test files of which one must fail, in the order in which they run; after `#` a part of the tests' names. */
  readonly tests: readonly string[]
  /** Why the mutant is equivalent, so that no test can kill it. */
  readonly equivalent: string | undefined
}

/** The members of a mutant that differ within a file. */
export type Row = readonly [mistake: string, text: string, replacement: string, equivalent?: string]

/** The mutants of one file. `file` and `tests` are given without `src/` and `.ts`, `test/` and `.test.ts`. */
export function mutantsOf(file: string, tests: readonly string[], rows: readonly Row[]): readonly Mutant[] {
  return rows.map(([mistake, text, replacement, equivalent]) => ({
    file: `src/${file}.ts`,
    mistake,
    text,
    replacement,
    tests: tests.map(name => {
      const [path, only] = name.split('#')
      return `test/${path}.test.ts${only === undefined ? '' : `#${only}`}`
    }),
    equivalent,
  }))
}
