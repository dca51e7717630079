/**
 * How far one reaction is. In memory it has the events that were read and are not done: what the log has is done once
 * the position is past it, what is stored beside the log (tried again later, or behind such an event of its item) once
 * its record is gone. So the position goes on while single items wait.
 */
import type { FeedBounds, LoggedChange } from '../../events/change-feed.ts'
import { coversType } from '../../events/event-types.ts'
import type { Model, Reaction } from '../../model/model.ts'
import { type ReactionRun, reactionRun } from '../runs/run.ts'
import { typeOfChange } from './event.ts'

/** Events that are read ahead of the position. */
const maxRead = 200
/** Events that are stored beside the log; the reaction reads no further then. */
const maxStored = 2000

export interface TrackParts {
  readonly model: Model
  readonly reaction: Reaction
  /** The last event that is done. */
  readonly position: number
  /** Changes after an event; those of one turn are read once for all reactions. */
  readonly read: (event: number) => Promise<readonly LoggedChange[]>
  /** Takes an event that is to be run now. */
  readonly onRun: (run: ReactionRun) => void
  /** Takes an event that waits for an earlier one of its item. */
  readonly onWaiting: (run: ReactionRun) => void
  /** Events were pruned before the reaction came to them. */
  readonly onGap: (name: string, from: number, to: number) => void
}

export class Track {
  readonly #parts: TrackParts
  /** Up to which event the log was read. */
  #read: number
  /** What the log alone has, in the order of events. */
  readonly #logged = new Map<number, ReactionRun>()
  /** By item, the ids of what is stored. */
  readonly #stored = new Map<string, Set<number>>()
  #storedCount = 0

  constructor(parts: TrackParts) {
    this.#parts = parts
    this.#read = parts.position
  }

  get name(): string {
    return this.#parts.reaction.name
  }

  /** Up to which event all are done or stored. */
  get position(): number {
    const [first] = this.#logged.keys()
    return first === undefined ? this.#read : first - 1
  }

  /** Up to which event the log was read. */
  get read(): number {
    return this.#read
  }

  get stored(): number {
    return this.#storedCount
  }

  get isIdle(): boolean {
    return this.#logged.size === 0
  }

  /** Takes up an event that a former holder stored. */
  restore(run: ReactionRun): void {
    this.#addStored(run)
    this.#parts.onRun(run)
  }

  /** Reads on where there is room. `newest`: the last event of the log. Returns whether there may be more. */
  async refill(newest: number, bounds: () => Promise<FeedBounds>): Promise<boolean> {
    if (this.#logged.size >= maxRead || this.#storedCount >= maxStored) return false
    const changes = await this.#parts.read(this.#read)
    const isGap = changes[0] === undefined ? this.#read < newest : changes[0].event !== this.#read + 1
    if (isGap) await this.#noticeGap(bounds)
    for (const change of changes) this.#take(change)
    return changes.length > 0 && this.#logged.size < maxRead
  }

  /** The run is done: succeeded, given up or skipped. */
  done({ event, itemKey }: ReactionRun): void {
    this.#logged.delete(event)
    const stored = this.#stored.get(itemKey)
    if (!stored?.delete(event)) return
    this.#storedCount--
    if (stored.size === 0) this.#stored.delete(itemKey)
  }

  /** The run has failed, and is to be stored: so is what follows of its item. */
  failed(run: ReactionRun): void {
    this.#addStored(run)
    for (const other of [...this.#logged.values()]) {
      if (other.itemKey === run.itemKey && other.event > run.event) this.#wait(other)
    }
  }

  async #noticeGap(bounds: () => Promise<FeedBounds>): Promise<void> {
    const { pruned } = await bounds()
    if (pruned <= this.#read) return
    this.#parts.onGap(this.name, this.#read + 1, pruned)
    this.#read = pruned
  }

  #take(change: LoggedChange): void {
    if (change.event <= this.#read) return
    this.#read = change.event
    const { model, reaction, onRun } = this.#parts
    const type = typeOfChange(model, change)
    if (type === undefined || !reaction.types.some(pattern => coversType(pattern, type))) return
    const run = reactionRun(reaction.name, change)
    if (this.#stored.has(run.itemKey)) this.#wait(run)
    else {
      this.#logged.set(run.event, run)
      onRun(run)
    }
  }

  #wait(run: ReactionRun): void {
    this.#addStored(run)
    this.#parts.onWaiting(run)
  }

  #addStored({ event, itemKey }: ReactionRun): void {
    this.#logged.delete(event)
    const stored = this.#stored.get(itemKey) ?? new Set()
    this.#stored.set(itemKey, stored)
    if (stored.has(event)) return
    stored.add(event)
    this.#storedCount++
  }
}
