/** The maximum size of answers, in bytes of their JSON text as UTF-8. See decisions/bounded-answers.md. */
import { ApiError } from '../../base/errors.ts'

export interface AnswerLimits {
  /** Of the answer to a read. */
  readonly readBytes: number
  /** Of all answers of one transaction: a write, an action, a batch. */
  readonly writeBytes: number
}

const mebibyte = 1024 * 1024

export const defaultAnswerLimits: AnswerLimits = { readBytes: 16 * mebibyte, writeBytes: 2 * mebibyte }

/** For reads, `require` checks each answer; for the steps of a transaction, `add` counts all of them. */
export class AnswerBound {
  readonly #maxBytes: number
  readonly #kind: keyof AnswerLimits
  #usedBytes = 0

  constructor(limits: AnswerLimits, kind: keyof AnswerLimits) {
    this.#maxBytes = limits[kind]
    this.#kind = kind
  }

  /** How many bytes the next answer may have. */
  get leftBytes(): number {
    return Math.max(0, this.#maxBytes - this.#usedBytes)
  }

  /** Throws ANSWER_TOO_LARGE if the text has more bytes than are left. */
  require(text: string | null): void {
    if (text !== null && isLarger(text, this.leftBytes)) throw this.refusal()
  }

  /** Counts the text. Throws ANSWER_TOO_LARGE if all of them together have too many bytes. */
  add(text: string | null): void {
    this.count(text)
    if (this.#usedBytes > this.#maxBytes) throw this.refusal()
  }

  count(text: string | null): void {
    if (text !== null) this.#usedBytes += Buffer.byteLength(text)
  }

  refusal(): ApiError {
    return new ApiError('ANSWER_TOO_LARGE', messages[this.#kind](bytesInWords(this.#maxBytes)))
  }
}

export function isTooLarge(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'ANSWER_TOO_LARGE'
}

/** Whether the text has more bytes. The number of characters decides nearly always. */
export function isLarger(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true
  return 3 * text.length > maxBytes && Buffer.byteLength(text) > maxBytes
}

const messages = {
  readBytes: (size: string) =>
    `The answer has more than ${size}. Request fewer items (\`per_page\`, \`limit\`, \`first\`), fewer fields (\`fields\`), or fewer relations (\`include\`).`,
  writeBytes: (size: string) =>
    `The answers to a write, an action, a query or a batch have more than ${size} together, so nothing was changed. Request fewer fields (\`fields\`) or relations (\`include\`), or do less in one request.`,
}

/** E.g. `16 MiB`; `1,000 bytes` for a size that is not a whole number of mebibytes. */
function bytesInWords(bytes: number): string {
  const isWhole = bytes >= mebibyte && bytes % mebibyte === 0
  return isWhole ? `${bytes / mebibyte} MiB` : `${bytes.toLocaleString('en')} bytes`
}
