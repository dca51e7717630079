/**
 * Uploads: a row before the first byte, then the object, then what is known of it. An upload is complete once its row has
 * a hash. The write of an item makes it a file: see `engine/store/write/files.ts`.
 */
import { createHash, randomBytes } from 'node:crypto'
import { ApiError } from '../../base/errors.ts'
import { type Principal, system } from '../../base/principal.ts'
import type { FileBounds } from '../../model/fields/field-type.ts'
import { acceptsType } from '../../model/fields/file.ts'
import type { UpdateShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { createPlan, deleteShape, updateShape } from '../plan/system-plans.ts'
import { contentType, sniffedBytes } from './content-type.ts'
import type { ObjectStore } from './object-store.ts'

/** A complete upload. */
export interface Upload {
  /** Of its row. */
  readonly id: number
  readonly key: string
  readonly name: string
  readonly type: string
  readonly size: number
  readonly sha256: string
}

/**
 * Arguments: the id, the state, the time, what must hold. Of this and the write of an item that makes the upload its file, only
 * one succeeds.
 */
export const expireUpload: UpdateShape = { ...updateShape('uploads', ['state', 'ended_at']), ifMatch: 3 }
const completed = updateShape('uploads', ['type', 'size', 'sha256'])
const deleted = deleteShape('uploads')

export interface FilesParts {
  readonly run: Pick<Run, 'write'>
  readonly objects: ObjectStore
}

/** What an upload may be. */
export type UploadBounds = Pick<FileBounds, 'maxBytes' | 'types'>

export class Files {
  readonly #parts: FilesParts

  constructor(parts: FilesParts) {
    this.#parts = parts
  }

  /**
   * Stores the bytes as they come. Throws PAYLOAD_TOO_LARGE beyond the bound, and UNSUPPORTED_MEDIA_TYPE for content of
   * another type: the rest is then not read. No connection to the database is held while it waits for bytes.
   */
  async receive(
    bytes: AsyncIterable<Buffer>,
    name: string,
    bounds: UploadBounds,
    owner: Principal,
  ): Promise<Upload> {
    const { run, objects } = this.#parts
    const key = randomBytes(16).toString('base64url')
    const row = { key, name, user_id: owner.userId, app_id: owner.app?.id ?? null }
    const { id } = await run.write(createPlan('uploads', {}, row), system)
    const content = new Content(bytes, name, bounds)
    try {
      await objects.put(key, content)
      const upload = { id, key, name, ...content.result() }
      const { type, size, sha256 } = upload
      await run.write({ shape: completed, args: [id, type, size, sha256] }, system)
      return upload
    } catch (error) {
      await this.#discard(id, key)
      throw error
    }
  }

  /** Opens an object: its bytes from `first` to `last`. They must be read or stopped. */
  read(key: string, first: number, last: number): Promise<AsyncIterable<Buffer>> {
    return this.#parts.objects.read(key, first, last)
  }

  /** Removes an upload unless an item has it. What fails is left to the sweep. */
  async drop({ id, key }: Pick<Upload, 'id' | 'key'>): Promise<void> {
    const args = [id, 'deleted', new Date().toISOString(), { state: 'pending' }]
    await this.#parts.run
      .write({ shape: expireUpload, args }, system)
      .then(() => this.#discard(id, key))
      .catch(() => undefined)
  }

  /** Nothing refers to it yet. What fails is left to the sweep. */
  async #discard(id: number, key: string): Promise<void> {
    const { run, objects } = this.#parts
    await objects
      .remove(key)
      .then(() => run.write({ shape: deleted, args: [id] }, system))
      .catch(() => undefined)
  }
}

/** The bytes of an upload, hashed, counted and looked at as they pass. */
class Content implements AsyncIterable<Buffer> {
  readonly #bytes: AsyncIterable<Buffer>
  readonly #name: string
  readonly #bounds: UploadBounds
  readonly #hash = createHash('sha256')
  #size = 0
  #type: string | undefined

  constructor(bytes: AsyncIterable<Buffer>, name: string, bounds: UploadBounds) {
    this.#bytes = bytes
    this.#name = name
    this.#bounds = bounds
  }

  /** After the last byte. */
  result(): Pick<Upload, 'type' | 'size' | 'sha256'> {
    if (this.#type === undefined) throw new TypeError('the content was not read to its end')
    return { type: this.#type, size: this.#size, sha256: this.#hash.digest('hex') }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    // One buffer: chunks may be as small as a byte.
    let start: Buffer | undefined = Buffer.allocUnsafe(sniffedBytes)
    let filled = 0
    for await (const chunk of this.#bytes) {
      this.#size += chunk.length
      if (this.#size > this.#bounds.maxBytes) throw fileTooLarge(this.#bounds.maxBytes)
      this.#hash.update(chunk)
      if (start !== undefined) {
        filled += chunk.copy(start, filled)
        if (this.#size >= sniffedBytes) {
          await this.#look(start, false)
          start = undefined
        }
      }
      yield chunk
    }
    if (start !== undefined) await this.#look(start.subarray(0, filled), true)
  }

  async #look(start: Buffer, isWhole: boolean): Promise<void> {
    const isCut = !isWhole || start.length < this.#size
    this.#type = await contentType(start, this.#name, !isCut)
    if (acceptsType(this.#bounds, this.#type)) return
    throw new ApiError(
      'UNSUPPORTED_MEDIA_TYPE',
      `The content is ${this.#type}; accepted is ${this.#bounds.types?.join(', ')}.`,
    )
  }
}

/** The error for a file above its bound. */
export function fileTooLarge(maxBytes: number): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', `The file may have at most ${maxBytes} bytes.`)
}
