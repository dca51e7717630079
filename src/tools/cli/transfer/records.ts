/** Splits bytes into records: lines of NDJSON, or rows of CSV (RFC 4180), whose quoted cells may hold line breaks. */
import { Failure } from '../failure.ts'

export type FileFormat = 'csv' | 'ndjson'

export interface RawRecord {
  /** With its line end: the records, concatenated, are the file. */
  readonly bytes: Buffer
  /** The number of its first line, from 1. */
  readonly line: number
}

const LF = 10
const QUOTE = 34
const COMMA = 44
const byteOrderMark = [0xef, 0xbb, 0xbf]

const CELL_START = 0
const PLAIN = 1
const QUOTED = 2
/** After a quote in a quoted cell: the closing quote, or the first of a doubled one. */
const QUOTE_SEEN = 3

interface Scanner {
  /** Returns the index of the line feed that ends the record, or -1. Each call continues where the last one stopped. */
  endOf(chunk: Buffer, from: number): number
}

class LineScanner implements Scanner {
  endOf(chunk: Buffer, from: number): number {
    return chunk.indexOf(LF, from)
  }
}

class CsvScanner implements Scanner {
  #state = CELL_START
  /** The number of bytes of a byte order mark that have been read. */
  #markBytes = 0

  endOf(chunk: Buffer, from: number): number {
    for (let index = from; index < chunk.length; index += 1) {
      const byte = chunk[index]
      if (this.#markBytes < byteOrderMark.length) {
        const isMark = byte === byteOrderMark[this.#markBytes]
        this.#markBytes = isMark ? this.#markBytes + 1 : byteOrderMark.length
        if (isMark) continue
      }
      if (byte === LF && this.#state !== QUOTED) {
        this.#state = CELL_START
        return index
      }
      this.#state = nextState(this.#state, byte)
    }
    return -1
  }
}

function nextState(state: number, byte: number | undefined): number {
  if (state === QUOTED) return byte === QUOTE ? QUOTE_SEEN : QUOTED
  if (byte === COMMA) return CELL_START
  if (byte === QUOTE && state !== PLAIN) return QUOTED
  // A carriage return may stand between the closing quote and the line feed.
  return state === QUOTE_SEEN ? QUOTE_SEEN : PLAIN
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let index = bytes.indexOf(LF); index >= 0; index = bytes.indexOf(LF, index + 1)) lines += 1
  return lines
}

/** Splits chunks into records, and buffers an incomplete one. */
class Splitter {
  readonly #scanner: Scanner
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #length = 0
  #line = 1

  constructor(format: FileFormat, maxBytes: number) {
    this.#scanner = format === 'csv' ? new CsvScanner() : new LineScanner()
    this.#maxBytes = maxBytes
  }

  push(chunk: Buffer): readonly RawRecord[] {
    const records: RawRecord[] = []
    let from = 0
    for (;;) {
      const end = this.#scanner.endOf(chunk, from)
      this.#add(end < 0 ? chunk.subarray(from) : chunk.subarray(from, end + 1))
      if (end < 0) return records
      records.push(this.#take())
      from = end + 1
    }
  }

  /** Returns the last record if no line feed ends it. */
  end(): readonly RawRecord[] {
    return this.#length === 0 ? [] : [this.#take()]
  }

  #add(part: Buffer): void {
    if (part.length === 0) return
    this.#parts.push(part)
    this.#length += part.length
    if (this.#length <= this.#maxBytes) return
    throw new Failure(
      `The row that begins at line ${this.#line} is longer than ${this.#maxBytes.toLocaleString('en')} bytes (PORTICO_BODY_LIMIT). Is a closing quote missing, or do lines end without a line feed?`,
    )
  }

  #take(): RawRecord {
    const [first] = this.#parts
    const bytes = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts)
    const line = this.#line
    this.#parts = []
    this.#length = 0
    this.#line += countLines(bytes)
    return { bytes, line }
  }
}

/** Yields the records of a stream in batches. Throws a `Failure` for a record of more than `maxBytes`. */
export async function* splitRecords(
  source: AsyncIterable<Buffer>,
  format: FileFormat,
  maxBytes: number,
): AsyncGenerator<readonly RawRecord[]> {
  const splitter = new Splitter(format, maxBytes)
  for await (const chunk of source) yield splitter.push(chunk)
  yield splitter.end()
}
