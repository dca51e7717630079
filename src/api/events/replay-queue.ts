/** Decides which replay is next: callers take turns, and a turn serves all subscribers at one position of the log. */
import type { Subscriber } from './subscriber.ts'

/** Subscribers that have replayed up to the same event: one read of the log serves them all. */
export interface Replay {
  readonly position: number
  readonly members: Set<Subscriber>
  /** The callers of the members when these were added: a member's rights, and so its caller, may change while it waits. */
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
   * Removes and returns the next replay of the caller whose turn it is. The turn counts for every caller that has a subscriber
   * in the replay. Turns alternate between the replay nearest to the end, which finishes soon, and the one furthest behind,
   * which catches up with the caller's others.
   */
  take(): Replay | undefined {
    const [replays] = this.#callers.values()
    if (!replays) return undefined
    const [first, ...rest] = replays
    if (!first) return undefined
    const takesNearest = this.#turns++ % 2 === 0
    const next = rest.reduce(
      (best, replay) => (replay.position > best.position === takesNearest ? replay : best),
      first,
    )
    this.#remove(next)
    return next
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
