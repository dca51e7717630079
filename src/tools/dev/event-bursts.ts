/** Folds the lines of many events at once, as an import causes them: a few are shown, the others are counted. */

/** An event as the log of `portico dev` shows it. */
export interface ShownEvent {
  readonly event: number
  readonly type: string
}

/** The events of a burst that are not shown one by one. */
export interface FoldedEvents {
  readonly count: number
  /** How many there are of each type. */
  readonly types: Readonly<Record<string, number>>
  /** The numbers of the first and of the last one. */
  readonly first: number
  readonly last: number
}

export interface EventOutput<Event extends ShownEvent> {
  one(event: Event): void
  folded(events: FoldedEvents): void
}

/** In one window, so many events have lines of their own. */
const maxLines = 10
/** While a burst lasts, it has one line per window. */
const windowMs = 2000

export class EventBursts<Event extends ShownEvent> {
  readonly #output: EventOutput<Event>
  #timer: NodeJS.Timeout | undefined
  #shown = 0
  #types = new Map<string, number>()
  #first = 0
  #last = 0

  constructor(output: EventOutput<Event>) {
    this.#output = output
  }

  add(event: Event): void {
    this.#timer ??= setTimeout(() => this.#endWindow(), windowMs).unref()
    if (this.#shown < maxLines) {
      this.#shown++
      this.#output.one(event)
      return
    }
    if (this.#types.size === 0) this.#first = event.event
    this.#last = event.event
    this.#types.set(event.type, (this.#types.get(event.type) ?? 0) + 1)
  }

  /** Shows what was counted so far. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#types.size === 0) return
    const count = this.#types.values().reduce((sum, next) => sum + next, 0)
    const types = Object.fromEntries(this.#types)
    this.#types = new Map()
    this.#output.folded({ count, types, first: this.#first, last: this.#last })
  }

  /** The burst goes on while a window has more events than it could show. */
  #endWindow(): void {
    const isBurst = this.#types.values().reduce((sum, next) => sum + next, 0) > maxLines
    this.flush()
    this.#shown = isBurst ? maxLines : 0
    // In a quiet window after a burst, events have lines again.
    if (isBurst) this.#timer = setTimeout(() => this.#endWindow(), windowMs).unref()
  }
}
