/** One subscriber: where its replies go, and which of them it has. */
import type { Group } from './groups.ts'

/** Where a subscription's replies go. */
export interface Sink {
  next(text: string): void
  /** The subscription is over. `text`: `{"errors":[…]}` when by an error. */
  end(text: string | undefined): void
}

export class Member {
  readonly sink: Sink
  group: Group | undefined
  /** Events up to this one came before the subscription, or were sent; undefined while the feed is asked for it. */
  #since: number | undefined
  /** What came meanwhile. */
  #held: { readonly event: number; readonly text: string }[] = []

  constructor(sink: Sink) {
    this.sink = sink
  }

  /** Sends the reply to an event, but never twice. */
  give(event: number, text: string): void {
    if (this.#since === undefined) this.#held.push({ event, text })
    else if (event > this.#since) {
      this.#since = event
      this.sink.next(text)
    }
  }

  /** From here on it gets what comes after `since`, first of all what came while this was not known. */
  settle(since: number): void {
    this.#since = since
    for (const { event, text } of this.#held.splice(0)) if (this.group) this.give(event, text)
  }
}
