/** Load from outside the process: `wrk` where the machine has it, else autocannon in a process of its own. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Request {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface Load {
  readonly requests: readonly Request[]
  readonly clients: number
  readonly seconds: number
  readonly headers: Readonly<Record<string, string>>
}

export const generator = spawnSync('wrk', ['--version']).error === undefined ? 'wrk' : 'autocannon'

function output(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    child.stdout.on('data', chunk => {
      text += chunk
    })
    child.on('error', reject)
    child.on('close', code =>
      code === 0 ? resolve(text) : reject(new Error(`${command} ended with ${code}`)),
    )
  })
}

function lua(load: Load): string {
  const headers = Object.entries(load.headers).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`)
  const requests = load.requests.map(({ method, path, body }) => {
    const text = body === undefined ? 'nil' : `[==[${body}]==]`
    return `wrk.format("${method}", [==[${path}]==], nil, ${text}),`
  })
  return [
    ...headers,
    'local requests, next = {}, 0',
    'function init() requests = {',
    ...requests,
    '} end',
    'function request() next = next % #requests + 1; return requests[next] end',
  ].join('\n')
}

async function withWrk(origin: string, load: Load): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-load-'))
  try {
    const script = join(folder, 'load.lua')
    writeFileSync(script, lua(load))
    const text = await output('wrk', ['-t1', `-c${load.clients}`, `-d${load.seconds}s`, '-s', script, origin])
    const [, refused] = /Non-2xx or 3xx responses: (\d+)/.exec(text) ?? []
    if (refused !== undefined)
      throw new Error(`${refused} requests to ${load.requests[0]?.path} were refused`)
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function withAutocannon(origin: string, load: Load): Promise<number> {
  const task = JSON.stringify({ origin, ...load })
  const result = JSON.parse(await output(process.execPath, [join(import.meta.dirname, 'cannon.mjs'), task]))
  if (result.refused > 0)
    throw new Error(`${result.refused} requests to ${load.requests[0]?.path} were refused`)
  return result.perSecond
}

/** Requests per second that a server answered. Throws when one was refused. */
export function requestsPerSecond(origin: string, load: Load): Promise<number> {
  return generator === 'wrk' ? withWrk(origin, load) : withAutocannon(origin, load)
}
