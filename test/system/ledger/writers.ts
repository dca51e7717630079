/** Writers: each changes its own items, and retries a write with the same key until it is acknowledged. */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { AcknowledgedWrite, Kind } from './checker.ts'
import type { Nodes } from './connections.ts'

interface Item {
  readonly id: number
  readonly version: number
}

export interface WriteCounts {
  /** Writes that were retried because no response arrived. */
  repeated: number
}

const maxItems = 20
const retryMs = 50
const timeoutMs = 30_000

export class Writer {
  readonly #nodes: Nodes
  readonly #counts: WriteCounts
  readonly #onWritten: (written: AcknowledgedWrite) => void
  #items: readonly Item[] = []

  constructor(nodes: Nodes, counts: WriteCounts, onWritten: (written: AcknowledgedWrite) => void) {
    this.#nodes = nodes
    this.#counts = counts
    this.#onWritten = onWritten
  }

  /** One write: of ten, two create, one deletes, the others update. */
  async write(): Promise<void> {
    const item = this.#items[Math.floor(Math.random() * this.#items.length)]
    const chance = Math.random()
    if (item === undefined || (chance < 0.2 && this.#items.length < maxItems)) return this.#create()
    const others = this.#items.filter(other => other !== item)
    if (chance > 0.9) {
      await this.#send('DELETE', `/${item.id}`)
      this.#items = others
      return this.#recordWrite(item, 'deleted')
    }
    const next = { id: item.id, version: item.version + 1 }
    await this.#send('PATCH', `/${item.id}`, { version: next.version })
    this.#items = [...others, next]
    this.#recordWrite(next, 'updated')
  }

  async #create(): Promise<void> {
    const { id } = JSON.parse(await this.#send('POST', '', { version: 0 }))
    const item = { id, version: 0 }
    this.#items = [...this.#items, item]
    this.#recordWrite(item, 'created')
  }

  #recordWrite({ id, version }: Item, kind: Kind): void {
    this.#onWritten({ item: id, version, kind })
  }

  /** Returns the body of the response. Throws if the write was invalid. */
  async #send(method: string, path: string, body?: object): Promise<string> {
    const headers = {
      Authorization: `Bearer ${this.#nodes.key}`,
      'Idempotency-Key': randomUUID(),
      ...(body && { 'Content-Type': 'application/json' }),
    }
    for (;;) {
      const answer = await fetch(`${this.#nodes.url()}/api/v1/entries${path}`, {
        method,
        headers,
        body: body ? JSON.stringify(body) : null,
        signal: AbortSignal.timeout(timeoutMs),
      })
        .then(async response => ({ status: response.status, ok: response.ok, text: await response.text() }))
        .catch(() => undefined)
      if (answer?.ok) return answer.text
      // 409: the same write is still in progress, possibly on a node that was killed.
      if (answer && answer.status < 500 && answer.status !== 409)
        throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
      this.#counts.repeated += 1
      await wait(retryMs)
    }
  }
}
