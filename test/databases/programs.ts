/** What the servers of databases need: where Debian has them, whom they run as, a folder. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

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

/** Whether every user may pass through the folder and those above it. */
function admitsAnybody(folder: string): boolean {
  const above = dirname(folder)
  return (statSync(folder).mode & 0o001) !== 0 && (above === folder || admitsAnybody(above))
}

/** A new folder with a short path: that of a socket may have 107 bytes. */
export function newFolder(name: string, owner?: Owner): string {
  const suits = tmpdir().length <= 40 && (owner === undefined || admitsAnybody(realpathSync(tmpdir())))
  const base = suits ? tmpdir() : '/tmp'
  const folder = mkdtempSync(join(base, `portico-${name}-`))
  if (owner) {
    chownSync(folder, owner.uid, owner.gid)
    chmodSync(folder, 0o700)
  }
  return folder
}
