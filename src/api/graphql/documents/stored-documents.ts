/** Stored documents: registered by the operator, or cached because a client sent text and hash together. */
import { hash } from 'node:crypto'
import { ApiError } from '../../../base/errors.ts'
import type { GraphqlRequest } from '../request.ts'
import { requestFailure } from '../request-error.ts'

export interface DocumentSettings {
  /** `registered`: only registered documents are executed. */
  readonly mode: 'any' | 'registered'
  /** Text by SHA-256, in hexadecimal digits. */
  readonly registered: ReadonlyMap<string, string>
  /** How many documents of clients are cached, and how many characters of them in total. */
  readonly maxCached?: number
  readonly maxCachedCharacters?: number
}

/** The SHA-256 by which clients name a document, in hexadecimal digits. */
export function documentHash(text: string): string {
  return hash('sha256', text, 'hex')
}

/** A request's document. Call `cache` once the document has proved valid. */
export interface Document {
  readonly text: string
  readonly cache: (() => void) | undefined
}

const maxDocumentCharacters = 100_000

export class Documents {
  readonly #settings: DocumentSettings
  readonly #cached = new Map<string, string>()
  readonly #maxCached: number
  readonly #maxCharacters: number
  #characters = 0

  constructor(settings: DocumentSettings) {
    this.#settings = settings
    this.#maxCached = settings.maxCached ?? 1000
    this.#maxCharacters = settings.maxCachedCharacters ?? 4_194_304
  }

  /** How many documents of clients are cached. */
  get size(): number {
    return this.#cached.size
  }

  /** Throws BAD_REQUEST, FORBIDDEN, or `PERSISTED_QUERY_NOT_FOUND` with the message that Apollo's clients look for. */
  find({ query, documentId, sha256Hash }: GraphqlRequest): Document {
    const requestedHash = sha256Hash ?? (documentId === undefined ? undefined : hashInId(documentId))
    if (query === undefined)
      return { text: this.#findStored(requestedHash, sha256Hash !== undefined), cache: undefined }
    if (requestedHash === undefined && this.#settings.mode === 'any') return { text: query, cache: undefined }
    const actual = documentHash(query)
    if (requestedHash !== undefined && requestedHash !== actual) {
      throw new ApiError('BAD_REQUEST', 'The hash is not that of `query`: provided sha does not match query.')
    }
    if (this.#settings.mode === 'registered') return { text: this.#findRegistered(actual), cache: undefined }
    return { text: query, cache: () => this.#cache(actual, query) }
  }

  #findRegistered(requestedHash: string | undefined): string {
    const text = this.#settings.registered.get(requestedHash ?? '')
    if (text !== undefined) return text
    const message = 'This document is not registered, and only registered documents are executed.'
    throw requestFailure(message, 'FORBIDDEN', 403)
  }

  #findStored(requestedHash: string | undefined, isAutomatic: boolean): string {
    if (this.#settings.mode === 'registered') return this.#findRegistered(requestedHash)
    const key = requestedHash ?? ''
    const text = this.#settings.registered.get(key) ?? this.#cached.get(key)
    if (text === undefined) {
      throw isAutomatic
        ? requestFailure('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND', 400)
        : requestFailure('There is no stored document with this id.', 'NOT_FOUND', 404)
    }
    if (this.#cached.delete(key)) this.#cached.set(key, text)
    return text
  }

  #cache(key: string, text: string): void {
    if (text.length > maxDocumentCharacters || this.#settings.registered.has(key) || this.#cached.has(key))
      return
    this.#cached.set(key, text)
    this.#characters += text.length
    while (this.#cached.size > this.#maxCached || this.#characters > this.#maxCharacters) this.#forgetOldest()
  }

  #forgetOldest(): void {
    const [oldest = '', text = ''] = this.#cached.entries().next().value ?? []
    this.#cached.delete(oldest)
    this.#characters -= text.length
  }
}

function hashInId(documentId: string): string {
  const digits = /^sha256:([0-9a-f]{64})$/.exec(documentId)?.[1]
  if (digits !== undefined) return digits
  throw new ApiError(
    'BAD_REQUEST',
    '`documentId` must be `sha256:` and 64 hexadecimal digits, in lower case.',
  )
}
