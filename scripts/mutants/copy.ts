/** A copy of the repository in a temporary folder, to which mutants are applied while their tests run. */
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

const notCopied = new Set(['node_modules', '.git', 'dist', '.cache'])
/** Loaded before each test. */
const firstFailure = fileURLToPath(new URL('first-failure.ts', import.meta.url))
/** How much of a test's output is kept, in characters. */
const maxOutput = 20_000

export interface Run {
  readonly passed: boolean
  readonly output: string
  readonly ms: number
}

export class Copy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mutants-'))
  readonly #root = join(this.#folder, 'repository')
  /** The temporary folder of the tests, which is removed with the copy even if they are killed. */
  readonly #temporary = join(this.#folder, 'tmp')
  /** The process group of the running test. */
  #group: number | undefined
  readonly #onExit = () => this.remove()

  constructor() {
    cpSync(root, this.#root, { recursive: true, filter: path => !notCopied.has(basename(path)) })
    symlinkSync(join(root, 'node_modules'), join(this.#root, 'node_modules'))
    mkdirSync(this.#temporary)
    process.once('exit', this.#onExit)
  }

  read(file: string): string {
    return readFileSync(join(this.#root, file), 'utf8')
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#root, file), text)
  }

  /** Runs one test file: see `Mutant.tests`. A test that exceeds the limit is killed, and has failed. */
  async run(test: string, limitMs: number): Promise<Run> {
    const start = performance.now()
    const [file = '', only] = test.split('#')
    const chosen = only === undefined ? [] : [`--test-name-pattern=${only}`]
    const child = spawn(process.execPath, ['--import', firstFailure, ...chosen, file], {
      cwd: this.#root,
      env: { ...process.env, TMPDIR: this.#temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#group = child.pid
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output = (output + chunk).slice(-maxOutput)
      })
    }
    const timer = setTimeout(() => this.#endGroup(), limitMs)
    const code = await new Promise<number | null>(resolve => child.once('exit', resolve))
    clearTimeout(timer)
    this.#endGroup()
    return { passed: code === 0, output, ms: performance.now() - start }
  }

  remove(): void {
    process.off('exit', this.#onExit)
    this.#endGroup()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** A test may have started processes of its own. */
  #endGroup(): void {
    if (this.#group === undefined) return
    try {
      process.kill(-this.#group, 'SIGKILL')
    } catch {
      // All of them have ended.
    }
    this.#group = undefined
  }
}
