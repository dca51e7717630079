/** A reply onto the wire. Headers are written by ourselves, as one flat list: the fastest way that Node has. */
import type { Reply } from '../call.ts'
import type { Exchange } from './exchange.ts'

/** How long the rest of a refused body is read before the connection ends, in milliseconds. */
const LINGER = 2_000

/** How long a client may read nothing of a stream that is ready for it, in milliseconds. */
const UNREAD = 60_000

/** RFC 9110: neither has a body, and a 204 has no Content-Length (8.6). */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

function byteLength(body: string | Buffer): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

/**
 * A text with as many bytes as characters is ASCII: written as latin1 it is the same, and a quarter cheaper.
 *
 * Returns the number of body bytes, or undefined while a streamed body is still on its way.
 */
export function send(
  exchange: Exchange,
  reply: Reply,
  constant: readonly string[],
  closing: boolean,
): number | undefined {
  const { res } = exchange
  const { body } = reply
  if (res.destroyed || res.headersSent) return 0
  const headers = reply.headers.concat(constant, exchange.added)
  headers.push('X-Request-Id', exchange.requestId)
  const unread = exchange.isEndless
  if (closing || unread) headers.push('Connection', 'close')
  if (body !== null && typeof body === 'object' && !Buffer.isBuffer(body)) {
    res.writeHead(reply.status, headers)
    stream(exchange, body)
    return undefined
  }
  const length = body === null ? 0 : byteLength(body)
  if (!isBodiless(reply.status)) headers.push('Content-Length', String(length))
  res.writeHead(reply.status, headers)
  const given = exchange.method === 'HEAD' || body === null || isBodiless(reply.status) ? undefined : body
  if (unread) linger(exchange, given)
  else if (given === undefined) res.end()
  else if (typeof given === 'string' && given.length === length) res.end(given, 'latin1')
  else res.end(given)
  return given === undefined ? 0 : length
}

/**
 * The client still sends a body that nobody wants. Ending the connection at once would reset it, and
 * the client would never read the answer (RFC 9112, 9.6), so what comes is dropped for a while.
 */
function linger({ req, res }: Exchange, body: string | Buffer | undefined): void {
  const end = () => {
    clearTimeout(timer)
    res.end()
  }
  const timer = setTimeout(end, LINGER)
  if (body === undefined) res.flushHeaders()
  else res.write(body)
  req.on('error', end).on('close', end).on('end', end).resume()
}

async function stream({ res, method }: Exchange, parts: AsyncIterable<string>): Promise<void> {
  const iterator = parts[Symbol.asyncIterator]()
  // Who waits for the next part must hear at once that nobody will read it.
  const leave = () => void iterator.return?.()?.catch(() => {})
  res.once('close', leave)
  if (method === 'HEAD') return void res.end()
  try {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      if (res.destroyed) return
      if (!res.write(next.value)) await drained(res)
    }
    res.off('close', leave)
    res.end()
  } catch {
    res.destroy()
  }
}

function drained(res: Exchange['res']): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      res.off('drain', done).off('close', done)
      resolve()
    }
    const timer = setTimeout(() => res.destroy(), UNREAD)
    res.on('drain', done).on('close', done)
  })
}
