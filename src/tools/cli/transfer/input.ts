/** The input of an import: a file or standard input. */
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Failure } from '../failure.ts'

export interface ImportInput {
  /** Undefined if it is unknown until the end. */
  readonly sizeBytes: number | undefined
  /** The first bytes, up to `maxBytes`. Called at most once, before `all`. */
  head(maxBytes: number): AsyncIterable<Buffer>
  /** All bytes, including those of `head`. Both throw a `Failure` if the input cannot be read. */
  all(): AsyncIterable<Buffer>
  /** Removes temporary files, and stops reading: an open pipe would keep the process alive. */
  close(): void
}

/** Throws a `Failure` if the file does not exist. */
export function openInput(file: string): ImportInput {
  return file === '-' ? new PipedInput(process.stdin, 'standard input') : fileInput(file)
}

function fileInput(file: string): ImportInput {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) throw new Failure(`There is no file ${file}.`)
  if (stats.isDirectory()) throw new Failure(`${file} is a folder.`)
  // A named pipe can be read only once.
  if (!stats.isFile()) return new PipedInput(createReadStream(file), file)
  return {
    sizeBytes: stats.size,
    head: maxBytes => (maxBytes === 0 ? emptyStream() : chunksOf(file, { end: maxBytes - 1 })),
    all: () => chunksOf(file),
    close() {},
  }
}

async function* emptyStream(): AsyncGenerator<Buffer> {}

async function* chunksOf(file: string, range: { readonly end?: number } = {}): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(file, range)
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(name: string, error: unknown): Failure {
  return new Failure(`Cannot read ${name}: ${error instanceof Error ? error.message : error}.`)
}

/** Reads a stream once. A temporary file keeps the bytes that `head` has read, because they may be many. */
class PipedInput implements ImportInput {
  readonly sizeBytes = undefined
  readonly #stream: Readable
  readonly #name: string
  readonly #chunks: AsyncIterator<Buffer>
  #folder: string | undefined

  constructor(stream: Readable, name: string) {
    this.#stream = stream
    this.#name = name
    this.#chunks = stream[Symbol.asyncIterator]()
  }

  async *head(maxBytes: number): AsyncGenerator<Buffer> {
    if (maxBytes === 0) return
    this.#folder = mkdtempSync(join(tmpdir(), 'portico-import-'))
    const headFile = await open(join(this.#folder, 'head'), 'wx', 0o600)
    try {
      for (let length = 0; length < maxBytes; ) {
        const { done, value } = await this.#next()
        if (done) return
        await headFile.writeFile(value)
        yield value.subarray(0, maxBytes - length)
        length += value.length
      }
    } finally {
      await headFile.close()
    }
  }

  async *all(): AsyncGenerator<Buffer> {
    if (this.#folder !== undefined) yield* createReadStream(join(this.#folder, 'head'))
    for (;;) {
      const { done, value } = await this.#next()
      if (done) return
      yield value
    }
  }

  #next(): Promise<IteratorResult<Buffer>> {
    return this.#chunks.next().catch(error => {
      throw unreadable(this.#name, error)
    })
  }

  close(): void {
    this.#stream.destroy()
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true })
  }
}
