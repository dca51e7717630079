/**
 * The progress of an import, as a record that is committed with the rows. It identifies the file by its content: if the bytes
 * up to the position have the same hash, their rows were imported.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { RecordChange } from '../../plan/transaction.ts'
import { type Records, recordsOf } from '../../records.ts'
import type { Input } from './input.ts'
import type { Format } from './records.ts'

const kind = 'Import'
const lifetimeMs = 30 * 24 * 60 * 60 * 1000

export interface Counts {
  readonly imported: number
  /** Rows that `--on-conflict skip` skipped. */
  readonly skipped: number
  /** Invalid rows that `--skip-invalid` skipped. */
  readonly rejected: number
}

/** A position in a file, after the last row that was processed. */
export interface Position extends Counts {
  readonly bytes: number
  /** SHA-256 of the bytes up to the position, in hexadecimal. */
  readonly hash: string
  /** Whether the whole file was processed. */
  readonly isDone: boolean
}

interface Stored extends Position {
  readonly collection: string
  readonly format: Format
}

/** The record of one import. */
export class ProgressRecord {
  readonly #id: string
  readonly #of: Pick<Stored, 'collection' | 'format'>
  /** The stored payload; undefined before the first commit. */
  #payload: string | undefined
  readonly position: Position | undefined

  constructor(of: Pick<Stored, 'collection' | 'format'>, found?: Found) {
    this.#of = of
    this.#id = found?.id ?? randomUUID()
    this.#payload = found?.payload
    this.position = found?.position
  }

  /**
   * Returns the change to commit with the rows, and a function to call after the commit. The change returns false if another
   * import has changed the record meanwhile.
   */
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

/** Hashes a stream, and yields the hash of its beginning at each of the given lengths, which are in ascending order. */
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
      hash.update(chunk.subarray(from, at - length))
      from = at - length
      yield { length: at, hash: hash.copy().digest('hex') }
      next += 1
    }
    hash.update(chunk.subarray(from))
    length += chunk.length
  }
}

/** Finds the earlier import of the same file that came furthest, or starts a new record. `restarts` deletes earlier ones. */
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

/** Sorted by position. The record of a finished import matches only the whole file. */
async function matchingOf(input: Input, candidates: readonly Found[]): Promise<readonly Found[]> {
  if (candidates.length === 0) return []
  const sorted = candidates.toSorted((a, b) => a.position.bytes - b.position.bytes)
  const lengths = [...new Set(sorted.map(({ position }) => position.bytes))]
  const hashes = new Map<number, string>()
  const total = { bytes: 0 }
  // One more byte shows whether the file ends there.
  const head = counting(input.head((lengths.at(-1) ?? 0) + 1), total)
  for await (const { length, hash } of hashesAt(head, lengths)) hashes.set(length, hash)
  return sorted.filter(({ position: { bytes, hash, isDone } }) => {
    return hashes.get(bytes) === hash && (!isDone || total.bytes === bytes)
  })
}

async function* counting(stream: AsyncIterable<Buffer>, total: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    total.bytes += chunk.length
    yield chunk
  }
}
