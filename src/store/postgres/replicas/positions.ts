/**
 * Up to where a standby must have replayed the primary's log to have every change that the versions count: positions
 * in that log, in bytes. A position that was asked for after a snapshot lies behind all commits that the snapshot sees,
 * since a commit is in the log before it is visible.
 */
export class Positions {
  /** Behind everything that was counted without a name. */
  #floor = Number.POSITIVE_INFINITY
  #newest = 0
  readonly #places = new Map<string, number>()
  /** What own commits touched after the last check was sent; and before it was, while it runs. */
  #unplaced = new Set<string>()
  readonly #sent = new Set<string>()

  /** Infinity: nobody knows yet. */
  of(names: readonly string[]): number {
    let place = this.#floor
    for (const name of names) {
      if (this.#unplaced.has(name) || this.#sent.has(name)) return Number.POSITIVE_INFINITY
      place = Math.max(place, this.#places.get(name) ?? 0)
    }
    return place
  }

  /** The last one that a check has found. */
  get newest(): number {
    return this.#newest
  }

  /** Another server may write another log. */
  forget(): void {
    this.#floor = Number.POSITIVE_INFINITY
  }

  /** A commit of this node's own. */
  committed(names: readonly string[]): void {
    for (const name of names) this.#unplaced.add(name)
  }

  sent(): void {
    for (const name of this.#unplaced) this.#sent.add(name)
    this.#unplaced = new Set()
  }

  found(position: number, names: Iterable<string> | undefined): void {
    this.#newest = position
    for (const name of this.#sent) this.#places.set(name, position)
    this.#sent.clear()
    if (names !== undefined) for (const name of names) this.#places.set(name, position)
    else {
      this.#floor = position
      this.#places.clear()
    }
  }
}
