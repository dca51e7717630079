/**
 * Lists and aggregates as CSV and NDJSON (`Accept`), whole unless the query names a page. Each page of rows is read when the client
 * has read the one before, under the rules and the credential of that moment. What fails after the first page breaks the response
 * off, so that the client cannot take it for the whole.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Call, Reply, StreamedBody } from '../../../base/call.ts'
import { ApiError, stoppingRefusal } from '../../../base/errors.ts'
import { mebibytesOf } from '../../../base/mebibytes.ts'
import type { Principal } from '../../../base/principal.ts'
import { Quota } from '../../../base/quota.ts'
import type { ConnectedClient } from '../../events/credential-monitor.ts'
import { readAccept } from '../accept.ts'
import type { EventRouteParts } from '../events/parts.ts'
import type { Presentation } from '../reply/headers.ts'
import { scanRequests } from '../scan-cost.ts'
import type { WriteServices } from '../write.ts'
import { type Column, csv, type ExportFormat, ndjson } from './formats.ts'
import type { ExportPage, ExportSource } from './sources.ts'

/** Rows that one request of the budget pays for. */
const rowsPerRequest = 20
/** Of one caller, in each worker. */
const maxExports = 2
const maxExportMs = 3_600_000

const maxPageRows = 1000
/** The size of later pages: large enough to be read fast, and small beside the memory of a service. */
const pageCharacters = 256 * 1024

/** What is exported. */
export interface ExportRequest {
  readonly call: Call
  readonly principal: Principal
  readonly source: ExportSource
  readonly columns: readonly Column[]
  readonly presentation: Presentation
  /** Of the file, without an extension. */
  readonly name: string
}

export interface ExportParts extends Pick<WriteServices, 'draw'> {
  /** Credentials are rechecked by these. Omitted: they are not. */
  readonly events?: Pick<EventRouteParts, 'events' | 'clientOf'> | undefined
  /** Aborted when the service stops: an export that waits for its budget then ends. */
  readonly closing?: AbortSignal | undefined
  readonly maxMs?: number
}

/** The format in which the client wants a list; undefined: JSON. */
export function exportFormat({ headers }: Call): ExportFormat | undefined {
  const { exported } = readAccept(headers.accept)
  return exported && { csv, ndjson }[exported]
}

export class Exports {
  readonly #parts: ExportParts
  readonly #quota = new Quota(maxExports, 'exports')

  constructor(parts: ExportParts) {
    this.#parts = parts
  }

  /** Reads the first page, so that its errors have their statuses. */
  async answer(format: ExportFormat, request: ExportRequest): Promise<Reply> {
    const { call, principal, source } = request
    if (source.readsAllIds) await this.#parts.draw?.(call, principal, scanRequests - 1)
    const body = new ExportBody(format, request, this.#parts, this.#quota)
    const first = await body.open()
    const headers = [
      ...['Content-Type', format.mediaType],
      ...request.presentation.unstored.slice(2),
      ...['Content-Disposition', `attachment; filename="${request.name}.${format.extension}"`],
      ...body.links,
    ]
    return { status: 200, headers, body: body.isOver ? first : body }
  }
}

class ExportBody implements ConnectedClient, StreamedBody, AsyncIterator<string> {
  readonly credential: ConnectedClient['credential']
  readonly address: string
  principal: Principal
  isOver = false
  links: readonly string[] = []
  readonly #format: ExportFormat
  readonly #request: ExportRequest
  readonly #parts: ExportParts
  readonly #release: () => void
  readonly #endsAt: number
  readonly #ended = new AbortController()
  #first: string | undefined
  /** Of the next page. The first one is paid for by the request itself, and shows how large rows are. */
  #size = rowsPerRequest
  /** Rows that were paid for, and not yet sent: the request itself paid for some. */
  #paidRows = rowsPerRequest
  #failure: unknown

  /** Throws RATE_LIMITED. */
  constructor(format: ExportFormat, request: ExportRequest, parts: ExportParts, quota: Quota) {
    const { call, principal } = request
    const client = parts.events?.clientOf(call, principal)
    this.credential = client?.credential
    this.address = client?.address ?? call.address
    this.principal = principal
    this.#format = format
    this.#request = request
    this.#parts = parts
    const { budgetKey } = principal
    quota.take(budgetKey)
    this.#release = () => quota.release(budgetKey)
    this.#endsAt = performance.now() + (parts.maxMs ?? maxExportMs)
  }

