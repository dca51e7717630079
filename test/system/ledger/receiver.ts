/** Receives webhooks, and cuts some deliveries off before or after it has recorded them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ReceivedEvents } from './checker.ts'
import { entryEvent, type Listener } from './connections.ts'

interface Hook {
  readonly received: ReceivedEvents
  /** The number of the next deliveries to cut off. */
  cuts: number
}

export class Receiver {
  readonly #hooks: Hook[] = []
  readonly #server = createServer((request, response) => {
    this.#receive(request, response).catch(() => response.destroy())
  })

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
  }

  /** The URL for its events, and the subscriber that records them. */
  add(received: ReceivedEvents): { readonly url: string; readonly listener: Listener } {
    const hook: Hook = { received, cuts: 0 }
    this.#hooks.push(hook)
    const { port } = this.#server.address() as AddressInfo
    const cut = () => {
      hook.cuts += 1
    }
    return {
      url: `http://127.0.0.1:${port}/${this.#hooks.length - 1}`,
      listener: { received, cut, end: async () => {} },
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hook = this.#hooks[Number(request.url?.slice(1))]
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += part
    const isCut = hook !== undefined && hook.cuts > 0
    // The sender sees no response in either case.
    const isTaken = !isCut || hook.cuts % 2 === 0
    if (hook && isTaken) hook.received.add(entryEvent(JSON.parse(text)))
    if (!isCut) return void response.writeHead(204).end()
    hook.cuts -= 1
    request.socket.destroy()
  }
}
