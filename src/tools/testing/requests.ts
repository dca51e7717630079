/** HTTP requests to a service in this process, over connections in memory. */

import { type IncomingMessage, request, type Server } from 'node:http'
import { type Duplex, duplexPair, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parseJson } from '../../base/json.ts'

export interface TestResponse {
  readonly status: number
  /** By name, in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
  /** The parsed body; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: only the test knows the type of the body.
  readonly body: any
}

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent unchanged. */
  readonly body: unknown
}

/** The server's ends of the connections of `fetchInMemory`. */
const clientSockets = new WeakSet<object>()

/** Whether a request came by `fetchInMemory`. */
export function isOfClient({ socket }: Pick<IncomingMessage, 'socket'>): boolean {
  return clientSockets.has(socket)
}

/** Sends a request on a new connection. Rejects if the service closes it without a response. */
export async function sendInMemory(server: Server, sent: SentRequest): Promise<TestResponse> {
  const [client, peer] = duplexPair()
  const response = await exchange(server, { client, peer }, sent)
  const responseText = await text(response)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: responseText,
    body: parseJson(responseText),
  }
}

/** A `fetch` with the features that `portico/client` uses: bodies are strings, headers an object. */
export function fetchInMemory(server: Server): typeof fetch {
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    const { pathname, search } = new URL(String(url))
    const sent = {
      method,
      path: pathname + search,
      headers: headers as SentRequest['headers'],
      body: body ?? undefined,
    }
    const [client, peer] = duplexPair()
    clientSockets.add(peer)
    const response = await exchange(server, { client, peer }, sent, signal ?? undefined)
    const { statusCode: status = 0 } = response
    const isEmpty = status === 204
    if (isEmpty) response.resume()
    const responseHeaders = Object.entries(response.headers).map(
      ([name, value]) => [name, String(value)] as const,
    )
    return new Response(isEmpty ? null : (Readable.toWeb(response) as ReadableStream), {
      status,
      headers: Object.fromEntries(responseHeaders),
    })
  }
}

/** The two ends of a connection. */
interface ConnectionEnds {
  readonly client: Duplex
  readonly peer: Duplex
}

async function exchange(
  server: Server,
  { client, peer }: ConnectionEnds,
  sent: SentRequest,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  server.emit('connection', peer)
  const { method, path, body } = sent
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const headers = {
    host: 'localhost',
    connection: 'close',
    ...(payload !== undefined && { 'content-type': 'application/json' }),
    ...sent.headers,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({
      createConnection: () => client,
      method,
      path,
      headers,
      ...(signal && { signal }),
    })
    outgoing.once('response', response => resolve(response.once('close', () => client.destroy())))
    outgoing.once('error', reject).end(payload)
  })
}
