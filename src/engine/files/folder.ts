/** Files in a folder: `{folder}/{first two characters of the key}/{key}`. */

import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, type FileHandle, link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ApiError } from '../../base/errors.ts'
import type { ObjectStore } from './object-store.ts'

/** Names the database to which the folder belongs, and the folder, whose id the database knows. */
const marker = 'portico-files.json'
/** See `claim.ts`. */
const claim = 'portico-files-claim.json'
const readBytes = 65_536
/** What file systems have in their first folder. */
const ignored = ['lost+found']

/** The folder belongs to another database, or is not the one that has the files of this one. */
export class ForeignFolder extends Error {}

export interface FolderOwner {
  readonly database: string
  /** The id of the folder that has the files of the database. Undefined: it has none yet. */
  readonly folder?: string | undefined
}

export interface OpenFolder {
  readonly objects: ObjectStore
  readonly id: string
}

/**
 * Opens the folder, which is created if the database has none yet. Throws `ForeignFolder` if it belongs to a database with
 * another id, contains other files, or is another one than that of the database: with a wrong database, every file in it would
 * seem to be unused; with a wrong folder, every file would be missing.
 */
export async function openFolder(folder: string, owner: FolderOwner): Promise<OpenFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await access(folder, constants.W_OK | constants.X_OK)
  const found = (await readMarker(folder)) ?? (await claimFolder(folder, owner))
  if (found.database !== owner.database)
    throw new ForeignFolder(
      `The folder ${folder} has the files of another database. Use the database that it belongs to, or another folder`,
    )
  if (owner.folder !== undefined && found.folder !== owner.folder)
    throw new ForeignFolder(
      `The folder ${folder} is not the one that has the files of the database. All nodes need one folder that they share`,
    )
  return { objects: new Folder(folder, found), id: found.folder }
}

type Marker = Readonly<Record<'database' | 'folder', string>>

async function readMarker(folder: string): Promise<Marker | undefined> {
  const text = await readFile(join(folder, marker), 'utf8').catch(ifMissing)
  if (text === undefined) return undefined
  try {
    const { database, folder: id } = JSON.parse(text)
    return { database: String(database), folder: String(id) }
  } catch {
    return { database: '', folder: '' }
  }
}

/** Others may do the same at the same time: the first one counts. */
async function claimFolder(folder: string, owner: FolderOwner): Promise<Marker> {
  const names = (await readdir(folder)).filter(name => !ignored.includes(name))
  const others = names.filter(name => !name.startsWith(`${marker}.`))
  if (others.length > 0 && !others.includes(marker))
    throw new ForeignFolder(
      `The folder ${folder} is not empty, and has no ${marker}. Use the folder of this database, or an empty one`,
    )
  if (owner.folder !== undefined && !others.includes(marker))
    throw new ForeignFolder(
      `The folder ${folder} is empty, and the files of the database are in another one. Copy that folder, with its ${marker}. If it is lost, write ${textOf(owner)} into ${join(folder, marker)}`,
    )
  await writeNew(folder, marker, `${textOf({ database: owner.database, folder: randomUUID() })}\n`, true)
  return (await readMarker(folder)) ?? { database: '', folder: '' }
}

function textOf({ database, folder }: FolderOwner): string {
  return JSON.stringify({ database, folder })
}

/** Writes a small file as a whole. With `isFirst`, an existing one stays. */
async function writeNew(folder: string, name: string, text: string, isFirst: boolean): Promise<void> {
  const temporary = join(folder, `${name}.${randomUUID()}`)
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (!isFirst) await rename(temporary, join(folder, name))
    else {
      // Unlike a rename, a link replaces nothing.
      await link(temporary, join(folder, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
    }
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(folder)
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

class Folder implements ObjectStore {
  readonly #folder: string
  readonly #marker: Marker
  readonly claimPlace: string

  constructor(folder: string, found: Marker) {
    this.#folder = folder
    this.#marker = found
    this.claimPlace = join(folder, claim)
  }

  async readClaim(): Promise<string | undefined> {
    const found = await readMarker(this.#folder)
    // E.g. what is left of a mount point that lost its volume.
    if (found?.folder !== this.#marker.folder || found.database !== this.#marker.database)
      throw new Error(`The folder of the files is no longer the one of the start: ${this.#folder}`)
    return readFile(this.claimPlace, 'utf8').catch(ifMissing)
  }

  writeClaim(text: string, isFirst: boolean): Promise<void> {
    return writeNew(this.#folder, claim, text, isFirst)
  }

  async put(key: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const path = this.#pathOf(key)
    const temporary = `${path}.part`
    await this.#write(path, temporary, bytes).catch(error => {
      throw withoutSpace(error) ?? error
    })
  }

  async #write(path: string, temporary: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    await makeFolder(dirname(path))
    const handle = await open(temporary, 'wx', 0o600)
    try {
      for await (const chunk of bytes) await handle.writeFile(chunk)
      await handle.sync()
      await handle.close()
      await rename(temporary, path)
    } catch (error) {
      await handle.close().catch(() => {})
      await rm(temporary, { force: true }).catch(() => {})
      throw error
    }
    await syncFolder(dirname(path))
  }

  async read(key: string, first: number, last: number): Promise<AsyncIterable<Buffer>> {
    const handle = await open(this.#pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW)
    return new OpenRange(handle, first, last)
  }

  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key)
    await rm(path, { force: true })
    await rm(`${path}.part`, { force: true })
    await syncFolder(dirname(path)).catch(ifMissing)
  }

  #pathOf(key: string): string {
    if (!/^[A-Za-z0-9_-]{16,40}$/.test(key)) throw new TypeError('not the key of an object')
    return join(this.#folder, key.slice(0, 2), key)
  }
}

/** A part of an open file, which is closed at its end, after a failure, or by `return`. */
class OpenRange implements AsyncIterableIterator<Buffer> {
  readonly #handle: FileHandle
  readonly #last: number
  #position: number
  #isClosed = false

  constructor(handle: FileHandle, first: number, last: number) {
    this.#handle = handle
    this.#position = first
    this.#last = last
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Buffer>> {
    if (this.#isClosed || this.#position > this.#last) return this.return()
    try {
      const buffer = Buffer.allocUnsafe(Math.min(readBytes, this.#last + 1 - this.#position))
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, this.#position)
      if (bytesRead === 0) throw new Error('an object of the file store is shorter than its row says')
      this.#position += bytesRead
      return { done: false, value: buffer.subarray(0, bytesRead) }
    } catch (error) {
      await this.return()
      throw error
    }
  }

  async return(): Promise<IteratorResult<Buffer>> {
    if (!this.#isClosed) {
      this.#isClosed = true
      await this.#handle.close()
    }
    return { done: true, value: undefined }
  }
}

/** UNAVAILABLE for a full disk, an exhausted quota, or a file larger than the file system takes. */
function withoutSpace(cause: NodeJS.ErrnoException): ApiError | undefined {
  if (!['ENOSPC', 'EDQUOT', 'EFBIG'].includes(cause.code ?? '')) return undefined
  const message = `There is no space for the file (${cause.code}).`
  return new ApiError('UNAVAILABLE', message, { isExpected: true, cause })
}

/** A new folder is durable once the one that contains it is. */
async function makeFolder(path: string): Promise<void> {
  if ((await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined) await syncFolder(dirname(path))
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
