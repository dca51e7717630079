/** Responses without a readable request: to malformed HTTP, headers that are too large, a request that took too long. */
import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import { requestId } from './request-id.ts'
import type { ServerSocket } from './server-socket.ts'

const noHeaders: IncomingHttpHeaders = {}

/** Stands for the request that could not be read. */
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
export interface ParserError extends Error {
  readonly code?: string
  /** The bytes that had arrived, and how many were parsed before the error. */
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/** RFC 9112, 3: a well-formed request line, possibly with an unknown method. */
const requestLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r?\n/

/** The line at which the parser stopped. */
function faultyLine({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const start = rawPacket ? rawPacket.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) + 1 : 0
  return rawPacket?.toString('latin1', start, start + 4096) ?? ''
}

/** Every method that some path accepts. */
export const allMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** Since no path accepts the method, `Allow` names every method that some path accepts. */
export function unknownMethod(): ApiError {
  return new ApiError('METHOD_NOT_ALLOWED', 'No path accepts that method.', {
    headers: { Allow: allMethods },
  })
}

export function parserError(error: Error): ApiError {
  const { code }: ParserError = error
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('REQUEST_TIMEOUT')
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ApiError('BAD_REQUEST', 'The request line and the headers together are too large.')
  if (code === 'HPE_INVALID_METHOD' && requestLine.test(faultyLine(error))) return unknownMethod()
  return new ApiError('BAD_REQUEST', 'This is not a well-formed HTTP request.')
}

/** A whole response as text. The connection ends after it. */
export function rawResponse(reply: Reply, constant: readonly string[], id: string): string {
  const body = typeof reply.body === 'string' ? reply.body : String(reply.body ?? '')
  const date = new Date().toUTCString()
  const headers = [...reply.headers, ...constant, 'X-Request-Id', id, 'Date', date]
  let text = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n`
  for (let index = 0; index < headers.length; index += 2)
    text += `${headers[index]}: ${headers[index + 1]}\r\n`
  return `${text}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

/** How long the client may take to end its side. */
const lingerMs = 10_000

/**
 * Sends the last bytes and ends our side. A client that keeps its side open would keep the socket forever: Node sets no
 * timeout on a socket that its server no longer tracks.
 */
function endWithTimeout(socket: Duplex, response?: string): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  // If it did not read, it would not notice that the client ends its side.
  socket.end(response).resume()
}

/**
 * Sends `response` and ends the connection, but never in the middle of another response: an earlier request of the same
 * connection is answered first (RFC 9112, 9.3.2).
 */
export function endWith(socket: ServerSocket, response: string): void {
  const current = socket._httpMessage
  const finish = () => {
    if (socket.writable) endWithTimeout(socket, response)
    else socket.destroy()
  }
  const isAnswered = !current || current.writableFinished
  // More responses may follow: they begin when this one is finished.
  if (!isAnswered && current.req.complete) current.once('finish', () => endWith(socket, response))
  // Otherwise the error is in the body of the request that is being answered.
  else if (!isAnswered && current.headersSent) endWithTimeout(socket)
  else finish()
}
