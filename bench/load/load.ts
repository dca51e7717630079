/** Generates load from another process: `wrk` if it is installed, otherwise autocannon. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  /** JSON without line breaks. */
  readonly body?: string
}

export interface Load {
  /** Sent in this order, repeatedly. */
  readonly requests: readonly Request[]
  /** How many requests to skip because an earlier load has sent them. `wrk` only. */
  readonly from?: number
  readonly clients: number
  readonly seconds: number
  readonly headers: Readonly<Record<string, string>>
}

export interface LoadResult {
  /** Answered requests per second, without refused ones. */
  readonly perSecond: number
  readonly answered: number
  /** Requests with a status other than 2xx or 3xx. */
  readonly refused: number
  /** Response times in milliseconds: the median and the 99th percentile. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** The index in the list of requests at which the next load continues. */
  readonly next: number
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

/** One request per line: a Lua program can contain only some ten thousand strings. */
function lines(requests: readonly Request[]): string {
  return requests.map(({ method, path, body = '' }) => `${method}\t${path}\t${body}`).join('\n')
}

/** `file` contains the requests. `done` runs in another Lua state than `request`, so it asks the thread for its position. */
function lua({ headers, from = 0 }: Load, file: string): string {
  return `
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers["${name}"] = "${value}"`)
  .join('\n')}
local requests, worker = {}, nil
at = ${from}
function setup(thread) worker = thread end
function init()
  for line in io.lines([==[${file}]==]) do
    local method, path, body = line:match('^(%u+)\\t([^\\t]*)\\t(.*)$')
    requests[#requests + 1] = wrk.format(method, path, nil, body ~= '' and body or nil)
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency)
  local answered = summary.requests - summary.errors.status
  io.write(string.format(
    '\\n{"perSecond":%.3f,"answered":%d,"p50Ms":%.3f,"p99Ms":%.3f,"refused":%d,"next":%d}\\n',
    answered / summary.duration * 1e6, answered,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.errors.status, worker:get('at')))
end
`
}

async function withWrk(origin: string, load: Load, folder: string): Promise<string> {
  const [script, file] = [join(folder, 'load.lua'), join(folder, 'requests')]
  writeFileSync(file, lines(load.requests))
  writeFileSync(script, lua(load, file))
  return output('wrk', ['-t1', `-c${load.clients}`, `-d${load.seconds}s`, '-s', script, origin])
}

async function withAutocannon(origin: string, load: Load, folder: string): Promise<string> {
  if (load.from !== undefined) throw new Error('Requests that are sent once only need `wrk`.')
  const task = join(folder, 'task.json')
  writeFileSync(task, JSON.stringify({ origin, ...load }))
  return output(process.execPath, [join(import.meta.dirname, 'load-generator.mjs'), task])
}

/** Sends requests for the given time. */
export async function sendLoad(origin: string, load: Load): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-load-'))
  try {
    const text = await (generator === 'wrk' ? withWrk : withAutocannon)(origin, load, folder)
    return JSON.parse(text.slice(text.lastIndexOf('\n{'))) as LoadResult
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the answered requests per second. Throws if one was refused. */
export async function requestsPerSecond(origin: string, load: Load): Promise<number> {
  const { perSecond, refused } = await sendLoad(origin, load)
  if (refused === 0) return perSecond
  throw new Error(`${refused} requests to ${load.requests[0]?.path} were refused`)
}
