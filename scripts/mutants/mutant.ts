/** A mistake that somebody could make, as a change of the sources that the tests must notice. */
export interface Mutant {
  /** From the root of the repository. */
  readonly file: string
  /** What the mistake does, for whoever reads the report. */
  readonly mistake: string
  /** The exact text, which occurs once in the file, and what stands in its place. */
  readonly text: string
  readonly instead: string
  /** The test files that must notice, run in this order until one fails; after `#` which of its tests, by a part of their names. */
  readonly tests: readonly string[]
  /** Why nobody has to notice: it changes nothing that matters. */
  readonly harmless: string | undefined
}

/** The mistake; the text; what stands in its place; for one that nobody has to notice, why. */
export type Row = readonly [mistake: string, text: string, instead: string, harmless?: string]

/** The mutants of one file. `file` and `tests` lack what all have in common: `src/` and `.ts`, `test/` and `.test.ts`. */
export function mutantsOf(file: string, tests: readonly string[], rows: readonly Row[]): readonly Mutant[] {
  return rows.map(([mistake, text, instead, harmless]) => ({
    file: `src/${file}.ts`,
    mistake,
    text,
    instead,
    tests: tests.map(name => {
      const [path, only] = name.split('#')
      return `test/${path}.test.ts${only === undefined ? '' : `#${only}`}`
    }),
    harmless,
  }))
}
