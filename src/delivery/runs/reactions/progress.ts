/**
 * The progress of one reaction: the events that were read and are not done. An event that only the log has is done once the
 * position is past it or it is listed as done. An event that waits for a retry, or for an earlier event of its item, is
 * stored as a record, and is done once the record is deleted. So the position advances while single items wait.
 */

import { coversType } from '../../../engine/log/event-types.ts'
import { type ReactionRun, reactionRun } from '../../../engine/logic/run.ts'
import type { LogBounds, LoggedChange } from '../../../engine/plan/change-feed.ts'
import type { Model, Reaction } from '../../../model/model.ts'
import { typeOfChange } from './event.ts'

/** The maximum number of events read ahead of the position. */
const maxReadAhead = 200
/** The maximum number of stored events. At the limit, the reaction reads no further. */
const maxStored = 2000
/** The maximum number of done events after the position: then the unfinished events before them are stored. */
const maxDoneAhead = 1000

export interface ReactionProgressParts {
  readonly model: Model
  readonly reaction: Reaction
  /** All events up to this one are done or stored. */
  readonly position: number
  /** The events after the position that are done. */
  readonly doneAhead: readonly number[]
  /** Changes after an event, read once per turn for all reactions. */
  readonly read: (event: number) => Promise<readonly LoggedChange[]>
  /** Called with an event that is ready to run. */
  readonly onRun: (run: ReactionRun) => void
  /** Called with an event that must be stored: it waits for an earlier one of its item, or the position is to pass it. */
  readonly onStore: (run: ReactionRun) => void
  /** Called when events were pruned before the reaction has read them. */
  readonly onGap: (name: string, from: number, to: number) => void
}

export class ReactionProgress {
  readonly #parts: ReactionProgressParts
  /** The last event that was read. */
  #read: number
  /** Events that only the log has, in order. */
  readonly #loggedRuns = new Map<number, ReactionRun>()
  /** Stored events by item. */
  readonly #storedEvents = new Map<string, Set<number>>()
  #storedCount = 0
  /** Events after the position that are done. */
  readonly #doneAhead: Set<number>

  constructor(parts: ReactionProgressParts) {
    this.#parts = parts
    this.#read = parts.position
    this.#doneAhead = new Set(parts.doneAhead)
  }

  get name(): string {
    return this.#parts.reaction.name
  }

  /** All events up to this one are done or stored. */
  get position(): number {
    const [first] = this.#loggedRuns.keys()
    return first === undefined ? this.#read : first - 1
  }

  /** The events after the position that are done. */
  get doneAhead(): readonly number[] {
    this.#forgetPassed()
    return [...this.#doneAhead]
  }

  /** The last event that was read. */
  get read(): number {
    return this.#read
  }

  get stored(): number {
    return this.#storedCount
  }

  get isIdle(): boolean {
    return this.#loggedRuns.size === 0
  }

  /** Adds a stored event: one of an earlier session, or a dead letter that is retried. */
  restore(run: ReactionRun): void {
    this.#addStored(run)
    this.#parts.onRun(run)
  }

  /** Reads further events unless a limit is reached. `newest`: the last event of the log. Returns whether there may be more. */
  async refill(newest: number, bounds: () => Promise<LogBounds>): Promise<boolean> {
    if (this.#loggedRuns.size >= maxReadAhead || this.#storedCount >= maxStored) return false
    const changes = await this.#parts.read(this.#read)
    const isGap = changes[0] === undefined ? this.#read < newest : changes[0].event !== this.#read + 1
    if (isGap) await this.#skipGap(bounds)
    for (const change of changes) this.#addChange(change)
    return changes.length > 0 && this.#loggedRuns.size < maxReadAhead
  }

  /** Whether the event has a record. It may have got one while it ran. */
  isStored({ event, itemKey }: ReactionRun): boolean {
    return this.#storedEvents.get(itemKey)?.has(event) ?? false
  }

  /** Removes a run that has succeeded, or was given up or skipped. */
  complete(run: ReactionRun): void {
    const { event } = run
    this.#loggedRuns.delete(event)
    this.#removeStored(run)
    if (event > this.position) this.#doneAhead.add(event)
    if (this.#doneAhead.size < maxDoneAhead) return
    this.#forgetPassed()
    if (this.#doneAhead.size >= maxDoneAhead) this.#storeUnfinished()
  }

  /** Keeps a failed run, which is stored for a retry, and stores the later events of its item. */
  postpone(run: ReactionRun): void {
    this.#addStored(run)
    for (const other of [...this.#loggedRuns.values()]) {
      if (other.itemKey === run.itemKey && other.event > run.event) this.#store(other)
    }
  }

  /** Stores the events before the last one that is done, and those that wait for them, so that the position passes them. */
  #storeUnfinished(): void {
    const last = Math.max(...this.#doneAhead)
    for (const run of [...this.#loggedRuns.values()]) {
      if (run.event < last || this.#storedEvents.has(run.itemKey)) this.#store(run)
    }
    this.#forgetPassed()
  }

  #forgetPassed(): void {
    const { position } = this
    for (const event of this.#doneAhead) if (event <= position) this.#doneAhead.delete(event)
  }

  async #skipGap(bounds: () => Promise<LogBounds>): Promise<void> {
    const { pruned } = await bounds()
    if (pruned <= this.#read) return
    this.#parts.onGap(this.name, this.#read + 1, pruned)
    this.#read = pruned
  }

  #addChange(change: LoggedChange): void {
    if (change.event <= this.#read) return
    this.#read = change.event
    const { model, reaction, onRun } = this.#parts
    const type = typeOfChange(model, change)
    if (type === undefined || !reaction.types.some(pattern => coversType(pattern, type))) return
    const run = reactionRun(reaction.name, change)
    // An earlier session read it while an event before it still ran.
    if (this.#doneAhead.has(run.event) || this.isStored(run)) return
    if (this.#storedEvents.has(run.itemKey)) this.#store(run)
    else {
      this.#loggedRuns.set(run.event, run)
      onRun(run)
    }
  }

  #store(run: ReactionRun): void {
    this.#addStored(run)
    this.#parts.onStore(run)
  }

  #addStored({ event, itemKey }: ReactionRun): void {
    this.#loggedRuns.delete(event)
    const events = this.#storedEvents.get(itemKey) ?? new Set()
    this.#storedEvents.set(itemKey, events)
    if (events.has(event)) return
    events.add(event)
    this.#storedCount++
  }

  #removeStored({ event, itemKey }: ReactionRun): void {
    const events = this.#storedEvents.get(itemKey)
    if (!events?.delete(event)) return
    this.#storedCount--
    if (events.size === 0) this.#storedEvents.delete(itemKey)
  }
}
