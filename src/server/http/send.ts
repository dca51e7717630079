/** Writes replies to connections. */
import { type CachedHead, emptyHead, type Reply, type StreamedBody } from '../../base/call.ts'
import type { Exchange } from './exchange.ts'
import { headerLines, headersIn, isBodiless, responseEnder, statusLine } from './header-block.ts'

/** How long the rest of a refused body is read before the connection ends. */
const lingerMs = 10_000

/** A longer text is sent as bytes. */
const maxTextLength = 1024 * 1024

/** How long a client may take to read a part of a stream. */
const maxUnreadMs = 60_000

/** The pause after the first probe of a silent stream; each pause is twice as long as the one before. */
const firstProbePauseMs = 50
const maxProbePauseMs = 5000

const empty = Buffer.alloc(0)

function byteLength(body: Reply['body']): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return Buffer.isBuffer(body) ? body.length : 0
}

export interface SendOptions {
  /** Flat headers of every response. */
  readonly constant: readonly string[]
  /** How long an idle connection is kept. */
  readonly keepAliveSeconds: number
  /** Called when a streamed body fails: the client sees an incomplete response. */
  readonly onFault: (error: unknown, exchange: Exchange) => void
}

/** Returns the number of body bytes; undefined for a streamed body, which is sent later. */
export type Send = (exchange: Exchange, reply: Reply, closing: boolean) => number | undefined

export function createSend(options: SendOptions): Send {
  const { constant, keepAliveSeconds } = options
  const endResponse = responseEnder(keepAliveSeconds)
  const constantLines = headerLines(constant)

  const fillHead = (reply: Reply, cached: CachedHead): void => {
    cached.bodyBytes = byteLength(reply.body)
    const length = isBodiless(reply.status) ? '' : `Content-Length: ${cached.bodyBytes}\r\n`
    cached.head = statusLine(reply.status) + headerLines(reply.headers) + constantLines + length
  }
  return (exchange, reply, closing) => {
    const { res } = exchange
    const { body, status } = reply
    if (res.destroyed || res.headersSent) return discard(body)
    if (closing || !canUseFastPath(exchange, body)) return sendByWriteHead(exchange, reply, options, closing)
    const cached = reply.cachedHead ?? emptyHead()
    if (cached.head === '') fillHead(reply, cached)
    const head = `${cached.head}${exchange.headerLines}X-Request-Id: ${exchange.requestId}\r\n`
    if (body === null || exchange.method === 'HEAD' || isBodiless(status)) {
      endResponse(res, status, head, undefined)
      return 0
    }
    // A text with as many bytes as characters is ASCII, which is the same in Latin-1.
    const encoding = body.length === cached.bodyBytes ? 'latin1' : 'utf8'
    endResponse(res, status, head, { content: encoded(body, encoding), encoding })
    return cached.bodyBytes
  }
}

/** Node would join a long text with the header lines, which copies it twice. */
function encoded(body: string | Buffer, encoding: 'latin1' | 'utf8'): string | Buffer {
  return typeof body === 'string' && body.length > maxTextLength ? Buffer.from(body, encoding) : body
}

/** Called when the body is not sent: a stream must be stopped. */
function discard(body: Reply['body']): number {
  if (isStream(body)) stopIterator(body[Symbol.asyncIterator]())
  return 0
}

function isStream(body: Reply['body']): body is StreamedBody {
  return body !== null && typeof body === 'object' && !Buffer.isBuffer(body)
}

function stopIterator(iterator: AsyncIterator<string | Buffer>): void {
  iterator.return?.().catch(() => {})
}

/**
 * Whether the fast path applies: a body that is not streamed, on a connection that the client may reuse. The program's own
 * server has headers and a keep-alive timeout of its own.
 */
function canUseFastPath(exchange: Exchange, body: Reply['body']): body is string | Buffer | null {
  if (isStream(body) || exchange.isHosted) return false
  // Account pages set cookies on the response itself.
  if (exchange.res.hasHeader('set-cookie')) return false
  return exchange.req.httpVersionMinor === 1 && !exchange.isUnread
}

function sendByWriteHead(
  exchange: Exchange,
  reply: Reply,
  { constant, onFault }: SendOptions,
  closing: boolean,
): number | undefined {
  const { res } = exchange
  const { body, status } = reply
  const headers = [
    ...reply.headers,
    ...constant,
    ...headersIn(exchange.headerLines),
    'X-Request-Id',
    exchange.requestId,
  ]
  const mustLinger = exchange.hasUndrainableBody
  if (closing || mustLinger) headers.push('Connection', 'close')
  if (isStream(body)) {
    res.writeHead(status, headers)
    // The stream may last for days: the request body must not be kept for as long.
    exchange.body = empty
    stream(exchange, body).catch(error => {
      onFault(error, exchange)
      breakOff(exchange)
    })
    return undefined
  }
  const length = byteLength(body)
  if (!isBodiless(status)) headers.push('Content-Length', String(length))
  res.writeHead(status, headers)
  const sentBody = exchange.method === 'HEAD' || body === null || isBodiless(status) ? undefined : body
  if (mustLinger) linger(exchange, sentBody)
  else res.end(sentBody)
  return sentBody === undefined ? 0 : length
}

/** Without chunks (HTTP/1.0), a connection that is closed looks like the end of the body: it is reset. */
function breakOff({ req, res }: Exchange): void {
  if (req.httpVersionMinor === 0) res.socket?.resetAndDestroy()
  res.destroy()
}

/**
 * The client is still sending a body that is not needed. Ending the connection at once would reset it, and the client
 * would never read the response (RFC 9112, 9.6), so the body is read and dropped for a while.
 */
function linger({ req, res }: Exchange, body: string | Buffer | undefined): void {
  const end = () => {
    clearTimeout(timer)
    res.end()
  }
  const timer = setTimeout(end, lingerMs)
  if (body === undefined) res.flushHeaders()
  else res.write(body)
  req.on('error', end).on('close', end).on('end', end).resume()
}

async function stream(exchange: Exchange, parts: StreamedBody): Promise<void> {
  const { res, method } = exchange
  const iterator = parts[Symbol.asyncIterator]()
  // A generator that waits for its next part stops at once when the client has gone.
  const onClose = () => stopIterator(iterator)
  res.once('close', onClose)
  if (method === 'HEAD') return void res.end()
  if (parts.probe !== undefined) probeReader(exchange, parts.probe)
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    if (res.destroyed) return
    if (!res.write(next.value)) await waitForDrain(res)
  }
  res.off('close', onClose)
  res.end()
}

/**
 * Finds out whether a client that has ended its side still reads: if it has gone, its system resets the connection after the
 * first write, and the next write fails. The pauses between the writes grow, since the reset may take long to arrive.
 */
function probeReader({ req: { socket }, res }: Exchange, probe: string): void {
  let timer: NodeJS.Timeout | undefined
  const write = (pauseMs: number) => {
    if (res.writableEnded) return
    res.write(probe)
    if (pauseMs < maxProbePauseMs) timer = setTimeout(write, pauseMs, 2 * pauseMs).unref()
  }
  const begin = () => write(firstProbePauseMs)
  if (socket.readableEnded) begin()
  else socket.once('end', begin)
  res.once('close', () => {
    clearTimeout(timer)
    socket.off('end', begin)
  })
}

function waitForDrain(res: Exchange['res']): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      res.off('drain', done).off('close', done)
      resolve()
    }
    const timer = setTimeout(() => res.destroy(), maxUnreadMs)
    res.on('drain', done).on('close', done)
  })
}
