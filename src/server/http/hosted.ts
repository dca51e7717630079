/** Requests that the program's own server has read and passed on: their connections belong to that server. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ServerSocket } from './server-socket.ts'

type Connection = ServerResponse | Duplex

/** Responses and sockets that are still open. */
export class HostedRequests {
  readonly #open = new Set<Connection>()
  readonly #waiters: (() => void)[] = []

  add(connection: Connection): void {
    // The client has gone: no `close` event will follow.
    if (connection.closed) return
    this.#open.add(connection)
    connection.once('close', () => {
      this.#open.delete(connection)
      if (this.#open.size === 0) for (const resolve of this.#waiters.splice(0)) resolve()
    })
  }

  /** Resolves when all have ended. */
  ended(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve()
    return new Promise(resolve => this.#waiters.push(resolve))
  }

  destroyAll(): void {
    for (const connection of this.#open) connection.destroy()
  }
}

/**
 * Joins repeated headers, as Portico's own server does. A server without `joinDuplicateHeaders` drops the second
 * `Authorization` header: two credentials would pass as one.
 */
export function joinDuplicates(req: IncomingMessage): void {
  const { headers, rawHeaders } = req
  if (rawHeaders.length === Object.keys(headers).length * 2) return
  for (const [name, values = []] of Object.entries(req.headersDistinct)) {
    if (values.length > 1 && name !== 'cookie' && name !== 'set-cookie') headers[name] = values.join(', ')
  }
}

/** Whether an earlier request of the connection is still being answered: a response now would overtake or interrupt that one. */
export function isAnswering({ _httpMessage: response }: ServerSocket): boolean {
  return Boolean(response)
}

/** The request with the whole target and the removed prefix, as frameworks keep them. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: unknown
  readonly baseUrl?: unknown
}

/**
 * Throws if the framework has removed another prefix from the path than the base path: links, cookies and the fixed URLs of OAuth (RFC 8414,
 * section 3) would not work.
 */
export function requireRoot({ url = '/', originalUrl, baseUrl }: MountedRequest, basePath: string): void {
  const isCut =
    typeof originalUrl === 'string' && originalUrl.length > url.length && originalUrl.endsWith(url)
  const prefix = isCut ? originalUrl.slice(0, -url.length) : ''
  const isMounted = typeof baseUrl === 'string' && baseUrl !== '' && baseUrl !== basePath
  if (!isMounted && (prefix === '' || prefix === basePath)) return
  throw new TypeError(
    'The request came to `handler` below a prefix: mount it at the root, after your own routes, or below the path of `baseUrl`.',
  )
}

/** Throws if another handler has read the body, which would never arrive here. */
export function requireUnread(req: IncomingMessage, hasBody: boolean): void {
  if (!hasBody || !req.readableDidRead) return
  throw new TypeError(
    'The body of the request was read before the request came to `handler`: pass requests to it before any body parser.',
  )
}
