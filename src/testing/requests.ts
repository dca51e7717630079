/** HTTP requests to a service of this process, over connections in memory. */
import { type IncomingMessage, request, type Server } from 'node:http'
import { duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'

export interface TestResponse {
  readonly status: number
  /** By name, in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
  /** The parsed body; undefined where it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: what an answer contains is for the test to say.
  readonly body: any
}

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON, a string as it is. */
  readonly body: unknown
}

/** Sends a request on a connection of its own. Rejects where the service ends it without an answer. */
export async function sendInMemory(server: Server, sent: SentRequest): Promise<TestResponse> {
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
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({ createConnection: () => client, method, path, headers })
    outgoing.once('response', resolve).once('error', reject)
    outgoing.end(payload)
  })
  const received = await text(answer)
  client.destroy()
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: received, body: parsed(received) }
}

function parsed(received: string): unknown {
  try {
    return JSON.parse(received)
  } catch {
    return undefined
  }
}
