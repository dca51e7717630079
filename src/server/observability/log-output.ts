/**
 * Writes log lines to a file descriptor. A full disk or a closed pipe must not end the service: lines that cannot be
 * written are dropped, and a line reports it once writing works again.
 */
import { write, writeSync } from 'node:fs'

/** The functions of `node:fs` that it uses; tests replace them. */
export interface Files {
  write(
    fd: number,
    data: Buffer,
    offset: number,
    done: (error: NodeJS.ErrnoException | null, written: number) => void,
  ): void
  writeSync(fd: number, data: Buffer, offset: number): number
}

const system: Files = {
  write: (fd, data, offset, done) => write(fd, data, offset, done),
  writeSync: (fd, data, offset) => writeSync(fd, data, offset),
}

/** How much is buffered for a slow reader. */
const maxBufferedCharacters = 16_777_216
/** The time between attempts to write to a full pipe. */
const retryMs = 50
/** How long a process that ends waits for a full pipe. */
const finalWaitMs = 2000

const retryableCodes: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EBUSY', 'EINTR'])
/** Errors after which nobody will read the output any more. */
const closedCodes: ReadonlySet<string | undefined> = new Set(['EPIPE', 'EBADF'])

const newline = 10

function linesIn(text: string): number {
  let count = 0
  for (let index = text.indexOf('\n'); index !== -1; index = text.indexOf('\n', index + 1)) count++
  return count
}

/** A block that is being written. */
interface Block {
  readonly data: Buffer
  /** How many lines are lost if it cannot be written. */
  readonly lines: number
  /** How many lost lines it reports. */
  readonly reported: number
  /** How many bytes are written. */
  readonly offset: number
}

export class LineOutput {
  readonly #fd: number
  readonly #files: Files
  #buffered = ''
  #isWriting = false
  /** The block that waits for the next retry. */
  #retryBlock: Block | undefined
  #isClosed = false
  /** Dropped lines that are not reported yet. */
  #lostLines = 0
  #lossReason = ''
  /** Whether the output ends in the middle of a line. */
  #endsMidLine = false

  constructor(fd: number, files: Files = system) {
    this.#fd = fd
    this.#files = files
  }

  /** `text`: whole lines. */
  write(text: string): void {
    if (this.#isClosed) return
    if (this.#buffered.length + text.length > maxBufferedCharacters) {
      this.#drop(linesIn(text), 'the reader is too slow')
      return
    }
    this.#buffered += text
    if (!this.#isWriting) this.#begin()
  }

  /** Writes all buffered lines before it returns. */
  flushSync(): void {
    const block = this.#retryBlock
    this.#retryBlock = undefined
    if (block) {
      this.#putSync(block)
      this.#isWriting = false
    }
    if (!this.#isClosed && this.#buffered !== '') this.#putSync(this.#next())
  }

  #begin(): void {
    this.#isWriting = true
    this.#put(this.#next())
  }

  #next(): Block {
    const lines = linesIn(this.#buffered)
    const reported = this.#lostLines
    const text = (this.#endsMidLine ? '\n' : '') + (reported > 0 ? this.#lossReport() : '') + this.#buffered
    this.#buffered = ''
    return { data: Buffer.from(text), lines, reported, offset: 0 }
  }

  #lossReport(): string {
    const line = { level: 40, time: Date.now(), lines: this.#lostLines, reason: this.#lossReason }
    return `${JSON.stringify({ ...line, msg: 'lines of the log could not be written' })}\n`
  }

  #put(block: Block): void {
    this.#files.write(this.#fd, block.data, block.offset, (error, written) => {
      if (error && retryableCodes.has(error.code)) return this.#retryLater(block)
      const offset = block.offset + written
      if (!error && offset < block.data.length) return this.#put({ ...block, offset })
      this.#isWriting = false
      if (error) return this.#onFailure(error, block)
      this.#onWritten(block)
      if (this.#buffered !== '') this.#begin()
    })
  }

  #retryLater(block: Block): void {
    this.#retryBlock = block
    const retry = () => {
      if (this.#retryBlock !== block) return
      this.#retryBlock = undefined
      this.#put(block)
    }
    setTimeout(retry, retryMs).unref()
  }

  #putSync(block: Block): void {
    const { data } = block
    const deadline = performance.now() + finalWaitMs
    let { offset } = block
    while (offset < data.length) {
      try {
        offset += this.#files.writeSync(this.#fd, data, offset)
      } catch (thrown) {
        const error = thrown as NodeJS.ErrnoException
        if (!retryableCodes.has(error.code) || performance.now() > deadline) {
          this.#onFailure(error, { ...block, offset })
          return
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
      }
    }
    this.#onWritten(block)
  }

  #onWritten({ reported }: Block): void {
    this.#endsMidLine = false
    this.#lostLines -= reported
  }

  #onFailure(error: NodeJS.ErrnoException, { data, offset, lines }: Block): void {
    if (offset > 0) this.#endsMidLine = data[offset - 1] !== newline
    this.#isClosed = closedCodes.has(error.code)
    this.#drop(lines + linesIn(this.#buffered), error.code ?? error.message)
    this.#buffered = ''
  }

  #drop(lines: number, reason: string): void {
    this.#lostLines += lines
    this.#lossReason = reason
  }
}
