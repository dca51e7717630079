/**
 * From nothing to a response, in clean folders and with an empty npm cache: the start of a clone, a project that is created
 * from the packed packages, and a field that is added to its model.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { generateKey } from '../../src/identity/keys/key.ts'
import { cleanEnvironment, openRegistry, root } from '../../test/system/create/registry.ts'
import { freePort } from '../../test/system/processes/port.ts'
import { median } from '../workloads/measure.ts'

const run = promisify(execFile)
const pollMs = 5
const timeoutMs = 300_000

export interface FirstStep {
  readonly name: string
  readonly seconds: readonly number[]
  /** The disk space that `node_modules` takes; undefined for a step that installs nothing. */
  readonly mebibytes: number | undefined
}

type Environment = Readonly<Record<string, string>>

interface Running {
  readonly url: string
  readonly key: string
  stop(): Promise<void>
}

/** Starts a command that serves, on a free port. */
async function startUp(line: string, cwd: string, env: Environment): Promise<Running> {
  const port = await freePort()
  const key = generateKey()
  const settings = {
    PORT: String(port),
    HOST: '127.0.0.1',
    PORTICO_ADMIN_API_KEY: key,
    PORTICO_RATE_LIMIT: 'off',
  }
  // Its own process group: npm runs between this process and the service.
  const child = spawn('bash', ['-c', `exec ${line}`], {
    cwd,
    env: { ...env, ...settings },
    stdio: 'ignore',
    detached: true,
  })
  const closed = once(child, 'close')
  return {
    url: `http://127.0.0.1:${port}/api/v1/posts`,
    key,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM')
      await closed
    },
  }
}

/** Sends requests until the response is the expected one. Returns the time. */
async function untilAnswered(url: string, isExpected: (text: string) => boolean): Promise<number> {
  const end = performance.now() + timeoutMs
  while (performance.now() < end) {
    const text = await fetch(url).then(
      response => (response.ok ? response.text() : ''),
      () => '',
    )
    if (text !== '' && isExpected(text)) return performance.now()
    await wait(pollMs)
  }
  throw new Error(`${url} did not return the expected response within ${timeoutMs / 1000} s.`)
}

function mebibytesOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  return bytes / 2 ** 20
}

/** Runs in a folder with an empty npm cache, which is removed afterwards. */
async function inFolder<T>(
  env: Environment,
  use: (folder: string, env: Environment) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-first-steps-'))
  const cache = join(folder, 'cache')
  mkdirSync(cache)
  try {
    return await use(folder, { ...env, npm_config_cache: cache })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Step {
  readonly seconds: number
  readonly mebibytes: number
}

function measureClone(): Promise<Step> {
  return inFolder(cleanEnvironment(), async (folder, env) => {
    const clone = join(folder, 'portico')
    const start = performance.now()
    await run('git', ['clone', '--quiet', '--no-hardlinks', root, clone])
    const service = await startUp('npm start', clone, env)
    try {
      const seconds = ((await untilAnswered(service.url, () => true)) - start) / 1000
      return { seconds, mebibytes: mebibytesOf(join(clone, 'node_modules')) }
    } finally {
      await service.stop()
    }
  })
}

async function measureEdit(app: string, { url, key }: Running, round: number): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  await fetch(url, { method: 'POST', headers, body: '{"title":"One"}' })
  const file = join(app, 'model.ts')
  const model = readFileSync(file, 'utf8').replace(
    /^( *)body: .*$/m,
    `$&\n$1note_${round}: text({ optional: true }),`,
  )
  const start = performance.now()
  writeFileSync(file, model)
  const end = await untilAnswered(url, text => text.includes(`"note_${round}":null`))
  return (end - start) / 1000
}

function measureCreate(env: Environment, round: number): Promise<Step & { readonly edit: number }> {
  return inFolder(env, async (folder, npmEnvironment) => {
    const began = performance.now()
    await run('npm', ['create', 'portico@latest', 'my-app', '--', '--template', 'blog'], {
      cwd: folder,
      env: npmEnvironment,
    })
    const app = join(folder, 'my-app')
    const service = await startUp('npm run dev', app, npmEnvironment)
    try {
      const seconds = ((await untilAnswered(service.url, () => true)) - began) / 1000
      const mebibytes = mebibytesOf(join(app, 'node_modules'))
      return { seconds, mebibytes, edit: await measureEdit(app, service, round) }
    } finally {
      await service.stop()
    }
  })
}

/** Measures each step several times, one after the other. The clone contains only what is committed. */
export async function measureFirstSteps(rounds: number): Promise<readonly FirstStep[]> {
  const registry = await openRegistry()
  try {
    const clones: Step[] = []
    const creations: Awaited<ReturnType<typeof measureCreate>>[] = []
    for (let round = 1; round <= rounds; round++) {
      clones.push(await measureClone())
      creations.push(await measureCreate(registry.env, round))
    }
    const stepOf = (name: string, steps: readonly Step[]): FirstStep => ({
      name,
      seconds: steps.map(({ seconds }) => seconds),
      mebibytes: median(steps.map(({ mebibytes }) => mebibytes)),
    })
    return [
      stepOf('`git clone` and `npm start`, to the first answer', clones),
      stepOf('`npm create portico` and `npm run dev`, to the first answer', creations),
      {
        name: 'a field added to the model, to an answer that has it',
        seconds: creations.map(({ edit }) => edit),
        mebibytes: undefined,
      },
    ]
  } finally {
    registry.close()
  }
}

function row({ name, seconds, mebibytes }: FirstStep): string {
  const all = seconds.map(value => value.toFixed(2)).join(' · ')
  const size = mebibytes === undefined ? '' : String(Math.round(mebibytes))
  return `| ${name} | ${median(seconds).toFixed(2)} | ${all} | ${size} |`
}

export function firstStepsTable(steps: readonly FirstStep[]): string {
  return [
    `Node ${process.versions.node}, ${availableParallelism()} cores, an empty npm cache.`,
    '',
    '| what | seconds, median | each | MiB in node_modules |',
    '|---|---|---|---|',
    ...steps.map(row),
  ].join('\n')
}
