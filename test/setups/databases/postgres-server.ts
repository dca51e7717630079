/** A PostgreSQL server for one test, with its own folder and Unix socket. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { findProgram } from '../../programs.ts'
import { newFolder, type Owner, ordinaryUser } from './programs.ts'

/** Settings by name, as in postgresql.conf. */
export type PostgresSettings = Readonly<Record<string, string | number>>

const port = 5432
const startTimeoutMs = 90_000

/** For tests: committed data survives a crash of the server, but not of the machine. */
export const fastSettings: PostgresSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum_naptime: '10s',
}

const defaultSettings: PostgresSettings = {
  listen_addresses: '',
  port,
  max_connections: 500,
  shared_buffers: '32MB',
  timezone: 'UTC',
}

export class PostgresServer {
  readonly folder: string
  /** The database of the superuser. */
  readonly url: string
  readonly #owner: Owner | undefined
  readonly #programFolder: string
  readonly #settings: PostgresSettings
  readonly #onExit = (): void => this.#end()
  #child: ChildProcess | undefined

  /**
   * Creates the data; `start` starts the server, which ends with this process at the latest.
   * `primary`: a running server; this one becomes its hot standby.
   */
  constructor(settings: PostgresSettings = {}, primary?: PostgresServer) {
    this.#owner = ordinaryUser()
    // The other programs are next to the real file, not necessarily next to a link to it.
    this.#programFolder = dirname(realpathSync(findProgram('initdb')))
    this.folder = newFolder('pg', this.#owner)
    this.url = `postgres://portico@${encodeURIComponent(this.folder)}/postgres`
    this.#settings = { ...defaultSettings, ...settings, unix_socket_directories: this.folder }
    process.once('exit', this.#onExit)
    if (primary === undefined) this.#initialize()
    else this.#copy(primary)
  }

  #initialize(): void {
    // This locale sorts differently from code points, which reveals a comparison without its collation.
    const locale = ['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en-US', '--locale=C']
    const login = ['--username=portico', '--auth=trust', '--no-sync']
    this.#call('initdb', [...login, ...locale, '-D', this.#data])
  }

  #copy({ folder }: PostgresServer): void {
    const from = ['--host', folder, '--port', String(port), '--username=portico']
    const options = ['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync']
    this.#call('pg_basebackup', [...from, ...options, '-D', this.#data])
  }

  #call(program: string, parameters: readonly string[]): void {
    execFileSync(join(this.#programFolder, program), parameters, {
      ...this.#owner,
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  }

  /** The path of the socket. */
  get socket(): string {
    return join(this.folder, `.s.PGSQL.${port}`)
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async start(): Promise<void> {
    const settings = Object.entries(this.#settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const log = openSync(this.#log, 'a')
    const child = spawn(join(this.#programFolder, 'postgres'), ['-D', this.#data, ...settings], {
      ...this.#owner,
      cwd: this.folder,
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    child.unref()
    this.#child = child
    const deadline = Date.now() + startTimeoutMs
    while (!(await acceptsConnections(this.url))) {
      if (child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`PostgreSQL did not start:\n${readFileSync(this.#log, 'utf8')}`)
      }
      await wait(20)
    }
  }

  /** `fast` closes the connections first; `immediate` resembles a crash. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#signal(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
  }

  /** Kills the server. Its child processes notice at once. */
  async kill(): Promise<void> {
    await this.#signal('SIGKILL')
    // A new server refuses to start while a process of the old one runs.
    await wait(100)
  }

  /** Until `resume`, the server keeps its connections and accepts new ones but does not respond. */
  pause(): void {
    for (const pid of this.#processes()) signal(pid, 'SIGSTOP')
  }

  resume(): void {
    for (const pid of this.#processes()) signal(pid, 'SIGCONT')
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  /** Stops it and removes its data. */
  async remove(): Promise<void> {
    process.off('exit', this.#onExit)
    await this.#signal('SIGQUIT')
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** Also resumes paused processes, which would not receive the signal. */
  async #signal(name: NodeJS.Signals): Promise<void> {
    const processes = this.#processes()
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const exit = once(child, 'exit')
    child.kill(name)
    for (const pid of processes) signal(pid, 'SIGCONT')
    await exit
  }

  #processes(): readonly number[] {
    const { pid } = this
    return pid === undefined ? [] : [pid, ...childrenOf(pid)]
  }

  #end(): void {
    this.resume()
    this.#child?.kill('SIGQUIT')
    try {
      rmSync(this.folder, { recursive: true, force: true })
    } catch {
      // The server may still be writing into it.
    }
  }

  get #data(): string {
    return join(this.folder, 'data')
  }

  get #log(): string {
    return join(this.folder, 'log')
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has exited in the meantime.
  }
}

/** proc(5): the parent is the second field after the name in parentheses. */
function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => {
      if (!Number.isInteger(pid)) return false
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
      } catch {
        return false
      }
    })
}

async function acceptsConnections(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
