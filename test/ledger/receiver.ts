/** Receives webhooks, and cuts off some deliveries: before it has taken them, or after. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Heard } from './checker.ts'
import { entryEvent, type Listener } from './connections.ts'

interface Hook {
  readonly heard: Heard
  /** How many of the next deliveries are cut off. */
  cuts: number
}

export class Receiver {
  readonly #hooks: Hook[] = []
  readonly #server = createServer((asked, answer) => {
    this.#receive(asked, answer).catch(() => answer.destroy())
  })

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
  }

  /** Where its events are to be sent, and the listener that takes them. */
  add(heard: Heard): { readonly url: string; readonly listener: Listener } {
    const hook: Hook = { heard, cuts: 0 }
    this.#hooks.push(hook)
    const { port } = this.#server.address() as AddressInfo
    const cut = () => {
      hook.cuts += 1
    }
    return {
      url: `http://127.0.0.1:${port}/${this.#hooks.length - 1}`,
      listener: { heard, cut, end: async () => {} },
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #receive(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const hook = this.#hooks[Number(asked.url?.slice(1))]
    let text = ''
    for await (const part of asked.setEncoding('utf8')) text += part
    const isCut = hook !== undefined && hook.cuts > 0
    // Taken or not is alike to the sender, which sees no answer.
    const isTaken = !isCut || hook.cuts % 2 === 0
    if (hook && isTaken) hook.heard.hear(entryEvent(JSON.parse(text)))
    if (!isCut) return void answer.writeHead(204).end()
    hook.cuts -= 1
    asked.socket.destroy()
  }
}
