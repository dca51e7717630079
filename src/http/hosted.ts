/** Requests that a server of the program has read, and hands over: their connections belong to that server. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

type Connected = ServerResponse | Duplex

/** What has not ended yet. */
export class HostedRequests {
  readonly #open = new Set<Connected>()
  readonly #waiting: (() => void)[] = []

  add(one: Connected): void {
    // The client has gone: no `close` event will follow.
    if (one.closed) return
    this.#open.add(one)
    one.once('close', () => {
      this.#open.delete(one)
      if (this.#open.size === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    })
  }

  /** Resolves when none is left. */
  ended(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  destroyAll(): void {
    for (const one of this.#open) one.destroy()
  }
}

/**
 * A server without `joinDuplicateHeaders` drops the second `Authorization`, and others that come once as a rule: two
 * credentials would pass as one. Joins them, as Portico's own server does.
 */
export function joinDuplicates(req: IncomingMessage): void {
  const { headers, rawHeaders } = req
  if (rawHeaders.length === Object.keys(headers).length * 2) return
  for (const [name, values = []] of Object.entries(req.headersDistinct)) {
    if (values.length > 1 && name !== 'cookie' && name !== 'set-cookie') headers[name] = values.join(', ')
  }
}

/** Node keeps the response that a socket is busy with here. */
interface BusySocket extends Duplex {
  readonly _httpMessage?: ServerResponse | null
}

/** Whether an earlier request of the connection is still being answered: what is written now would stand in between. */
export function isAnswering({ _httpMessage: busyWith }: BusySocket): boolean {
  return Boolean(busyWith)
}

/** Frameworks keep the whole target, and what they have cut off, here. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: unknown
  readonly baseUrl?: unknown
}

/**
 * Throws where the framework has cut a prefix off the path: links, cookies and the addresses of OAuth, which are fixed
 * (RFC 8414, section 3), would lead nowhere.
 */
export function requireRoot({ url = '/', originalUrl, baseUrl }: MountedRequest): void {
  const isCut =
    typeof originalUrl === 'string' && originalUrl.length > url.length && originalUrl.endsWith(url)
  const isMounted = typeof baseUrl === 'string' && baseUrl !== ''
  if (!isCut && !isMounted) return
  throw new TypeError(
    'The request came to `handler` below a prefix: mount it at the root, after your own routes, or give it a host name of its own.',
  )
}

/** Throws where another handler has read the body: to wait for it would take until the client gives up. */
export function requireUnread(req: IncomingMessage, hasBody: boolean): void {
  if (!hasBody || !req.readableDidRead) return
  throw new TypeError(
    'The body of the request was read before the request came to `handler`: pass requests to it before any body parser.',
  )
}
