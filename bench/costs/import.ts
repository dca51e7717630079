/** `portico import` and `portico export` of many rows: rows per second, and the peak memory of the process. */
import { spawn } from 'node:child_process'
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { newDatabase } from '../../test/setups/databases/postgres.ts'
import { porticoEnvironment } from '../servers/server.ts'

const root = join(import.meta.dirname, '../..')

export interface Transfer {
  readonly work: string
  readonly database: string
  readonly rows: number
  readonly fileMiB: number
  readonly seconds: number
  /** Undefined if the system does not report it. */
  readonly peakMiB: number | undefined
}

interface ProcessResult {
  readonly seconds: number
  readonly peakMiB: number | undefined
}

const pollMs = 50

/** The peak resident memory of the process; undefined once it has ended. */
function peakOf(pid: number): number | undefined {
  try {
    const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kib === undefined ? undefined : Number(kib) / 1024
  } catch {
    return undefined
  }
}

async function portico(database: string, args: readonly string[]): Promise<ProcessResult> {
  const start = performance.now()
  const child = spawn(process.execPath, ['dist/bin.js', ...args], {
    cwd: root,
    env: { ...process.env, ...porticoEnvironment, DATABASE_URL: database },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errorOutput = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    errorOutput += text
  })
  let peakMiB: number | undefined
  const poll = setInterval(() => {
    peakMiB = peakOf(child.pid ?? 0) ?? peakMiB
  }, pollMs)
  const code = await new Promise(resolve => child.once('close', resolve))
  clearInterval(poll)
  if (code !== 0) throw new Error(`portico ${args.join(' ')} ended with ${code}: ${errorOutput}`)
  return { seconds: (performance.now() - start) / 1000, peakMiB }
}

function* posts(rows: number): Generator<string> {
  yield 'title,body,author_id\r\n'
  for (let n = 1; n <= rows; n++) {
    const body = `Body of post ${n}. `.padEnd(100, 'lorem ipsum ')
    yield `Title of post ${n},"${body}",1\r\n`
  }
}

async function transfersOn(
  name: string,
  database: string,
  folder: string,
  rows: number,
): Promise<Transfer[]> {
  const file = join(folder, 'posts.csv')
  const out = join(folder, `${name}.ndjson`)
  await portico(database, ['users', 'create', '--email', 'ann@example.com'])
  const works: readonly (readonly [string, string, readonly string[]])[] = [
    ['dry run', file, ['import', 'posts', file, '--dry-run']],
    ['import, CSV', file, ['import', 'posts', file]],
    ['export, NDJSON', out, ['export', 'posts', out]],
  ]
  const transfers: Transfer[] = []
  for (const [work, path, args] of works) {
    const result = await portico(database, args)
    transfers.push({ work, database: name, rows, fileMiB: statSync(path).size / 2 ** 20, ...result })
  }
  return transfers
}

export async function measureTransfers(rows: number): Promise<readonly Transfer[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-bench-import-'))
  const postgres = await newDatabase()
  try {
    await pipeline(Readable.from(posts(rows)), createWriteStream(join(folder, 'posts.csv')))
    return [
      ...(await transfersOn('SQLite', join(folder, 'data.db'), folder, rows)),
      ...(await transfersOn('PostgreSQL', postgres.url, folder, rows)),
    ]
  } finally {
    await postgres.drop()
    rmSync(folder, { recursive: true, force: true })
  }
}

export function transfersTable(transfers: readonly Transfer[]): string {
  const rows = transfers.map(({ work, database, rows: count, fileMiB, seconds, peakMiB }) => {
    const perSecond = Math.round(count / seconds).toLocaleString('en')
    const peak = peakMiB === undefined ? 'unknown' : Math.round(peakMiB)
    return `| ${[work, database, count.toLocaleString('en'), Math.round(fileMiB), perSecond, peak].join(' | ')} |`
  })
  return [
    '| work | database | rows | file, MiB | rows/s | peak memory, MiB |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
