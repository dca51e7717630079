/**
 * How far an import has come, as a record that is committed with the rows. It tells the file by its content: where the
 * bytes up to the position have the same hash, the rows in them were imported.
 */
import { createHash, type Hash, randomUUID } from 'node:crypto'
import type { RecordChange } from '../../plan/transaction.ts'
import { type Records, recordsOf } from '../../records.ts'
import type { Input } from './input.ts'
import type { Format } from './records.ts'

const kind = 'Import'
const lifetimeMs = 30 * 24 * 60 * 60 * 1000

export interface Counts {
  readonly imported: number
  /** Rows that `--on-conflict skip` left out, and rows with faults that `--skip-invalid` left out. */
  readonly skipped: number
  readonly rejected: number
}

/** A position in a file, after the last row that is done. */
export interface Position extends Counts {
  readonly bytes: number
  /** SHA-256 of the bytes up to it, in hexadecimal. */
  readonly hash: string
  /** The whole file is done. */
  readonly isDone: boolean
}

interface Stored extends Position {
  readonly collection: string
  readonly format: Format
}

/** Of one import. */
export class ProgressRecord {
  readonly #id: string
  readonly #of: Pick<Stored, 'collection' | 'format'>
  /** What is stored now; undefined: nothing yet. */
  #payload: string | undefined
  readonly position: Position | undefined

  constructor(of: Pick<Stored, 'collection' | 'format'>, found?: Found) {
    this.#of = of
    this.#id = found?.id ?? randomUUID()
    this.#payload = found?.payload
    this.position = found?.position
  }

  /** The change to commit with the rows, and what to call once it is. The change's answer is false where another import was faster. */
  moveTo(position: Position): { readonly change: RecordChange; readonly stored: () => void } {
    const payload = JSON.stringify({ ...this.#of, ...position } satisfies Stored)
    const key = { kind, id: this.#id }
    const before = this.#payload
    const expiresAt = Date.now() + lifetimeMs
    return {
      change:
        before === undefined
          ? { kind: 'add', record: { ...key, payload, expiresAt } }
          : { kind: 'swap', key, before, after: payload },
      stored: () => {
        this.#payload = payload
      },
    }
  }
}

interface Found {
  readonly id: string
  readonly payload: string
  readonly position: Position
}

async function candidatesOf(records: Records, collection: string, format: Format): Promise<Found[]> {
  const found: Found[] = []
  for await (const { id, payload } of recordsOf(records, kind)) {
    const stored = JSON.parse(payload) as Stored
    if (stored.collection === collection && stored.format === format)
      found.push({ id, payload, position: stored })
  }
  return found
}

/** Hashes a stream, and tells the hash of its first bytes at given lengths. */
async function* hashesAt(
  stream: AsyncIterable<Buffer>,
  lengths: readonly number[],
): AsyncGenerator<{ readonly length: number; readonly hash: string }> {
  const hash = createHash('sha256')
  let length = 0
  let next = 0
  for await (const chunk of stream) {
    let from = 0
    for (let at = lengths[next]; at !== undefined && at <= length + chunk.length; at = lengths[next]) {
      from = addUpTo(hash, chunk, from, at - length)
      yield { length: at, hash: hash.copy().digest('hex') }
      next += 1
    }
    hash.update(chunk.subarray(from))
    length += chunk.length
  }
}

function addUpTo(hash: Hash, chunk: Buffer, from: number, to: number): number {
  hash.update(chunk.subarray(from, to))
  return to
}

/** The earlier import of the same file that came furthest; undefined: there is none. Deletes it where `restarts`. */
export async function findProgress(
  records: Records,
  input: Input,
  of: { readonly collection: string; readonly format: Format },
  restarts: boolean,
): Promise<ProgressRecord> {
  const candidates = await candidatesOf(records, of.collection, of.format)
  const matching = await matchingOf(input, candidates)
  if (!restarts) return new ProgressRecord(of, matching.at(-1))
  for (const { id } of matching) await records.delete(kind, id)
  return new ProgressRecord(of)
}

/** In the order of their positions. A finished one matches only the whole file. */
async function matchingOf(input: Input, candidates: readonly Found[]): Promise<readonly Found[]> {
  if (candidates.length === 0) return []
  const sorted = candidates.toSorted((a, b) => a.position.bytes - b.position.bytes)
  const lengths = [...new Set(sorted.map(({ position }) => position.bytes))]
  const hashes = new Map<number, string>()
  const total = { bytes: 0 }
  // One byte more shows whether the file ends there.
  const head = counted(input.head((lengths.at(-1) ?? 0) + 1), total)
  for await (const { length, hash } of hashesAt(head, lengths)) hashes.set(length, hash)
  return sorted.filter(({ position: { bytes, hash, isDone } }) => {
    return hashes.get(bytes) === hash && (!isDone || total.bytes === bytes)
  })
}

async function* counted(stream: AsyncIterable<Buffer>, total: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    total.bytes += chunk.length
    yield chunk
  }
}
