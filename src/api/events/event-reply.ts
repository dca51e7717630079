/** The reply to one event for every subscriber of a group, and how fast such replies are sent. */

/** From this length on, connections share the encoded bytes: below it, encoding costs less than sending another buffer. */
const minSharedCharacters = 16_384

export class EventReply {
  readonly text: string
  #bytes: Buffer | undefined

  constructor(text: string) {
    this.text = text
  }

  /** What a connection sends. A long text is encoded once, so a thousand slow connections hold it once, not each its own. */
  get chunk(): string | Buffer {
    if (this.text.length < minSharedCharacters) return this.text
    this.#bytes ??= Buffer.from(this.text)
    return this.#bytes
  }
}

/** What the subscribers of a process are sent in one turn of the event loop. */
const maxTurnCharacters = 1_048_576
/** What sending a reply costs besides its length: a turn has at most 512 replies. */
const sendOverheadCharacters = 2048

/**
 * Spreads replies over turns of the event loop. Sockets are written to after the code that sends, so the time that sending
 * takes does not tell when to stop; what was sent does.
 */
export class SendPacer {
  #sentCharacters = 0
  #nextTurn: Promise<void> | undefined

  /** Counts a reply that may be sent now. If this turn's share is used up, returns a promise of the next turn instead. */
  take({ text }: EventReply): Promise<void> | undefined {
    this.#nextTurn ??= this.#startTurn()
    if (this.#sentCharacters >= maxTurnCharacters) return this.#nextTurn
    this.#sentCharacters += text.length + sendOverheadCharacters
    return undefined
  }

  /** Resolves when a reply may be sent, and counts it. */
  async wait(reply: EventReply): Promise<void> {
    for (let turn = this.take(reply); turn; turn = this.take(reply)) await turn
  }

  #startTurn(): Promise<void> {
    return new Promise(resolve => {
      setImmediate(() => {
        this.#sentCharacters = 0
        this.#nextTurn = undefined
        resolve()
      })
    })
  }
}
