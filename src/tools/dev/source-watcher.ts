/**
 * Detects changes of files. Notifications for their folders trigger a check, which compares the contents of the files. So it
 * does not matter how an editor writes: in place, by a rename, or several files at once.
 */
import { existsSync, type FSWatcher, statSync, watch } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import { fileHash } from './loaded-files.ts'
import type { FileHashes } from './messages.ts'

/** A check waits until this time has passed without a notification. */
const quietMs = 25
/** A file that is suddenly empty or missing is checked again after this time: it is probably being written. */
const settleMs = 150
/** Some file systems send no notifications, e.g. network drives and folders of another system. */
const pollMs = 1000

interface WatchedFile {
  hash: string | null
  /** The result of `stat` when the file had this hash; undefined: unknown. */
  signature: string | undefined
}

function signatureOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? 'none' : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`
}

function isUnfinished(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
}

/** The nearest existing folder above the file, and the entry in it that leads to the file. */
function watchPoint(path: string): readonly [folder: string, name: string] {
  let folder = dirname(path)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return [folder, relative(folder, path).split(sep)[0] ?? '']
}

export class SourceWatcher {
  readonly #onChange: (paths: readonly string[]) => void
  readonly #files = new Map<string, WatchedFile>()
  readonly #folders = new Map<
    string,
    { readonly names: Set<string>; readonly watcher: FSWatcher | undefined }
  >()
  readonly #poll: NodeJS.Timeout
  #timer: NodeJS.Timeout | undefined
  #isSettling = false

  /** `onChange` is called once for each change. */
  constructor(onChange: (paths: readonly string[]) => void) {
    this.#onChange = onChange
    this.#poll = setInterval(() => {
      if (!this.#isSettling) this.#check()
    }, pollMs).unref()
  }

  /** Also watches these files. A different hash counts as a change. */
  add(files: FileHashes): void {
    for (const [path, hash] of files) this.#files.set(path, { hash, signature: undefined })
    this.#watchFolders()
    this.#checkSoon(0)
  }

  /** Watches only these files. */
  replace(files: FileHashes): void {
    this.#files.clear()
    this.add(files)
  }

  close(): void {
    clearInterval(this.#poll)
    clearTimeout(this.#timer)
    for (const { watcher } of this.#folders.values()) watcher?.close()
  }

  #watchFolders(): void {
    const namesByFolder = new Map<string, Set<string>>()
    for (const path of this.#files.keys()) {
      const [folder, name] = watchPoint(path)
      namesByFolder.set(folder, (namesByFolder.get(folder) ?? new Set()).add(name))
    }
    for (const { watcher } of this.#folders.values()) watcher?.close()
    this.#folders.clear()
    for (const [folder, names] of namesByFolder)
      this.#folders.set(folder, { names, watcher: this.#watch(folder, names) })
  }

  /** Returns undefined if the system allows no more watches: then only polling detects changes. */
  #watch(folder: string, names: ReadonlySet<string>): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (name === null || names.has(name)) this.#checkSoon(quietMs)
      })
      return watcher.on('error', () => watcher.close())
    } catch {
      return undefined
    }
  }

  #checkSoon(ms: number): void {
    if (this.#isSettling) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#check(), ms)
  }

  #check(): void {
    const wasSettling = this.#isSettling
    this.#isSettling = false
    const changed = [...this.#files]
      .filter(([path, watched]) => isChanged(path, watched))
      .map(([path]) => path)
    this.#updateFolders()
    if (changed.length === 0) return
    if (!wasSettling && changed.some(path => this.#files.get(path)?.hash !== null && isUnfinished(path))) {
      this.#checkSoon(settleMs)
      this.#isSettling = true
      return
    }
    for (const path of changed) {
      this.#files.set(path, { hash: fileHash(path), signature: undefined })
    }
    this.#onChange(changed)
  }

  /** Folders may have been created or removed. */
  #updateFolders(): void {
    const isSame = [...this.#files.keys()].every(path => {
      const [folder, name] = watchPoint(path)
      return this.#folders.get(folder)?.names.has(name)
    })
    if (!isSame) this.#watchFolders()
  }
}

function isChanged(path: string, watched: WatchedFile): boolean {
  const signature = signatureOf(path)
  if (signature === watched.signature) return false
  if (fileHash(path) !== watched.hash) return true
  watched.signature = signature
  return false
}
