/**
 * Where the lines of the log go. A disk that is full, or a reader that is gone, must not end the service: what cannot
 * be written is dropped, and said once something can be written again.
 */
import { write, writeSync } from 'node:fs'

/** What of `node:fs` it takes; another for tests. */
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

/** How much may wait for a reader that is slow, in characters. */
const MOST_WAITING = 16_777_216
/** A pipe that is full is tried again after so many milliseconds. */
const AGAIN = 50
/** How long the end waits for such a pipe, in milliseconds. */
const LAST_WAIT = 2000

const busy: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EBUSY', 'EINTR'])
/** Nobody will ever read it. */
const gone: ReadonlySet<string | undefined> = new Set(['EPIPE', 'EBADF'])

const NEWLINE = 10

function linesIn(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** What is being written. */
interface Block {
  readonly data: Buffer
  /** How many lines of it are ours to lose. */
  readonly lines: number
  /** How many lost lines it tells of. */
  readonly told: number
  /** How far it is. */
  readonly offset: number
}

export class LineOutput {
  readonly #fd: number
  readonly #files: Files
  #waiting = ''
  #isWriting = false
  /** Tried again in a moment. */
  #held: Block | undefined
  #isGone = false
  /** Lines that were dropped, and nobody knows yet. */
  #lost = 0
  #reason = ''
  /** Whether the last thing that was written is a part of a line. */
  #isTorn = false

  constructor(fd: number, files: Files = system) {
    this.#fd = fd
    this.#files = files
  }

  /** Whole lines. */
  write(text: string): void {
    if (this.#isGone) return
    if (this.#waiting.length + text.length > MOST_WAITING) {
      this.#lose(linesIn(text), 'they are not read as fast as they come')
      return
    }
    this.#waiting += text
    if (!this.#isWriting) this.#begin()
  }

  /** Writes out what waits, before it returns. */
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
    const told = this.#lost
    const text = (this.#isTorn ? '\n' : '') + (told > 0 ? this.#confession() : '') + this.#waiting
    this.#waiting = ''
    return { data: Buffer.from(text), lines, told, offset: 0 }
  }

  #confession(): string {
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
    setTimeout(again, AGAIN).unref()
  }

  #putSync(block: Block): void {
    const { data } = block
    const until = performance.now() + LAST_WAIT
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
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN)
      }
    }
    this.#done(block)
  }

  #done({ told }: Block): void {
    this.#isTorn = false
    this.#lost -= told
  }

  #fail(error: NodeJS.ErrnoException, { data, offset, lines }: Block): void {
    if (offset > 0) this.#isTorn = data[offset - 1] !== NEWLINE
    this.#isGone = gone.has(error.code)
    this.#lose(lines + linesIn(this.#waiting), error.code ?? error.message)
    this.#waiting = ''
  }

  #lose(lines: number, reason: string): void {
    this.#lost += lines
    this.#reason = reason
  }
}
