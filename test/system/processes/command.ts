/** Runs a `portico` command in a process of its own. */

import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { inheritedEnvironment } from './environment.ts'
import { program } from './program.ts'

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
