/** HTTP requests to a service in this process, over connections in memory. */
import { type IncomingMessage, request, type Server } from 'node:http'
import { duplexPair, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

export interface TestResponse {
  readonly status: number
  /** By name, in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
  /** The parsed body; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: what an answer contains is for the test to say.
  readonly body: any
}

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent unchanged. */
  readonly body: unknown
}

/** Sends a request on a connection of its own. Rejects if the service closes it without an answer. */
export async function sendInMemory(server: Server, sent: SentRequest): Promise<TestResponse> {
  const answer = await exchange(server, sent)
  const received = await text(answer)
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: received, body: parsed(received) }
}

/** `fetch` as far as `portico/client` uses it: bodies are strings, headers an object. */
export function fetchInMemory(server: Server): typeof fetch {
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    const { pathname, search } = new URL(String(url))
    const sent = {
      method,
      path: pathname + search,
      headers: headers as SentRequest['headers'],
      body: body ?? undefined,
    }
    const answer = await exchange(server, sent, signal ?? undefined)
    const { statusCode: status = 0 } = answer
    const isEmpty = status === 204
    if (isEmpty) answer.resume()
    const given = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const)
    return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream), {
      status,
      headers: Object.fromEntries(given),
    })
  }
}

async function exchange(server: Server, sent: SentRequest, signal?: AbortSignal): Promise<IncomingMessage> {
  const [client, peer] = duplexPair()
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
    outgoing.once('response', answer => resolve(answer.once('close', () => client.destroy())))
    outgoing.once('error', reject).end(payload)
  })
}

function parsed(received: string): unknown {
  try {
    return JSON.parse(received)
  } catch {
    return undefined
  }
}
