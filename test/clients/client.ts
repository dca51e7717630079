/** A client's project, as others have it, in a folder of its own: generated, compiled and run by its own tools. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface Client {
  readonly folder: string
  /** Runs a program that an installed package brings. */
  tool(name: string, args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ended>
  /** Runs what was compiled. */
  run(environment: Readonly<Record<string, string>>): Promise<Ended>
  close(): void
}

/** `name`: of the folder beside this file. */
export function openClient(name: string): Client {
  const folder = mkdtempSync(join(tmpdir(), `portico-${name}-`))
  const packages = join(root, 'node_modules')
  cpSync(join(import.meta.dirname, name), folder, { recursive: true })
  symlinkSync(packages, join(folder, 'node_modules'))
  const start = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    new Promise<Ended>(ended => {
      const env = { PATH: process.env.PATH, HOME: folder, ...environment }
      execFile(process.execPath, args, { cwd: folder, env, timeout: 180_000 }, (error, out, err) =>
        ended({ code: error ? 1 : 0, out, err }),
      )
    })
  return {
    folder,
    tool: (tool, args, environment) => start([join(packages, '.bin', tool), ...args], environment),
    run: environment => start([join('out', 'main.js')], environment),
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
