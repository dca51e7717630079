/** `portico dev` in a process and a folder of its own, and edits of its files. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, type CallOptions, call } from '../../server/serve/service.ts'
import { inheritedEnvironment } from '../../system/processes/environment.ts'
import { library, program } from '../../system/processes/program.ts'

/** The time that a test waits for output: for a busy machine, not an expectation. */
const timeoutMs = 120_000

const model = `import { anyone, collection, model, string, text, users } from '${library}'
import { longest } from './limits.ts'
export default model(
  {
    notes: collection({
      fields: {
        title: string({ max: longest }),
      },
      access: { read: anyone, create: anyone },
    }),
  },
)
`

export interface Development {
  readonly folder: string
  readonly url: string
  readonly process: ChildProcess
  /** All its output. */
  output(): string
  /** Resolves with the next match in the output after the previous one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>
  /** The content of the file in the folder. */
  read(name: string): string
  write(name: string, text: string): void
  /** Replaces a part of the model file, which must exist. */
  edit(part: string, replacement: string): void
  call(path: string, options?: CallOptions): Promise<Answer>
  /** Stops it by a signal. Returns the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

export interface DevelopmentOptions {
  readonly args?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly model?: string
  /** Runs the command in another way, e.g. in a terminal. */
  readonly run?: (command: string, args: readonly string[], options: object) => ChildProcess
}

/** Collects the output of a process; `waitFor` waits for matches of it in order. */
function listen(child: ChildProcess): Pick<Development, 'output' | 'waitFor'> {
  let text = ''
  let position = 0
  let findMatch: (() => void) | undefined
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', chunk => {
      text += chunk
      findMatch?.()
    })
  }
  const waitFor = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${pattern} is not in the output:\n${text}`)),
        timeoutMs,
      )
      findMatch = () => {
        const match = pattern.exec(text.slice(position))
        if (match === null) return
        position += match.index + match[0].length
        findMatch = undefined
        clearTimeout(timer)
        resolve(match)
      }
      findMatch()
    })
  return { output: () => text, waitFor }
}

export function startDevelopment(folder: string, options: DevelopmentOptions = {}): Development {
  const { args = [], environment = {}, run = spawn } = options
  writeFileSync(join(folder, 'limits.ts'), 'export const longest = 100\n')
  writeFileSync(join(folder, 'model.ts'), options.model ?? model)
  const env = { ...inheritedEnvironment, HOST: '127.0.0.1', PORT: '0', ...environment }
  const child = run(process.execPath, [...program, 'dev', ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { output, waitFor } = listen(child)
  const url = () => /REST +(http:\S+?)\/api\/v1/.exec(output())?.[1] ?? ''
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  return {
    folder,
    get url() {
      return url()
    },
    process: child,
    output,
    waitFor,
    read,
    write,
    edit(part, replacement) {
      const before = read('model.ts')
      if (!before.includes(part)) throw new Error(`${part} is not in\n${before}`)
      write('model.ts', before.replace(part, replacement))
    },
    call: (path, options) => call(url() + path, options),
    async end(signal = 'SIGINT') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exit = once(child, 'close')
      child.kill(signal)
      const [code] = await exit
      return code
    },
  }
}

/** Runs `use` with `portico dev` in a new folder, from its first output to its exit. */
export async function withDevelopment(
  options: DevelopmentOptions,
  use: (dev: Development) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-dev-'))
  const dev = startDevelopment(folder, options)
  try {
    await use(dev)
  } finally {
    await dev.end('SIGTERM')
    rmSync(folder, { recursive: true, force: true })
  }
}
