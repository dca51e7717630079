/** A client project in a folder of its own: generated, compiled and run by its own tools. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inheritedEnvironment } from '../processes/environment.ts'

const root = join(import.meta.dirname, '..', '..', '..')

interface ProgramResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface Client {
  readonly folder: string
  /** Runs a program of an installed package. */
  tool(
    name: string,
    args: readonly string[],
    environment?: Readonly<Record<string, string>>,
  ): Promise<ProgramResult>
  /** Runs a program of the machine. */
  program(path: string, args: readonly string[], environment?: object): Promise<ProgramResult>
  /** Runs the compiled program. */
  run(environment: Readonly<Record<string, string>>): Promise<ProgramResult>
  close(): void
}

/** `name`: the folder next to this file. `packages`: the node_modules to use. */
export function openClient(name: string, packages = join(root, 'node_modules')): Client {
  const folder = mkdtempSync(join(tmpdir(), `portico-${name}-`))
  cpSync(join(import.meta.dirname, name), folder, { recursive: true })
  symlinkSync(packages, join(folder, 'node_modules'))
  const start = (program: string, args: readonly string[], environment = {}) =>
    new Promise<ProgramResult>(resolve => {
      const env = { ...inheritedEnvironment, HOME: folder, ...environment }
      const limits = { timeout: 300_000, maxBuffer: 2 ** 26 }
      execFile(program, args, { cwd: folder, env, ...limits }, (error, out, err) =>
        resolve({ code: error ? 1 : 0, out, err }),
      )
    })
  return {
    folder,
    program: start,
    tool: (tool, args, environment) =>
      start(process.execPath, [join(packages, '.bin', tool), ...args], environment),
    run: environment => start(process.execPath, [join('out', 'main.js')], environment),
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
