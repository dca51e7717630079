/** Whether the database that is open is still the one that its name stands for. */
import { statSync } from 'node:fs'

/** How often writes look, in milliseconds. */
const lookIntervalMs = 1000

/**
 * A file that is replaced or removed stays open: what is written to it then is lost with the process
 * (https://sqlite.org/howtocorrupt.html, 2.4 and 2.5). The same goes for its log.
 */
export class FileIdentity {
  readonly #files: readonly (readonly [path: string, identity: string])[]
  #lookedAt = Number.NEGATIVE_INFINITY
  #isSame = true

  /** Of a database that is open and was read. */
  constructor(file: string) {
    const paths = file === ':memory:' ? [] : [file, `${file}-wal`]
    this.#files = paths
      .map(path => [path, identityOf(path)] as const)
      .filter(([, identity]) => identity !== '')
  }

  /** What the paths stood for when the database was opened. */
  get expected(): readonly (readonly [path: string, identity: string])[] {
    return this.#files
  }

  /** Looks at the disk now. */
  isSame(): boolean {
    this.#lookedAt = performance.now()
    this.#isSame = this.#files.every(([path, identity]) => identityOf(path) === identity)
    return this.#isSame
  }

  /** What was found a moment ago. */
  wasSame(): boolean {
    return performance.now() - this.#lookedAt < lookIntervalMs ? this.#isSame : this.isSame()
  }
}

/** What a path stands for, as text; empty where there is no file. */
export function identityOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}`
}
