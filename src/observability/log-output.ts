/**
 * Writes log lines to a file descriptor. A full disk or a closed pipe must not end the service: lines that cannot be
 * written are dropped, and a line reports it once writing works again.
 */
import { write, writeSync } from 'node:fs'

/** The part of `node:fs` that it uses; replaced in tests. */
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
/** How long the end of the process waits for a full pipe. */
const finalWaitMs = 2000

const busy: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EBUSY', 'EINTR'])
/** Errors after which nobody will ever read. */
const gone: ReadonlySet<string | undefined> = new Set(['EPIPE', 'EBADF'])

const newline = 10

function linesIn(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
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
  #waiting = ''
  #isWriting = false
  /** Waits for the next retry. */
  #held: Block | undefined
  #isGone = false
  /** Dropped lines that are not reported yet. */
  #lost = 0
  #reason = ''
  /** Whether the output ends within a line. */
  #isTorn = false

  constructor(fd: number, files: Files = system) {
    this.#fd = fd
    this.#files = files
  }

  /** Whole lines. */
  write(text: string): void {
    if (this.#isGone) return
    if (this.#waiting.length + text.length > maxBufferedCharacters) {
      this.#lose(linesIn(text), 'the reader is too slow')
      return
    }
    this.#waiting += text
    if (!this.#isWriting) this.#begin()
  }

  /** Writes all buffered lines before it returns. */
  flushSync(): void {
    const held = this.#held
    this.#held = undefined
    if (held) {
      this.#putSync(held)
      this.#isWriting = false
    }
    if (!this.#isGone && this.#waiting !== '') this.#putSync(this.#next())
  }

  #begin(): void {
    this.#isWriting = true
    this.#put(this.#next())
  }

  #next(): Block {
    const lines = linesIn(this.#waiting)
    const reported = this.#lost
    const text = (this.#isTorn ? '\n' : '') + (reported > 0 ? this.#lossReport() : '') + this.#waiting
    this.#waiting = ''
    return { data: Buffer.from(text), lines, reported, offset: 0 }
  }

  #lossReport(): string {
    const line = { level: 40, time: Date.now(), lines: this.#lost, reason: this.#reason }
    return `${JSON.stringify({ ...line, msg: 'lines of the log could not be written' })}\n`
  }

  #put(block: Block): void {
    this.#files.write(this.#fd, block.data, block.offset, (error, written) => {
      if (error && busy.has(error.code)) return this.#hold(block)
      const offset = block.offset + written
      if (!error && offset < block.data.length) return this.#put({ ...block, offset })
      this.#isWriting = false
      if (error) return this.#fail(error, block)
      this.#done(block)
      if (this.#waiting !== '') this.#begin()
    })
  }

  #hold(block: Block): void {
    this.#held = block
    const again = () => {
      if (this.#held !== block) return
      this.#held = undefined
      this.#put(block)
    }
    setTimeout(again, retryMs).unref()
  }

  #putSync(block: Block): void {
    const { data } = block
    const until = performance.now() + finalWaitMs
    let { offset } = block
    while (offset < data.length) {
      try {
        offset += this.#files.writeSync(this.#fd, data, offset)
      } catch (thrown) {
        const error = thrown as NodeJS.ErrnoException
        if (!busy.has(error.code) || performance.now() > until) {
          this.#fail(error, { ...block, offset })
          return
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
      }
    }
    this.#done(block)
  }

  #done({ reported }: Block): void {
    this.#isTorn = false
    this.#lost -= reported
  }

  #fail(error: NodeJS.ErrnoException, { data, offset, lines }: Block): void {
    if (offset > 0) this.#isTorn = data[offset - 1] !== newline
    this.#isGone = gone.has(error.code)
    this.#lose(lines + linesIn(this.#waiting), error.code ?? error.message)
    this.#waiting = ''
  }

  #lose(lines: number, reason: string): void {
    this.#lost += lines
    this.#reason = reason
  }
}
