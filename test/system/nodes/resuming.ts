/** A subscriber that is disconnected and resumes after its last event, over either transport. */
import { createClient as createSseClient } from 'graphql-sse'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'

export type Transport = 'WebSocket' | 'server-sent events'

export interface ReceivedPost {
  readonly event: number
  readonly title: string
}

interface Payload {
  readonly data?: { readonly newPost: { readonly title: string } } | null
  readonly errors?: unknown
  readonly extensions?: { readonly eventId?: string } | null
}

const query = 'subscription ($after: ID) { newPost(after: $after) { title } }'

export class ResumingListener {
  readonly received: ReceivedPost[] = []
  readonly faults: unknown[] = []
  readonly #over: Transport
  readonly #key: string
  #cut: () => void = () => {}

  constructor(transport: Transport, key: string) {
    this.#over = transport
    this.#key = key
  }

  /** The id of the last event received; before the first one, that of the start of the log. */
  get after(): string {
    return String(this.received.at(-1)?.event ?? 0)
  }

  /** Disconnects, and resumes on the node at `url`. */
  connect(url: string): void {
    this.#cut()
    let isCut = false
    const sink = {
      next: (payload: unknown) => isCut || this.#take(payload as Payload),
      error: (fault: unknown) => isCut || this.faults.push(fault),
      complete: () => {},
    }
    const credential = { Authorization: `Bearer ${this.#key}` }
    const request = { query, variables: { after: this.after } }
    const end = this.#over === 'WebSocket' ? overWebSocket : overEvents
    const cut = end(url, credential, request, sink)
    this.#cut = () => {
      isCut = true
      cut()
    }
  }

  end(): void {
    this.#cut()
  }

  #take({ data, errors, extensions }: Payload): void {
    if (data) this.received.push({ event: Number(extensions?.eventId), title: data.newPost.title })
    else this.faults.push(errors)
  }
}

interface Sink {
  readonly next: (payload: unknown) => void
  readonly error: (fault: unknown) => void
  readonly complete: () => void
}

type Request = { readonly query: string; readonly variables: Record<string, unknown> }

/** If it is terminated before it is open, `ws` emits an error that graphql-ws no longer handles. */
class CutSocket extends WebSocket {
  constructor(...args: ConstructorParameters<typeof WebSocket>) {
    super(...args)
    this.on('error', () => {})
  }
}

function overWebSocket(url: string, credential: Record<string, string>, request: Request, sink: Sink) {
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: CutSocket,
    retryAttempts: 0,
    connectionParams: credential,
  })
  client.subscribe(request, sink)
  return () => client.terminate()
}

function overEvents(url: string, headers: Record<string, string>, request: Request, sink: Sink) {
  const events = createSseClient({ url: `${url}/graphql`, headers, retryAttempts: 0 })
  events.subscribe(request, sink)
  return () => events.dispose()
}
