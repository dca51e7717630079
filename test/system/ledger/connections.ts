/** Subscribers over connections that can be cut, and from which they resume. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { EntryEvent, Kind, ReceivedEvents } from './checker.ts'

export interface Listener {
  readonly received: ReceivedEvents
  /** Breaks the current connection, if any; the subscriber resumes on another one. */
  cut(): void
  /** Closes it permanently. */
  end(): Promise<void>
}

export interface Nodes {
  /** The URL of a node, a different one for each call; the node need not run. */
  readonly url: () => string
  readonly key: string
}

/** One connection: reads events from the subscriber's position until it breaks. */
type Connect = (received: ReceivedEvents, nodes: Nodes, connection: Connection) => Promise<void>

class Connection {
  #close = (): void => {}

  /** Breaks it. */
  setClose(close: () => void): void {
    this.#close = close
  }

  close(): void {
    this.#close()
  }
}

const retryMs = 50

class ResumingListener implements Listener {
  readonly received: ReceivedEvents
  #connection = new Connection()
  #hasEnded = false
  readonly #ended: Promise<void>

  constructor(received: ReceivedEvents, nodes: Nodes, connect: Connect) {
    this.received = received
    this.#ended = this.#run(nodes, connect)
  }

  cut(): void {
    this.#connection.close()
  }

  async end(): Promise<void> {
    this.#hasEnded = true
    this.cut()
    await this.#ended
  }

  async #run(nodes: Nodes, connect: Connect): Promise<void> {
    while (!this.#hasEnded) {
      this.#connection = new Connection()
      // Resumes whether the connection was cut, refused or closed by the node.
      await connect(this.received, nodes, this.#connection).catch(() => {})
      if (!this.#hasEnded) await wait(retryMs)
    }
  }
}

interface SentEvent {
  readonly id: string
  readonly type: string
  readonly item_id: number
  readonly data: { readonly version: number }
}

/** The event in the form of REST and webhooks. */
export function entryEvent({ id, type, item_id: item, data }: SentEvent): EntryEvent {
  return { id: Number(id), kind: type.slice('entry.'.length) as Kind, item, version: data.version }
}

function types({ kinds }: ReceivedEvents): string {
  return kinds.map(kind => `entry.${kind}`).join(',')
}

/** Throws if the status is not 200. */
function open(
  url: string,
  headers: Readonly<Record<string, string>>,
  agent: Agent | false,
  connection: Connection,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers })
    connection.setClose(() => sent.destroy())
    sent.on('error', reject)
    sent.on('response', answer => {
      if (answer.statusCode === 200) return resolve(answer)
      answer.resume()
      reject(new Error(`status ${answer.statusCode}`))
    })
    sent.end()
  })
}

const overEventStream: Connect = async (received, { url, key }, connection) => {
  const headers = {
    Authorization: `Bearer ${key}`,
    Accept: 'text/event-stream',
    'Last-Event-ID': String(received.last),
  }
  const path = `${url()}/api/v1/events?collections=entries&types=${types(received)}`
  let rest = ''
  for await (const part of (await open(path, headers, false, connection)).setEncoding('utf8')) {
    const blocks = (rest + part).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data !== undefined) received.add(entryEvent(JSON.parse(data)))
    }
  }
}

const overLongPoll: Connect = async (received, { url, key }, connection) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const origin = url()
  const headers = { Authorization: `Bearer ${key}` }
  let after = String(received.last)
  try {
    for (;;) {
      const path = `/api/v1/events?collections=entries&types=${types(received)}&limit=1000&wait=5&after=${after}`
      let text = ''
      const answer = await open(origin + path, headers, agent, connection)
      for await (const part of answer.setEncoding('utf8')) text += part
      const { data, meta } = JSON.parse(text)
      for (const event of data) received.add(entryEvent(event))
      after = meta.next_after
    }
  } finally {
    agent.destroy()
  }
}

const topics: Readonly<Record<Kind, string>> = {
  created: 'newEntry',
  updated: 'entryUpdated',
  deleted: 'entryDeleted',
}

interface Message {
  readonly type: string
  readonly payload?: {
    readonly data?: Readonly<Record<string, { readonly id: string; readonly version: number }>>
    readonly extensions?: { readonly eventId?: string }
  }
}

/** One connection for each kind of event, because each is a subscription of its own. */
const overWebSocket: Connect = (received, { url, key }, connection) => {
  const [kind = 'created'] = received.kinds
  const topic = topics[kind]
  const query = `subscription ($after: ID) { ${topic}(after: $after) { id version } }`
  const socket = new WebSocket(`${url().replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const send = (message: object) => socket.send(JSON.stringify(message))
  connection.setClose(() => socket.terminate())
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.on('error', () => {}).on('close', () => resolve())
  socket.on('open', () => send({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } }))
  socket.on('message', text => {
    const { type, payload }: Message = JSON.parse(String(text))
    const item = payload?.data?.[topic]
    if (type === 'connection_ack') {
      send({ id: '1', type: 'subscribe', payload: { query, variables: { after: String(received.last) } } })
    } else if (type === 'ping') send({ type: 'pong' })
    else if (type === 'next' && item) {
      const id = Number(payload?.extensions?.eventId)
      received.add({ id, kind, item: Number(item.id), version: item.version })
    } else socket.terminate()
  })
  return promise
}

const connectors = {
  'event stream': overEventStream,
  'long poll': overLongPoll,
  WebSocket: overWebSocket,
} as const

export type StreamTransport = keyof typeof connectors

export function listen(transport: StreamTransport, received: ReceivedEvents, nodes: Nodes): Listener {
  return new ResumingListener(received, nodes, connectors[transport])
}
