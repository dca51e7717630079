/** Runs a `portico` command in a process of its own. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inheritedEnvironment } from './environment.ts'

const built = resolve(import.meta.dirname, '../../../dist/bin.js')
/** scripts/test.mjs builds the package. A copy of the repository for mutants has the sources only. */
const isBuilt = existsSync(built)
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
/** The reference model. */
export const blog = resolve(import.meta.dirname, '../../../examples/blog/model.ts')

export type Environment = Readonly<Record<string, string | undefined>>

export interface CommandResult {
  readonly code: unknown
  readonly out: string
  readonly err: string
}

export interface ProcessOptions {
  /** The working directory. */
  readonly folder?: string
  /** Added to PATH and the reference model. */
  readonly environment?: Environment
}

export function portico(
  args: readonly string[],
  { folder: cwd, environment }: ProcessOptions = {},
): Promise<CommandResult> {
  const env = { ...inheritedEnvironment, PORTICO_MODEL: blog, ...environment }
  return new Promise(resolve =>
    execFile(process.execPath, [...program, ...args], { cwd, env }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    ),
  )
}
