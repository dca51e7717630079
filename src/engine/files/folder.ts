/** Files in a folder: `{folder}/{first two characters of the key}/{key}`. */

import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ObjectStore } from './object-store.ts'

/** Names the database to which the folder belongs. */
const marker = 'portico-files.json'
const readBytes = 65_536

/** The folder belongs to another database. */
export class ForeignFolder extends Error {}

/**
 * Opens the folder, which is created if it is missing. Throws `ForeignFolder` if it belongs to a database with another id, or
 * contains other files: with a wrong database, every file in it would seem to be unused.
 */
export async function openFolder(folder: string, databaseId: string): Promise<ObjectStore> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const owner = (await readOwner(folder)) ?? (await claimFolder(folder, databaseId))
  if (owner !== databaseId) throw new ForeignFolder(`The folder ${folder} has the files of another database.`)
  return new Folder(folder)
}

async function readOwner(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, marker), 'utf8').catch(ifMissing)
  if (text === undefined) return undefined
  try {
    return String(JSON.parse(text).database)
  } catch {
    return ''
  }
}

/** Others may do the same at the same time: the first one counts. */
async function claimFolder(folder: string, databaseId: string): Promise<string> {
  const others = (await readdir(folder)).filter(name => !name.startsWith(`${marker}.`))
  if (others.length > 0 && !others.includes(marker))
    throw new ForeignFolder(`The folder ${folder} is not empty, and has no ${marker}.`)
  const temporary = join(folder, `${marker}.${randomUUID()}`)
  const handle = await open(temporary, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify({ database: databaseId })}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  // Unlike a rename, a link replaces nothing.
  await link(temporary, join(folder, marker)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(temporary)
  await syncFolder(folder)
  return (await readOwner(folder)) ?? ''
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

class Folder implements ObjectStore {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async put(key: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const path = this.#pathOf(key)
    const temporary = `${path}.part`
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

  async *read(key: string, first: number, last: number): AsyncIterable<Buffer> {
    const handle = await open(this.#pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      yield* readRange(handle, first, last)
    } finally {
      await handle.close()
    }
  }

  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key)
    await rm(path, { force: true })
    await rm(`${path}.part`, { force: true })
  }

  #pathOf(key: string): string {
    if (!/^[A-Za-z0-9_-]{16,40}$/.test(key)) throw new TypeError('not the key of an object')
    return join(this.#folder, key.slice(0, 2), key)
  }
}

async function* readRange(handle: FileHandle, first: number, last: number): AsyncIterable<Buffer> {
  for (let position = first; position <= last; ) {
    const buffer = Buffer.allocUnsafe(Math.min(readBytes, last + 1 - position))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position)
    if (bytesRead === 0) throw new Error('an object of the file store is shorter than its row says')
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
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
