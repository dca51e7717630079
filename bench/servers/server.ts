/** Starts the measured servers, each in its own process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const root = join(import.meta.dirname, '../..')

export interface Running {
  readonly origin: string
  readonly pid: number
  /** Milliseconds from the start of the process to its first response. */
  readonly startMs: number
  stop(): Promise<void>
}

export function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

async function firstAnswer(child: ChildProcess, url: string): Promise<void> {
  for (let tries = 0; tries < 4000; tries++) {
    if (child.exitCode !== null) throw new Error(`A measured server ended at its start (${child.exitCode}).`)
    const response = await fetch(url).catch(() => undefined)
    await response?.arrayBuffer()
    // 503: it listens, but is still opening its database.
    if (response !== undefined && response.status !== 503) return
    await wait(5)
  }
  throw new Error('A measured server did not answer within 20 seconds.')
}

/** Runs `args` with this Node, and sets `PORT`. */
export async function startServer(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  firstPath = '/api/v1/posts?per_page=1',
): Promise<Running> {
  const port = await freePort()
  const start = performance.now()
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    env: { ...process.env, ...environment, PORT: String(port), HOST: '127.0.0.1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exit = new Promise<void>(resolve => child.on('exit', () => resolve()))
  const origin = `http://127.0.0.1:${port}`
  await firstAnswer(child, `${origin}${firstPath}`)
  const startMs = performance.now() - start
  return {
    origin,
    pid: child.pid ?? 0,
    startMs,
    stop: () => {
      child.kill('SIGTERM')
      return exit
    },
  }
}

/** Resident memory in MiB; undefined if the system does not report it. */
export function residentMiB(pid: number): number | undefined {
  try {
    const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kib === undefined ? undefined : Number(kib) / 1024
  } catch {
    return undefined
  }
}

export const startBaseline = () => startServer(['bench/servers/baseline.mjs'], {}, '/')

export const startLimit = (file: string) => startServer(['bench/servers/limit.mjs'], { DATABASE_URL: file })

export const porticoEnvironment = {
  PORTICO_MODEL: 'examples/blog/model.ts',
  PORTICO_RATE_LIMIT: '100000000',
  // No key file next to the database, which is copied.
  PORTICO_SECRET_KEY: Buffer.alloc(32, 'bench').toString('base64url'),
} as const

/** Starts the built package, as a user does. */
export function startPortico(
  database: string,
  environment: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = [],
): Promise<Running> {
  return startServer([...nodeOptions, 'dist/bin.js', 'start'], {
    ...porticoEnvironment,
    DATABASE_URL: database,
    ...environment,
  })
}
