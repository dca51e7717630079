/** The input of an import: a file or standard input. */
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../failure.ts'

export interface Input {
  /** Undefined if it is not known before the end. */
  readonly sizeBytes: number | undefined
  /** The first bytes, up to `maxBytes`. Called at most once, before `all`. */
  head(maxBytes: number): AsyncIterable<Buffer>
  /** All bytes, those of `head` included. */
  all(): AsyncIterable<Buffer>
  /** Removes temporary files. */
  close(): void
}

/** Throws a `Failure` where there is no such file. */
export function openInput(file: string): Input {
  return file === '-' ? new StandardInput(process.stdin) : fileInput(file)
}

function fileInput(file: string): Input {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) throw new Failure(`There is no file ${file}.`)
  if (stats.isDirectory()) throw new Failure(`${file} is a folder.`)
  // A named pipe can be read only once.
  if (!stats.isFile()) return new StandardInput(createReadStream(file))
  return {
    sizeBytes: stats.size,
    head: maxBytes => (maxBytes === 0 ? nothing() : createReadStream(file, { end: maxBytes - 1 })),
    all: () => createReadStream(file),
    close() {},
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** Reads a stream once; what `head` has read of it stays in a temporary file, however long it is. */
class StandardInput implements Input {
  readonly sizeBytes = undefined
  readonly #chunks: AsyncIterator<Buffer>
  #folder: string | undefined

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]()
  }

  async *head(maxBytes: number): AsyncGenerator<Buffer> {
    if (maxBytes === 0) return
    this.#folder = mkdtempSync(join(tmpdir(), 'portico-import-'))
    const kept = await open(join(this.#folder, 'head'), 'wx', 0o600)
    try {
      for (let length = 0; length < maxBytes; ) {
        const { done, value } = await this.#chunks.next()
        if (done) return
        await kept.writeFile(value)
        yield value.subarray(0, maxBytes - length)
        length += value.length
      }
    } finally {
      await kept.close()
    }
  }

  async *all(): AsyncGenerator<Buffer> {
    if (this.#folder !== undefined) yield* createReadStream(join(this.#folder, 'head'))
    for (;;) {
      const { done, value } = await this.#chunks.next()
      if (done) return
      yield value
    }
  }

  close(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true })
  }
}
