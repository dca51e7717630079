/** The batch that the sender stores in one transaction, and how it yields to other work while it prepares the batch. */
import type { Awaitable } from '../../base/awaitable.ts'
import type { Principal } from '../../base/principal.ts'
import type { Webhook } from './delivery.ts'
import type { NewDelivery } from './plans.ts'

/** The longest time for which the sender blocks the event loop. */
const maxBlockingMs = 10

/** The contents of the next transaction. */
export class DeliveryBatch {
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
    userId: number | null,
    findPrincipal: () => Awaitable<Principal | undefined>,
  ): Promise<Principal | undefined> {
    const key = `${id} ${userId}`
    if (!this.#principals.has(key)) this.#principals.set(key, await findPrincipal())
    return this.#principals.get(key)
  }
}

/** Gives other work of the process a turn. */
export class Turns {
  #beganAt = performance.now()

  async next(): Promise<void> {
    if (performance.now() - this.#beganAt < maxBlockingMs) return
    await new Promise(resolve => setImmediate(resolve))
    this.#beganAt = performance.now()
  }
}
