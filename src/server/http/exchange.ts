/** One request and its reply, from the first byte to the last. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../../base/call.ts'
import { readBody, tooLarge } from './body.ts'
import { headersIn } from './header-block.ts'
import { requestId } from './request-id.ts'
import { streamBody } from './stream-body.ts'

const empty = Buffer.alloc(0)

/** An unwanted body up to this size is read and dropped, so that the connection stays open. */
const maxDrainedBytes = 65_536

/** The response with Node's note that it has sent 100 Continue, as a server without `checkContinue` listeners does by itself. */
interface ContinuableResponse extends ServerResponse {
  readonly _sent100?: boolean
}

function sendContinue(res: ContinuableResponse): void {
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

  stream: (() => AsyncIterable<Buffer>) | undefined
  #isStreamed = false

  /** Header lines, each with its line end, that stages add to any reply, e.g. the rate limit's. */
  headerLines = ''
  /** The caller's rate limit and what remains of it; undefined: no limit applies. */
  budget: { readonly limit: number; readonly remaining: number; readonly resetAt: number } | undefined
  /** Called when the body has arrived. The promise resolves when admission control lets the request continue. */
  bodyArrived: (() => Promise<void> | undefined) | undefined
  /** Whether admission control refused the request: it is neither logged nor counted in the request metrics. */
  isRefused = false
  /** Whether the connection ends with the reply. */
  closesConnection = false
  /** Whether the program's own server has read the request: the response may have headers, and the body may have been read. */
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
    const queryMark = url.indexOf('?')
    this.method = req.method ?? 'GET'
    this.path = queryMark === -1 ? url : url.slice(0, queryMark)
    this.query = queryMark === -1 ? '' : url.slice(queryMark + 1)
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
    const headers = [...constant, ...headersIn(this.headerLines), 'X-Request-Id', this.requestId]
    for (let index = 0; index < headers.length; index += 2) {
      this.res.setHeader(headers[index] ?? '', headers[index + 1] ?? '')
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

  /** Calls `listener` when the client has gone, or has ended its side. Returns a function that removes the listener. */
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
   * Whether the connection cannot be used again: the rest of the body is too large to be read and dropped, or may never
   * arrive (RFC 9110, 10.1.1), or was refused while it was read.
   */
  get hasUndrainableBody(): boolean {
    if (!this.isUnread) return false
    if (this.#isStreamed) return true
    const { 'content-length': length, expect } = this.headers
    return length === undefined || Number(length) > maxDrainedBytes || expect !== undefined
  }

  /**
   * Reads the body; undefined if the request has none. Beyond `limitBytes` it rejects with PAYLOAD_TOO_LARGE, or throws it
   * at once if Content-Length says so.
   */
  readBody(limitBytes: number): Promise<void> | undefined {
    if (!this.hasBody) return undefined
    const length = this.headers['content-length']
    if (length !== undefined && Number(length) > limitBytes) throw tooLarge(limitBytes)
    this.#continue()
    return readBody(this.req, limitBytes).then(body => {
      this.body = body
      return this.bodyArrived?.()
    })
  }

  /** Lets the transport read the body as it arrives. */
  streamBody(): void {
    this.stream = () => {
      this.#isStreamed = true
      if (this.hasBody) this.#continue()
      return streamBody(this.req)
    }
  }

  #continue(): void {
    // RFC 9110, 10.1.1: an HTTP/1.0 client does not understand 100 Continue.
    const expectsContinue =
      this.headers.expect?.toLowerCase() === '100-continue' && this.req.httpVersionMinor === 1
    if (expectsContinue) sendContinue(this.res)
  }
}
