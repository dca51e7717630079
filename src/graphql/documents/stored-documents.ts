/** Stored documents: registered by the operator, or remembered from clients that sent text and hash together. */
import { hash } from 'node:crypto'
import { ApiError } from '../../errors.ts'
import type { GraphqlRequest } from '../request.ts'
import { RequestFailed, requestError } from '../request-error.ts'

export interface DocumentSettings {
  /** `registered`: only registered documents are executed. */
  readonly mode: 'any' | 'registered'
  /** Text by SHA-256, in hexadecimal digits. */
  readonly registered: ReadonlyMap<string, string>
  /** How many documents of clients are remembered, and how many characters of them in total. */
  readonly maxRemembered?: number
  readonly maxRememberedCharacters?: number
}

/** The SHA-256 by which clients name a document, in hexadecimal digits. */
export function documentHash(text: string): string {
  return hash('sha256', text, 'hex')
}

/** A request's document. `remember` is called once the document is known to be valid. */
export interface Document {
  readonly text: string
  readonly remember: (() => void) | undefined
}

const maxDocumentCharacters = 100_000

export class Documents {
  readonly #settings: DocumentSettings
  readonly #remembered = new Map<string, string>()
  readonly #maxRemembered: number
  readonly #maxCharacters: number
  #characters = 0

  constructor(settings: DocumentSettings) {
    this.#settings = settings
    this.#maxRemembered = settings.maxRemembered ?? 1000
    this.#maxCharacters = settings.maxRememberedCharacters ?? 4_194_304
  }

  /** How many documents of clients are remembered. */
  get size(): number {
    return this.#remembered.size
  }

  /** Throws BAD_REQUEST, FORBIDDEN, or `PERSISTED_QUERY_NOT_FOUND` with the message that Apollo's clients look for. */
  find({ query, documentId, sha256Hash }: GraphqlRequest): Document {
    const named = sha256Hash ?? (documentId === undefined ? undefined : hashOf(documentId))
    if (query === undefined)
      return { text: this.#stored(named, sha256Hash !== undefined), remember: undefined }
    if (named === undefined && this.#settings.mode === 'any') return { text: query, remember: undefined }
    const actual = documentHash(query)
    if (named !== undefined && named !== actual) {
      throw new ApiError('BAD_REQUEST', 'The hash is not that of `query`: provided sha does not match query.')
    }
    if (this.#settings.mode === 'registered') return { text: this.#registered(actual), remember: undefined }
    return { text: query, remember: () => this.#remember(actual, query) }
  }

  #registered(named: string | undefined): string {
    const text = this.#settings.registered.get(named ?? '')
    if (text !== undefined) return text
    throw new RequestFailed(
      requestError('This document is not registered, and others are not answered.', 'FORBIDDEN', 403, true),
    )
  }

  #stored(named: string | undefined, automatic: boolean): string {
    if (this.#settings.mode === 'registered') return this.#registered(named)
    const key = named ?? ''
    const text = this.#settings.registered.get(key) ?? this.#remembered.get(key)
    if (text === undefined) {
      const message = automatic ? 'PersistedQueryNotFound' : 'There is no stored document with this id.'
      throw new RequestFailed(
        requestError(
          message,
          automatic ? 'PERSISTED_QUERY_NOT_FOUND' : 'NOT_FOUND',
          automatic ? 400 : 404,
          true,
        ),
      )
    }
    if (this.#remembered.delete(key)) this.#remembered.set(key, text)
    return text
  }

  #remember(key: string, text: string): void {
    if (
      text.length > maxDocumentCharacters ||
      this.#settings.registered.has(key) ||
      this.#remembered.has(key)
    )
      return
    this.#remembered.set(key, text)
    this.#characters += text.length
    while (this.#remembered.size > this.#maxRemembered || this.#characters > this.#maxCharacters)
      this.#forgetOldest()
  }

  #forgetOldest(): void {
    const [oldest = '', text = ''] = this.#remembered.entries().next().value ?? []
    this.#remembered.delete(oldest)
    this.#characters -= text.length
  }
}

function hashOf(documentId: string): string {
  const found = /^sha256:([0-9a-f]{64})$/.exec(documentId)?.[1]
  if (found !== undefined) return found
  throw new ApiError(
    'BAD_REQUEST',
    '`documentId` must be `sha256:` and 64 hexadecimal digits, in lower case.',
  )
}
