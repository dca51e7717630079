/**
 * The progress of an import, as a record that is committed with the rows. It identifies the file by its content: if the bytes
 * up to the position have the same hash, their rows were imported.
 */
import { createHash, randomUUID } from 'node:crypto'
import { type Records, recordsOf } from '../../../base/records.ts'
import type { RecordChange } from '../../../engine/plan/transaction.ts'
import type { ImportInput } from './input.ts'
import type { FileFormat } from './records.ts'

const recordKind = 'Import'
const lifetimeMs = 30 * 24 * 60 * 60 * 1000

export interface ImportCounts {
  readonly imported: number
  /** Rows that `--on-conflict skip` skipped. */
  readonly skipped: number
  /** Invalid rows that `--skip-invalid` skipped. */
  readonly rejected: number
}

/** A position in a file, after the last row that was processed. */
export interface ImportPosition extends ImportCounts {
  readonly bytes: number
  /** SHA-256 of the bytes up to the position, in hexadecimal. */
  readonly hash: string
  /** Whether the whole file was processed. */
  readonly isDone: boolean
}

interface StoredProgress extends ImportPosition {
  readonly collection: string
  readonly format: FileFormat
}

type ImportSource = Pick<StoredProgress, 'collection' | 'format'>

/** The record of one import. */
export class ProgressRecord {
  readonly #id: string
  readonly #source: ImportSource
  /** The stored payload; undefined before the first commit. */
  #payload: string | undefined
  readonly position: ImportPosition | undefined

  constructor(source: ImportSource, earlier?: EarlierImport) {
    this.#source = source
    this.#id = earlier?.id ?? randomUUID()
    this.#payload = earlier?.payload
    this.position = earlier?.position
  }

  /**
   * Returns the change to commit with the rows, and a function to call after the commit. The change returns false if another
   * import has changed the record meanwhile.
   */
  moveTo(position: ImportPosition): { readonly change: RecordChange; readonly stored: () => void } {
    const payload = JSON.stringify({ ...this.#source, ...position } satisfies StoredProgress)
    const key = { kind: recordKind, id: this.#id }
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

interface EarlierImport {
  readonly id: string
  readonly payload: string
  readonly position: ImportPosition
}

async function importsFrom(records: Records, { collection, format }: ImportSource): Promise<EarlierImport[]> {
  const candidates: EarlierImport[] = []
  for await (const { id, payload } of recordsOf(records, recordKind)) {
    const stored = JSON.parse(payload) as StoredProgress
    if (stored.collection === collection && stored.format === format)
      candidates.push({ id, payload, position: stored })
  }
  return candidates
}

/** Hashes a stream, and yields the hash of its beginning at each of the given lengths, which are in ascending order. */
async function* hashesAt(
  stream: AsyncIterable<Buffer>,
  lengths: readonly number[],
): AsyncGenerator<{ readonly length: number; readonly hash: string }> {
  const hash = createHash('sha256')
  let length = 0
  let nextLength = 0
  for await (const chunk of stream) {
    let from = 0
    for (
      let end = lengths[nextLength];
      end !== undefined && end <= length + chunk.length;
      end = lengths[nextLength]
    ) {
      hash.update(chunk.subarray(from, end - length))
      from = end - length
      yield { length: end, hash: hash.copy().digest('hex') }
      nextLength += 1
    }
    hash.update(chunk.subarray(from))
    length += chunk.length
  }
}

/** Finds the earlier import of the same file that came furthest, or starts a new record. `restarts` deletes earlier ones. */
export async function findProgress(
  records: Records,
  input: ImportInput,
  source: ImportSource,
  restarts: boolean,
): Promise<ProgressRecord> {
  const matching = await importsOfInput(input, await importsFrom(records, source))
  if (!restarts) return new ProgressRecord(source, matching.at(-1))
  for (const { id } of matching) await records.delete(recordKind, id)
  return new ProgressRecord(source)
}

/** The imports of the bytes with which the input begins, sorted by position. A finished import must match the whole file. */
async function importsOfInput(
  input: ImportInput,
  candidates: readonly EarlierImport[],
): Promise<readonly EarlierImport[]> {
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
