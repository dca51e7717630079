/** Whether the open database file is still the file of that name. */
import { statSync } from 'node:fs'

/** How often writes check this, in milliseconds. */
const checkIntervalMs = 1000

/**
 * A file that is replaced or deleted stays open, and later writes to it are lost when the process ends
 * (https://sqlite.org/howtocorrupt.html, 2.4 and 2.5). The same is true of its log.
 */
export class FileIdentity {
  readonly #files: readonly (readonly [path: string, identity: string])[]
  #checkedAt = Number.NEGATIVE_INFINITY
  #isSame = true

  /** The database must be open, and must have been read, so that its log exists. */
  constructor(file: string) {
    const paths = file === ':memory:' ? [] : [file, `${file}-wal`]
    this.#files = paths
      .map(path => [path, identityOf(path)] as const)
      .filter(([, identity]) => identity !== '')
  }

  /** The identities of the files when the database was opened. */
  get expected(): readonly (readonly [path: string, identity: string])[] {
    return this.#files
  }

  /** Checks the disk now. */
  isSame(): boolean {
    this.#checkedAt = performance.now()
    this.#isSame = this.#files.every(([path, identity]) => identityOf(path) === identity)
    return this.#isSame
  }

  /** The result of the last check, unless it is too old. */
  wasRecentlySame(): boolean {
    return performance.now() - this.#checkedAt < checkIntervalMs ? this.#isSame : this.isSame()
  }
}

/** The device and inode of a file, as text; empty if it does not exist. */
export function identityOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}`
}
