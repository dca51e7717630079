/**
 * Up to which position, in bytes, a standby must have replayed the primary's WAL to have every change that the versions
 * count. A position read after a snapshot is behind all commits that the snapshot sees, since a commit is in the WAL before
 * it is visible.
 */
export class Positions {
  /** Behind all commits that were counted without names. */
  #floor = Number.POSITIVE_INFINITY
  #newest = 0
  readonly #places = new Map<string, number>()
  /** The names of this node's commits: since the last check was sent, and, while that runs, before it. */
  #unplaced = new Set<string>()
  readonly #sent = new Set<string>()

  /** Infinity: not known yet. */
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

  /** Another server may be the primary, with another WAL. */
  forget(): void {
    this.#floor = Number.POSITIVE_INFINITY
  }

  /** A commit of this node. */
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
