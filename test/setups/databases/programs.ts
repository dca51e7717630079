/** The requirements of database servers: a user to run as, and a data folder. */
import { chmodSync, chownSync, mkdtempSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** The user that a server runs as if this process is root; undefined means the user of this process. */
export function ordinaryUser(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const rows = readFileSync('/etc/passwd', 'utf8').split('\n')
  const fields = ['postgres', 'nobody']
    .map(name => rows.find(row => row.startsWith(`${name}:`))?.split(':'))
    .find(match => match !== undefined)
  return { uid: Number(fields?.[2] ?? 65534), gid: Number(fields?.[3] ?? 65534) }
}

/** Whether every user has search permission on the folder and its parents. */
function isSearchableByAll(folder: string): boolean {
  const above = dirname(folder)
  return (statSync(folder).mode & 0o001) !== 0 && (above === folder || isSearchableByAll(above))
}

/** A new folder with a short path, since the path of a Unix socket is limited to 107 bytes. */
export function newFolder(name: string, owner?: Owner): string {
  const isSuitable =
    tmpdir().length <= 40 && (owner === undefined || isSearchableByAll(realpathSync(tmpdir())))
  const base = isSuitable ? tmpdir() : '/tmp'
  const folder = mkdtempSync(join(base, `portico-${name}-`))
  if (owner) {
    chownSync(folder, owner.uid, owner.gid)
    chmodSync(folder, 0o700)
  }
  return folder
}