  /** The first page, which the body begins with. */
  async open(): Promise<string> {
    try {
      this.#parts.events?.events.credentials.add(this)
      const rows = await this.#read(false)
      this.#first = this.#format.head(this.#request.columns) + rows
      return this.#first
    } catch (error) {
      this.#close()
      throw error
    }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<string>> {
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) return { value: first, done: false }
    if (this.#failure !== undefined) throw this.#failure
    if (this.isOver) return { value: undefined, done: true }
    try {
      // Lets others run: a page may be read without waiting.
      await setImmediate()
      return { value: await this.#read(true), done: false }
    } catch (error) {
      const hasGone = this.isOver && this.#failure === undefined
      this.#close()
      if (hasGone) return { value: undefined, done: true }
      throw this.#failure ?? error
    }
  }

  /** The client has gone. */
  async return(): Promise<IteratorResult<string>> {
    this.#close()
    return { value: undefined, done: true }
  }

  changePrincipal(principal: Principal): void {
    this.principal = principal
  }

  disconnect(error: ApiError): void {
    this.#failure = error
    this.#close()
  }

  async #read(mayWait: boolean): Promise<string> {
    if (performance.now() > this.#endsAt) {
      throw new ApiError('REQUEST_TIMEOUT', 'The export has taken too long: export a part, by a filter.')
    }
    const { rows, isLast, links = [], text, advance } = await this.#paidPage(mayWait)
    this.links = links
    // Without it, an export whose credential ended while its first page was read would look whole.
    if (this.#failure !== undefined) throw this.#failure
    advance()
    if (isLast) this.#close()
    else this.#resize(rows.length, text.length)
    return text
  }

  /** A page that was read after the last wait for the budget: the caller's rights may have changed meanwhile. */
  async #paidPage(mayWait: boolean): Promise<ExportPage & { readonly text: string }> {
    for (;;) {
      const reader = this.principal
      const page = await this.#page()
      const text = page.rows.map(row => this.#format.row(row, this.#request.columns)).join('')
      const rows = Math.max(page.rows.length, page.examined ?? 0, mebibytesOf(text) * rowsPerRequest)
      const hasWaited = await this.#pay(rows, mayWait)
      if (!hasWaited && this.principal === reader) return { ...page, text }
      this.#paidRows += rows
    }
  }

  /** Fewer rows where these are too many for one answer of the store. */
  async #page(): Promise<ExportPage> {
    for (;;) {
      try {
        return await this.#request.source.next(this.principal, this.#size)
      } catch (error) {
        const isTooLarge = error instanceof ApiError && error.code === 'ANSWER_TOO_LARGE'
        const isSmallest = !this.#request.source.isSized || this.#size === 1
        if (!isTooLarge || isSmallest) throw error
        this.#size = Math.ceil(this.#size / 8)
      }
    }
  }

  #resize(rows: number, characters: number): void {
    const fitting = Math.floor((rows * pageCharacters) / Math.max(1, characters))
    this.#size = Math.max(1, Math.min(fitting, 2 * this.#size, maxPageRows))
  }

  /** Once the response has begun, waits until the budget has enough. Returns whether it has waited. */
  async #pay(rows: number, mayWait: boolean): Promise<boolean> {
    this.#paidRows -= rows
    let hasWaited = false
    for (let requests = Math.ceil(-this.#paidRows / rowsPerRequest); requests > 0; ) {
      const drawn = await this.#draw(requests, mayWait)
      if (drawn === 0) hasWaited = true
      this.#paidRows += drawn * rowsPerRequest
      requests -= drawn
    }
    return hasWaited
  }

  /** Draws as many as the budget has, and returns how many. */
  async #draw(requests: number, mayWait: boolean): Promise<number> {
    try {
      await this.#parts.draw?.(this.#request.call, this.principal, requests)
      return requests
    } catch (error) {
      const seconds =
        mayWait && error instanceof ApiError ? Number(error.headers?.['Retry-After']) : Number.NaN
      if (!Number.isFinite(seconds)) throw error
      if (requests > 1) return this.#draw(Math.ceil(requests / 2), mayWait)
      if (performance.now() + seconds * 1000 > this.#endsAt) throw error
      await this.#wait(seconds)
      return 0
    }
  }

  /** Rejects if the client goes, or the service stops. */
  async #wait(seconds: number): Promise<void> {
    const { closing } = this.#parts
    const signal = closing ? AbortSignal.any([closing, this.#ended.signal]) : this.#ended.signal
    try {
      await setTimeout(seconds * 1000, undefined, { signal, ref: false })
    } catch (error) {
      throw closing?.aborted ? stoppingRefusal() : error
    }
  }

  #close(): void {
    if (this.isOver) return
    this.isOver = true
    this.#release()
    this.#parts.events?.events.credentials.remove(this)
    this.#ended.abort()
  }
}
