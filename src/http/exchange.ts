/** One request and its reply, from the first byte to the last. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../call.ts'
import { bodyOf, tooLarge } from './body.ts'
import { headersIn } from './head.ts'
import { requestId } from './request-id.ts'

const empty = Buffer.alloc(0)

/** An unwanted body up to this many bytes is read and dropped, so that the connection lives on. */
const MAX_DRAINED = 65_536

export class Exchange implements Call {
  readonly method: string
  readonly path: string
  /** Without `api_key`, once the credential was looked for. */
  query: string
  keyInQuery = false
  readonly headers: IncomingHttpHeaders
  readonly address: string
  readonly requestId: string
  body: Buffer = empty

  /** Header lines, each with its end, that the stages add to whatever reply comes, e.g. the limit's. */
  added = ''
  /** What the limit leaves of the caller's budget; undefined: nothing is limited. */
  budget: { readonly limit: number; readonly remaining: number; readonly resetAt: number } | undefined
  /** When the body has come: waits until there is time for what is to be done with it. */
  turn: ((exchange: Exchange) => Promise<void> | undefined) | undefined
  hasWaited = false
  /** Who asked, for the log. */
  userId: number | null = null
  readonly start: number
  readonly req: IncomingMessage
  readonly res: ServerResponse

  constructor(req: IncomingMessage, res: ServerResponse, address: string) {
    this.start = performance.now()
    this.req = req
    this.res = res
    const { url = '/' } = req
    const mark = url.indexOf('?')
    this.method = req.method ?? 'GET'
    this.path = mark === -1 ? url : url.slice(0, mark)
    this.query = mark === -1 ? '' : url.slice(mark + 1)
    this.headers = req.headers
    this.address = address
    this.requestId = requestId(req.headers['x-request-id'])
  }

  get url(): string {
    return this.query === '' ? this.path : `${this.path}?${this.query}`
  }

  get hasBody(): boolean {
    const length = this.headers['content-length']
    return (length !== undefined && length !== '0') || this.headers['transfer-encoding'] !== undefined
  }

  /** For whoever writes the response in our place: what every answer has, as far as nobody sets it anew. */
  prepareResponse(constant: readonly string[]): void {
    const headers = [...constant, ...headersIn(this.added), 'X-Request-Id', this.requestId]
    for (let at = 0; at < headers.length; at += 2) {
      this.res.setHeader(headers[at] ?? '', headers[at + 1] ?? '')
    }
  }

  /** Whether nobody waits for the answer any more. */
  get isGone(): boolean {
    return this.res.destroyed
  }

  /** Whether the client has ended its side: as a rule it has gone, but it may still read. */
  get hasEnded(): boolean {
    return this.req.socket.readableEnded
  }

  /** Whether some of the body has not come yet. */
  get isUnread(): boolean {
    return this.hasBody && !this.req.complete
  }

  /**
   * What still arrives of the body is too much to be read for nothing, or may never come (RFC 9110,
   * 10.1.1): the connection cannot be used again.
   */
  get isEndless(): boolean {
    if (!this.isUnread) return false
    const { 'content-length': length, expect } = this.headers
    return length === undefined || Number(length) > MAX_DRAINED || expect !== undefined
  }

  /**
   * Collects the body; at once when there is none. Bounded by `limit` bytes: PAYLOAD_TOO_LARGE, and
   * before a byte is read where Content-Length tells.
   */
  readBody(limit: number): Promise<void> | undefined {
    if (!this.hasBody) return undefined
    const length = this.headers['content-length']
    if (length !== undefined && Number(length) > limit) throw tooLarge(limit)
    if (this.headers.expect?.toLowerCase() === '100-continue') this.res.writeContinue()
    return bodyOf(this.req, limit).then(body => {
      this.body = body
      return this.turn?.(this)
    })
  }
}
