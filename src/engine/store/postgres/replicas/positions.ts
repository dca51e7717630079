/**
 * The position, in bytes, up to which a standby must have replayed the primary's WAL to have every change that the versions
 * count. A position read after a snapshot follows all commits that the snapshot sees, since a commit is in the WAL before it
 * is visible.
 */
export class Positions {
  /** A position after all commits that were counted without names. */
  #floor = Number.POSITIVE_INFINITY
  #newest = 0
  readonly #positions = new Map<string, number>()
  /** The names of this node's commits: since the last check was sent, and, while that runs, before it. */
  #unsent = new Set<string>()
  readonly #sent = new Set<string>()

  /** The position that a read of these names needs. Infinity: not known yet. */
  required(names: readonly string[]): number {
    let position = this.#floor
    for (const name of names) {
      if (this.#unsent.has(name) || this.#sent.has(name)) return Number.POSITIVE_INFINITY
      position = Math.max(position, this.#positions.get(name) ?? 0)
    }
    return position
  }

  /** The position at the last check. */
  get newest(): number {
    return this.#newest
  }

  /** Another server may be the primary, with another WAL. */
  forget(): void {
    this.#floor = Number.POSITIVE_INFINITY
  }

  /** A commit of this node. */
  committed(names: readonly string[]): void {
    for (const name of names) this.#unsent.add(name)
  }

  checkSent(): void {
    for (const name of this.#unsent) this.#sent.add(name)
    this.#unsent = new Set()
  }

  checkAnswered(position: number, names: Iterable<string> | undefined): void {
    this.#newest = position
    for (const name of this.#sent) this.#positions.set(name, position)
    this.#sent.clear()
    if (names !== undefined) for (const name of names) this.#positions.set(name, position)
    else {
      this.#floor = position
      this.#positions.clear()
    }
  }
}
