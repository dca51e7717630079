/** Decides which replay is next: callers take turns, and a turn serves all subscribers at one position of the log. */
import type { Subscriber } from './subscriber.ts'

/** Subscribers that have replayed up to the same event: one read of the log serves them all. */
export interface Replay {
  readonly position: number
  readonly members: Set<Subscriber>
  /** Of the members when they were added: a member's rights, and with them its caller, may change while it waits. */
  readonly callers: Set<string>
}

export class ReplayQueue {
  readonly #byPosition = new Map<number, Replay>()
  /** By caller, in the order of their turns. */
  readonly #callers = new Map<string, Set<Replay>>()
  #turns = 0

  get isEmpty(): boolean {
    return this.#callers.size === 0
  }

  add(subscriber: Subscriber): void {
    const { position, caller } = subscriber
    const replay = this.#byPosition.get(position) ?? { position, members: new Set(), callers: new Set() }
    this.#byPosition.set(position, replay)
    replay.members.add(subscriber)
    replay.callers.add(caller)
    const replays = this.#callers.get(caller) ?? new Set()
    this.#callers.set(caller, replays.add(replay))
  }

  /**
   * The next replay of the caller whose turn it is. The turn counts for every caller with a subscriber in it. Turns
   * alternate between the replay nearest to the end, which is soon done, and the one furthest behind, which on its way
   * meets the caller's others.
   */
  take(): Replay | undefined {
    const [replays] = this.#callers.values()
    if (!replays) return undefined
    const [first, ...rest] = replays
    if (!first) return undefined
    const isNearer = this.#turns++ % 2 === 0
    const taken = rest.reduce((best, one) => (one.position > best.position === isNearer ? one : best), first)
    this.#remove(taken)
    return taken
  }

  #remove(replay: Replay): void {
    this.#byPosition.delete(replay.position)
    for (const caller of replay.callers) {
      const replays = this.#callers.get(caller)
      this.#callers.delete(caller)
      replays?.delete(replay)
      if (replays && replays.size > 0) this.#callers.set(caller, replays)
    }
  }
}
