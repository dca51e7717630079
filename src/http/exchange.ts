/** One request and its reply, from the first byte to the last. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../call.ts'
import { bodyOf, tooLarge } from './body.ts'
import { headersIn } from './header-block.ts'
import { requestId } from './request-id.ts'

const empty = Buffer.alloc(0)

/** An unwanted body up to this size is read and dropped, so that the connection stays open. */
const maxDrainedBytes = 65_536

/** Node notes here that it has sent 100 Continue, as a server without `checkContinue` listeners does by itself. */
interface InvitingResponse extends ServerResponse {
  readonly _sent100?: boolean
}

function inviteBody(res: InvitingResponse): void {
  if (!res._sent100) res.writeContinue()
}

export class Exchange implements Call {
  readonly method: string
  readonly path: string
  /** Without `api_key`, once the credential was read. */
  query: string
  keyInQuery = false
  readonly headers: IncomingHttpHeaders
  readonly address: string
  readonly requestId: string
  body: Buffer = empty

  /** Header lines, each with its line end, that stages add to any reply, e.g. the rate limit's. */
  added = ''
  /** What remains of the caller's rate limit; undefined: no limit applies. */
  budget: { readonly limit: number; readonly remaining: number; readonly resetAt: number } | undefined
  /** Called when the body has arrived: waits for admission to process it. */
  bodyArrived: (() => Promise<void> | undefined) | undefined
  /** Whether admission control refused it: it is neither logged nor part of the request metrics. */
  isRefused = false
  /** Whether the connection ends with the reply. */
  closesConnection = false
  /** Whether the program's own server has read the request: its response may have headers, its body may have been read. */
  readonly isHosted: boolean
  /** The caller, for the log. */
  userId: number | null = null
  readonly start: number
  readonly req: IncomingMessage
  readonly res: ServerResponse

  constructor(req: IncomingMessage, res: ServerResponse, address: string, isHosted = false) {
    this.isHosted = isHosted
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

  /** Sets the headers of every response, for another module that writes the response: it may replace them. */
  prepareResponse(constant: readonly string[]): void {
    const headers = [...constant, ...headersIn(this.added), 'X-Request-Id', this.requestId]
    for (let at = 0; at < headers.length; at += 2) {
      this.res.setHeader(headers[at] ?? '', headers[at + 1] ?? '')
    }
  }

  /** Whether the client has closed the connection. */
  get isGone(): boolean {
    return this.res.destroyed
  }

  /** Whether the client has ended its side: it has probably gone, but it may still read. */
  get hasEnded(): boolean {
    return this.req.socket.readableEnded
  }

  /** Calls `listener` when the client has gone, or has ended its side. Returns what stops that. */
  onGone(listener: () => void): () => void {
    const { req, res } = this
    const { socket } = req
    if (res.destroyed || socket.readableEnded) setImmediate(listener)
    res.once('close', listener)
    socket.once('end', listener)
    return () => {
      res.off('close', listener)
      socket.off('end', listener)
    }
  }

  /** Whether some of the body has not arrived yet. */
  get isUnread(): boolean {
    return this.hasBody && !this.req.complete
  }

  /**
   * Whether the connection cannot be used again: the rest of the body is too large to be read for nothing, or may never
   * arrive (RFC 9110, 10.1.1).
   */
  get isEndless(): boolean {
    if (!this.isUnread) return false
    const { 'content-length': length, expect } = this.headers
    return length === undefined || Number(length) > maxDrainedBytes || expect !== undefined
  }

  /**
   * Collects the body; at once when there is none. Bounded by `limit` bytes: PAYLOAD_TOO_LARGE, and
   * before a byte is read where Content-Length tells.
   */
  readBody(limit: number): Promise<void> | undefined {
    if (!this.hasBody) return undefined
    const length = this.headers['content-length']
    if (length !== undefined && Number(length) > limit) throw tooLarge(limit)
    // RFC 9110, 10.1.1: a client of HTTP/1.0 does not understand the answer.
    const isAsking = this.headers.expect?.toLowerCase() === '100-continue' && this.req.httpVersionMinor === 1
    if (isAsking) inviteBody(this.res)
    return bodyOf(this.req, limit).then(body => {
      this.body = body
      return this.bodyArrived?.()
    })
  }
}
