/** First in, first out, for many thousands: taking the first out of an array costs as much as there are behind it. */

/** The rest is moved up when so many have left. */
const MOVE_UP = 1024

export class Queue<T> {
  #items: T[] = []
  /** Where it begins. */
  #first = 0

  get length(): number {
    return this.#items.length - this.#first
  }

  get first(): T | undefined {
    return this.#items[this.#first]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Takes the first one out. */
  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.first
    this.#first++
    if (this.#first >= MOVE_UP || this.#first === this.#items.length) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return item
  }
}
