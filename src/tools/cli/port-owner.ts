/** Finds the program that listens on a port of this machine, and a free port. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { printable } from '../../base/printable.ts'

/** The state of a listening socket in `/proc/net/tcp`. */
const listenState = '0A'
const lsofTimeoutMs = 1000
/** The number of ports above the one in use that are tried. */
const maxTriedPorts = 50

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** The inodes of the sockets that listen on the port (proc_pid_net(5)). */
function listeningInodes(port: number): ReadonlySet<string> {
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap(linesOf)
  const columns = lines.map(line => line.trim().split(/\s+/))
  const listening = columns.filter(
    ([, local = '', , state]) =>
      state === listenState && Number.parseInt(local.split(':')[1] ?? '', 16) === port,
  )
  return new Set(listening.map(column => `socket:[${column[9]}]`))
}

function hasOpen(pid: string, sockets: ReadonlySet<string>): boolean {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).some(fd => sockets.has(readlinkSync(`${folder}/${fd}`)))
  } catch {
    // The process belongs to another user, or has ended.
    return false
  }
}

function folderOf(pid: string): string {
  try {
    return ` in ${readlinkSync(`/proc/${pid}/cwd`)}`
  } catch {
    return ''
  }
}

/** Only the program and its folder: the arguments may be secret. */
function describe(pid: string): string {
  const [program = ''] = linesOf(`/proc/${pid}/cmdline`).join('').split('\0')
  return printable(`${basename(program) || 'a program'}${folderOf(pid)}, process ${pid}`.slice(0, 200))
}

function ownerOnLinux(port: number): string | undefined {
  const sockets = listeningInodes(port)
  if (sockets.size === 0) return undefined
  const pid = readdirSync('/proc').find(name => /^\d+$/.test(name) && hasOpen(name, sockets))
  return pid === undefined ? undefined : describe(pid)
}

async function ownerByLsof(port: number): Promise<string | undefined> {
  try {
    const args = ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']
    const { stdout } = await promisify(execFile)('lsof', args, { timeout: lsofTimeoutMs })
    const [pid, program] = [/^p(\d+)$/m.exec(stdout)?.[1], /^c(.+)$/m.exec(stdout)?.[1]]
    return pid === undefined ? undefined : printable(`${program ?? 'a program'}, process ${pid}`)
  } catch {
    return undefined
  }
}

/** Returns undefined if the system does not tell. */
export async function portOwner(port: number): Promise<string | undefined> {
  return process.platform === 'linux' ? ownerOnLinux(port) : ownerByLsof(port)
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, () => server.close(() => resolve(true)))
  })
}

/** Returns a free port above this one. */
export async function freePortAbove(port: number): Promise<number | undefined> {
  for (let candidate = port + 1; candidate <= Math.min(port + maxTriedPorts, 65_535); candidate++) {
    if (await isFree(candidate)) return candidate
  }
  return undefined
}
