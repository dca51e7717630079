/** Answers to what never became a request: malformed HTTP, headers too large, a request that took too long. */
import { type IncomingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Call, Reply } from '../call.ts'
import { ApiError } from '../errors.ts'
import { requestId } from './request-id.ts'

const noHeaders: IncomingHttpHeaders = {}

/** What a reply is made for when no request could be read. */
export function unreadableCall(): Call {
  const id = requestId(undefined)
  return {
    method: '',
    url: '',
    path: '',
    query: '',
    headers: noHeaders,
    address: '',
    requestId: id,
    body: Buffer.alloc(0),
  }
}

/** What Node's HTTP parser reports. */
export interface ParserFault extends Error {
  readonly code?: string
  /** What had come, and how much of it was read before the fault. */
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/** RFC 9112, 3: a well-formed request line, whose method may be one that nobody knows. */
const requestLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r?\n/

/** The line in which the parser stopped. */
function faultyLine({ rawPacket, bytesParsed = 0 }: ParserFault): string {
  const start = rawPacket ? rawPacket.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) + 1 : 0
  return rawPacket?.toString('latin1', start, start + 4096) ?? ''
}

/** No path takes the method, so every method that some path takes is allowed. */
export function unknownMethod(): ApiError {
  return new ApiError('METHOD_NOT_ALLOWED', 'No path takes that method.', {
    headers: { Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
  })
}

export function parserError(error: Error): ApiError {
  const { code }: ParserFault = error
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('REQUEST_TIMEOUT')
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('BAD_REQUEST', 'The headers are too large.')
  if (code === 'HPE_INVALID_METHOD' && requestLine.test(faultyLine(error))) return unknownMethod()
  return new ApiError('BAD_REQUEST', 'This is not a well-formed HTTP request.')
}

/** A whole response as text. The connection ends after it. */
export function rawResponse(reply: Reply, constant: readonly string[], id: string): string {
  const body = typeof reply.body === 'string' ? reply.body : String(reply.body ?? '')
  const date = new Date().toUTCString()
  const headers = [...reply.headers, ...constant, 'X-Request-Id', id, 'Date', date]
  let text = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n`
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${text}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

/** How long the client may take to end its side, in milliseconds. */
const LINGER = 10_000

/**
 * Sends the last that is to be said. A client that then keeps its side open would keep the socket for good: Node no
 * longer watches over one that was handed out.
 */
function endSoon(socket: Duplex, response?: string): void {
  const timer = setTimeout(() => socket.destroy(), LINGER).unref()
  socket.once('close', () => clearTimeout(timer))
  // Else nobody would notice that the client has ended.
  socket.end(response).resume()
}

/** Node keeps the response that a socket is busy with here. */
interface BusySocket extends Duplex {
  readonly _httpMessage?: ServerResponse | null
}

/**
 * Sends `response` and ends the connection, but never into the middle of another response: an earlier
 * request of the same connection is answered first (RFC 9112, 9.3.2).
 */
export function endWith(socket: BusySocket, response: string): void {
  const busy = socket._httpMessage
  const finish = () => {
    if (socket.writable) endSoon(socket, response)
    else socket.destroy()
  }
  const isAnswered = !busy || busy.writableFinished
  // Others may come between: they begin when it is finished.
  if (!isAnswered && busy.req.complete) busy.once('finish', () => endWith(socket, response))
  // Otherwise the fault lies in the body of the request that is being answered.
  else if (!isAnswered && busy.headersSent) endSoon(socket)
  else finish()
}
