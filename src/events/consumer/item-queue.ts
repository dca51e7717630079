/** The deliveries of one item to one webhook, in the order of their events. */
import type { Delivery } from './delivery.ts'

export class ItemQueue {
  readonly key: string
  /** Whether the first delivery is being attempted. */
  isRunning = false
  /** For when it is to be looked at again. */
  plannedAt: number | undefined
  readonly #deliveries: Delivery[] = []

  constructor(key: string) {
    this.key = key
  }

  get head(): Delivery | undefined {
    return this.#deliveries[0]
  }

  get lowestEvent(): number | undefined {
    return this.head?.event ?? undefined
  }

  /** Returns whether it was new. One that is being attempted stays the first. */
  add(delivery: Delivery): boolean {
    const deliveries = this.#deliveries
    const known = deliveries.findIndex(({ id }) => id === delivery.id)
    if (known !== -1) {
      if (known > 0 || !this.isRunning) deliveries[known] = delivery
      return false
    }
    let index = deliveries.length
    const first = this.isRunning ? 1 : 0
    while (index > first && isBefore(delivery, deliveries[index - 1])) index--
    deliveries.splice(index, 0, delivery)
    return true
  }

  replace(delivery: Delivery, by: Delivery): void {
    const index = this.#deliveries.indexOf(delivery)
    if (index !== -1) this.#deliveries[index] = by
  }

  remove(delivery: Delivery): void {
    const index = this.#deliveries.indexOf(delivery)
    if (index !== -1) this.#deliveries.splice(index, 1)
  }
}

function isBefore(one: Delivery, other: Delivery | undefined): boolean {
  return other !== undefined && (one.event ?? 0) < (other.event ?? 0)
}
