/** The connections of one purpose, and which of them are free. */
import { ConnectionLost } from './failure.ts'
import type { Wire } from './wire.ts'

export const AWAY = 'The database cannot be reached.'

/** After a failed try to connect, what is asked is refused at once for so long, in milliseconds. */
const PAUSE = 200

export class Wires {
  readonly #open: () => Promise<Wire>
  readonly #all = new Set<Wire>()
  readonly #idle: Wire[] = []
  #pausedUntil = 0

  constructor(open: () => Promise<Wire>) {
    this.#open = open
  }

  /** How many are open. */
  get size(): number {
    return this.#all.size
  }

  /** Whether none is open, and none could be opened just now. */
  get isAway(): boolean {
    return this.#all.size === 0 && performance.now() < this.#pausedUntil
  }

  /** One that is free. */
  take(): Wire | undefined {
    for (let wire = this.#idle.pop(); wire !== undefined; wire = this.#idle.pop()) {
      if (!wire.isClosed) return wire
    }
    return undefined
  }

  /** One more, which is free once it is given back. Rejects with `ConnectionLost`. */
  async open(): Promise<Wire> {
    try {
      const wire = await this.#open()
      this.#all.add(wire)
      wire.onClose(() => this.#all.delete(wire))
      return wire
    } catch (cause) {
      this.#pausedUntil = performance.now() + PAUSE
      throw cause
    }
  }

  /** One that is free, or one more. Rejects with `ConnectionLost`, at once while the database is away. */
  async one(): Promise<Wire> {
    const wire = this.take()
    if (wire !== undefined) return wire
    if (this.isAway) throw new ConnectionLost(AWAY)
    return this.open()
  }

  giveBack(wire: Wire): void {
    if (!wire.isClosed) this.#idle.push(wire)
  }

  /** Ends those that nobody uses: they may be as dead as another that was found so. */
  dropIdle(): void {
    for (const wire of this.#idle.splice(0)) wire.destroy()
  }

  /** The database is known to be away: no connection is of use any more. */
  lose(): void {
    this.#pausedUntil = performance.now() + PAUSE
    for (const wire of [...this.#all]) wire.destroy()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map(wire => wire.close()))
  }
}
