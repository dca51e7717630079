/** What the sender stores at once, and how it shares its process while it prepares that. */
import type { Awaitable } from '../../plan/answer.ts'
import type { Principal } from '../../principal.ts'
import type { Webhook } from './delivery.ts'
import type { NewDelivery } from './plans.ts'

/** After this long, other work of the process has a turn. */
const maxBlockingMs = 10

/** What the next transaction contains. */
export class Batch {
  readonly deliveries: NewDelivery[] = []
  /** By webhook. */
  readonly positions = new Map<number, number | null>()
  readonly #principals = new Map<string, Principal | undefined>()

  get size(): number {
    return this.deliveries.length + this.positions.size
  }

  countOf(webhookId: number): number {
    return this.deliveries.filter(({ webhook_id }) => webhook_id === webhookId).length
  }

  async principal(
    { id }: Webhook,
    user: number | null,
    find: () => Awaitable<Principal | undefined>,
  ): Promise<Principal | undefined> {
    const key = `${id} ${user}`
    if (!this.#principals.has(key)) this.#principals.set(key, await find())
    return this.#principals.get(key)
  }
}

/** Lets other work of the process have a turn. */
export class Turns {
  #beganAt = performance.now()

  async next(): Promise<void> {
    if (performance.now() - this.#beganAt < maxBlockingMs) return
    await new Promise(resolve => setImmediate(resolve))
    this.#beganAt = performance.now()
  }
}
