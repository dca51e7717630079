/** So many at once for each key; the others wait for their turn, in order. */
export class Turns {
  readonly #atOnce: number
  readonly #mostWaiting: number
  readonly #byKey = new Map<string, { running: number; readonly waiting: (() => void)[] }>()

  constructor(atOnce: number, mostWaiting: number) {
    this.#atOnce = atOnce
    this.#mostWaiting = mostWaiting
  }

  /** What ends the turn, once it is there, and may be called again; undefined where too many wait. */
  async take(key: string): Promise<(() => void) | undefined> {
    const known = this.#byKey.get(key) ?? { running: 0, waiting: [] }
    this.#byKey.set(key, known)
    if (known.running < this.#atOnce) known.running++
    else if (known.waiting.length >= this.#mostWaiting) return undefined
    else await new Promise<void>(resolve => known.waiting.push(resolve))
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#end(key)
    }
  }

  /** The turn passes to the next, so that nobody comes between. */
  #end(key: string): void {
    const known = this.#byKey.get(key)
    if (!known) return
    const next = known.waiting.shift()
    if (next) next()
    else known.running--
    if (known.running === 0) this.#byKey.delete(key)
  }
}
