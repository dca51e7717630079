/**
 * Precomputed header blocks. Node's `writeHead` checks and joins every header of every response, which takes a third of a
 * bare request with eighteen headers. Here the constant part is joined once.
 *
 * The block is passed to Node in `_header`, where `writeHead` also puts its text, and which `end` writes before the body.
 * That is not documented, so each process first compares what both ways write, and uses the documented one if they
 * differ: see `decisions/http-server.md`.
 */
import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** Members of Node's response that its types omit. */
interface RawResponse {
  _header: string | null
  _last: boolean
  _hasBody: boolean
}

/** RFC 9110, 5.5: no control characters. Node refuses the same. */
const forbidden = /[^\t\x20-\x7e\x80-\xff]/

/** Header lines. Throws a `TypeError` for a value that would break out of its line. */
export function headerLines(headers: readonly string[]): string {
  let lines = ''
  for (let index = 0; index < headers.length; index += 2) {
    const value = headers[index + 1] ?? ''
    if (forbidden.test(value))
      throw new TypeError(`The header ${headers[index]} contains a character that no header may contain.`)
    lines += `${headers[index]}: ${value}\r\n`
  }
  return lines
}

/** The inverse of `headerLines`. */
export function headersIn(lines: string): string[] {
  return lines
    .split('\r\n')
    .slice(0, -1)
    .flatMap(line => line.split(/: (.*)/s, 2))
}

export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
}

let date = ''
let dateUntil = 0

function dateLine(): string {
  const now = Date.now()
  if (now >= dateUntil || now < dateUntil - 1000) {
    dateUntil = now - (now % 1000) + 1000
    date = `Date: ${new Date(now).toUTCString()}\r\n`
  }
  return date
}

/** Whether responses with this status have no body (RFC 9110, 6.4.1). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

/** A text with one byte per character is sent as Latin-1, which costs less than UTF-8. */
export interface EncodedBody {
  readonly content: string | Buffer
  readonly encoding: 'latin1' | 'utf8'
}

/**
 * Writes and ends a response to an HTTP/1.1 request. `head`: the status line and the header lines, with
 * Content-Length if the response has a body, without Date, Connection and Keep-Alive.
 */
export type EndResponse = (
  res: ServerResponse,
  status: number,
  head: string,
  body: EncodedBody | undefined,
) => void

function end(res: ServerResponse, body: EncodedBody | undefined): void {
  if (body === undefined) res.end()
  else res.end(body.content, body.encoding)
}

/** The fast path: writes the precomputed block. */
export function createFastEnder(keepAliveSeconds: number): EndResponse {
  const persistent = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n\r\n`
  return (res, status, head, body) => {
    const raw = res as unknown as RawResponse
    res.statusCode = status
    if (isBodiless(status)) raw._hasBody = false
    // `_last`: the client has ended its side.
    if (res.shouldKeepAlive && !raw._last) {
      raw._header = head + dateLine() + persistent
    } else {
      raw._last = true
      raw._header = `${head}${dateLine()}Connection: close\r\n\r\n`
    }
    end(res, body)
  }
}

/** Writes and ends the response in the documented way. */
export const endByWriteHead: EndResponse = (res, status, head, body) => {
  res.writeHead(status, headersIn(head.slice(head.indexOf('\r\n') + 2)))
  end(res, body)
}

/** What a function writes, and the state in which it leaves the response. */
function outcome(
  endResponse: EndResponse,
  keepAliveSeconds: number,
  [status, content, isPersistent]: Sample,
): unknown {
  let text = ''
  const socket = new Duplex({
    decodeStrings: false,
    read() {},
    write(chunk, encoding, done) {
      text += `${encoding} ${chunk}`
      done()
    },
  })
  const request = new IncomingMessage(socket as Socket)
  Object.assign(request, { method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 })
  const res = new ServerResponse(request)
  Object.assign(res, { shouldKeepAlive: isPersistent, _keepAliveTimeout: keepAliveSeconds * 1000 })
  res.assignSocket(socket as Socket)
  const length = content === undefined ? '' : `Content-Length: ${content.length}\r\n`
  const body: EncodedBody | undefined = content === undefined ? undefined : { content, encoding: 'latin1' }
  endResponse(res, status, `${statusLine(status)}Vary: Accept\r\n${length}`, body)
  const { _last: last } = res as unknown as RawResponse
  return JSON.stringify([
    text.replace(/Date: .*/, ''),
    last,
    res.headersSent,
    res.statusCode,
    res.writableEnded,
  ])
}

type Sample = readonly [status: number, content: string | undefined, isPersistent: boolean]

const samples: readonly Sample[] = [
  [200, 'a text', true],
  [200, 'a text', false],
  [304, undefined, true],
  [204, undefined, false],
]

/** Whether both functions write the same on this version of Node. */
export function writesAlike(first: EndResponse, second: EndResponse, keepAliveSeconds: number): boolean {
  try {
    return samples.every(
      sample => outcome(first, keepAliveSeconds, sample) === outcome(second, keepAliveSeconds, sample),
    )
  } catch {
    return false
  }
}

/** The fast path if this version of Node allows it. `keepAliveSeconds`: how long an idle connection is kept. */
export function responseEnder(keepAliveSeconds: number): EndResponse {
  const fast = createFastEnder(keepAliveSeconds)
  return writesAlike(fast, endByWriteHead, keepAliveSeconds) ? fast : endByWriteHead
}
