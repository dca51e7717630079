/**
 * Bounds replies that contain a value of the answer several times: the database has counted it once. Every other reply is no
 * larger than the answer, whose keys are those of the reply.
 */
import type { ApiError } from '../../../base/errors.ts'
import type { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import type { ReplyField } from '../plan/reply-fields.ts'

/** The bytes of a reply, approximately, as its fields are completed. */
export class ReplySize {
  readonly #bound: AnswerBound
  readonly #documents = new WeakMap<object, number>()
  #refusal: ApiError | undefined
  #leftBytes: number

  constructor(bound: AnswerBound) {
    this.#bound = bound
    this.#leftBytes = bound.leftBytes
  }

  /** Throws ANSWER_TOO_LARGE. */
  add({ key }: ReplyField, value: unknown): void {
    this.#leftBytes -= key.length + this.#sizeOf(value)
    if (this.#leftBytes >= 0) return
    this.#refusal = this.#bound.refusal()
    throw this.#refusal
  }

  /** Whether `add` threw this error: it fails the whole reply, not only one field. */
  isRefusal(error: unknown): error is ApiError {
    return error !== undefined && error === this.#refusal
  }

  #sizeOf(value: unknown): number {
    if (typeof value === 'string') return value.length
    if (typeof value !== 'object' || value === null) return 1
    const size = this.#documents.get(value) ?? JSON.stringify(value).length
    this.#documents.set(value, size)
    return size
  }
}

const repeating = new WeakMap<readonly ReplyField[], boolean>()

/** The size of a reply with these fields; undefined if no value of the answer can occur several times. */
export function replySize(fields: readonly ReplyField[], bound: AnswerBound): ReplySize | undefined {
  return repeatsValues(fields) ? new ReplySize(bound) : undefined
}

/** Whether two fields of one object have the same source. */
export function repeatsValues(fields: readonly ReplyField[]): boolean {
  const cached = repeating.get(fields)
  if (cached !== undefined) return cached
  const sources = new Set(fields.map(({ source }) => source))
  const repeats =
    sources.size < fields.length ||
    fields.some(field => (field.kind === 'object' || field.kind === 'list') && repeatsValues(field.children))
  repeating.set(fields, repeats)
  return repeats
}
