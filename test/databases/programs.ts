/** The programs of database servers, as the machine has them or Debian gives them. */
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { installPackage } from '../programs.ts'

export interface Wanted {
  readonly program: string
  /** Where it is besides PATH. */
  readonly folders: readonly string[]
  /** The Debian package that brings it. */
  readonly pack: string
  /** The environment variable that names a server instead. */
  readonly variable: string
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function find({ program, folders }: Wanted): string | undefined {
  const all = [...(process.env.PATH ?? '').split(delimiter), ...folders]
  return all.map(folder => join(folder, program)).find(isProgram)
}

export function programPath(wanted: Wanted): string {
  const found = find(wanted)
  if (found !== undefined) return found
  installPackage(wanted.pack)
  const installed = find(wanted)
  if (installed !== undefined) return installed
  throw new Error(
    `There is no ${wanted.program}: install it (Debian: \`apt-get install ${wanted.pack}\`), or name a running server in ${wanted.variable}.`,
  )
}

/** The folders of the PostgreSQL versions that are installed as Debian does, the newest first. */
export function debianFolders(): readonly string[] {
  const base = '/usr/lib/postgresql'
  if (!existsSync(base)) return []
  return readdirSync(base)
    .sort((left, right) => Number(right) - Number(left))
    .map(version => join(base, version, 'bin'))
}

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** Whom a server runs as where it refuses root; undefined: as we do. */
export function ordinaryUser(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const rows = readFileSync('/etc/passwd', 'utf8').split('\n')
  const fields = ['postgres', 'nobody']
    .map(name => rows.find(row => row.startsWith(`${name}:`))?.split(':'))
    .find(found => found !== undefined)
  return { uid: Number(fields?.[2] ?? 65534), gid: Number(fields?.[3] ?? 65534) }
}

/** A new folder with a short path: that of a socket may have 107 bytes. */
export function newFolder(name: string, owner?: Owner): string {
  // Another user may not be let into ours.
  const base = owner !== undefined || tmpdir().length > 40 ? '/tmp' : tmpdir()
  const folder = mkdtempSync(join(base, `portico-${name}-`))
  if (owner) {
    chownSync(folder, owner.uid, owner.gid)
    chmodSync(folder, 0o700)
  }
  return folder
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}
