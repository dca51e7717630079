/** How tests start `portico`: which program, and what its models import. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const built = resolve(import.meta.dirname, '../../../dist/bin.js')
/** scripts/test.mjs builds the package. A copy of the repository for mutants has the sources only. */
export const isBuilt = existsSync(built)
/** Node's arguments that start the command: of the built package, which users run and which starts sooner. */
export const program: readonly string[] = isBuilt
  ? [built]
  : ['--conditions=portico-source', resolve(import.meta.dirname, '../../../src/bin.ts')]
/** The same for a model of the tests, which imports Portico's sources. */
export const programOfTestModels: readonly string[] = isBuilt
  ? ['--import', pathToFileURL(resolve(import.meta.dirname, 'bundled-models.mjs')).href, ...program]
  : program
/** What a model file imports that `program` loads, from anywhere: a process must not load Portico twice. */
export const library = resolve(
  import.meta.dirname,
  isBuilt ? '../../../dist/index.js' : '../../../src/index.ts',
)
