/**
 * A bounded memory of what can be made again, in two generations: what nobody asked for while the younger one filled up
 * goes with the older one. Several caches may share one bound.
 */

export interface CacheCounts {
  readonly hits: number
  readonly misses: number
  readonly entries: number
  readonly weight: number
}

interface Turning {
  /** Drops the older generation. Returns whether nothing is left. */
  turn(): boolean
  readonly size: number
}

/** How much caches may hold together, in units of the caller's choice: entries, bytes, tokens. */
export class CacheBound {
  /** By which metrics tell caches apart. */
  readonly name: string
  hits = 0
  misses = 0
  readonly #half: number
  readonly #caches = new Set<Turning>()
  #young = 0
  #old = 0

  /** `maxWeight`: 0 keeps nothing. */
  constructor(name: string, maxWeight: number) {
    this.name = name
    this.#half = maxWeight / 2
    bounds.add(new WeakRef(this))
  }

  /** Whether something of this weight leaves most of the room to others. */
  fits(weight: number): boolean {
    return weight < this.#half / 2
  }

  /** About how much is held; hardly ever more than the bound. */
  get weight(): number {
    return this.#young + this.#old
  }

  get counts(): CacheCounts {
    const { hits, misses, weight } = this
    let entries = 0
    for (const cache of this.#caches) entries += cache.size
    return { hits, misses, entries, weight }
  }

  /** `weight`: by how much the younger generation of `cache` has grown. */
  add(cache: Turning, weight: number): void {
    this.#caches.add(cache)
    this.#young += weight
    if (this.#young <= this.#half) return
    this.#old = this.#young
    this.#young = 0
    for (const each of this.#caches) if (each.turn()) this.#caches.delete(each)
  }
}

interface Entry<V> {
  readonly value: V
  readonly stamp: number
  weight: number
}

export class Cache<K, V> {
  readonly #bound: CacheBound
  #young = new Map<K, Entry<V>>()
  #old = new Map<K, Entry<V>>()

  constructor(bound: CacheBound) {
    this.#bound = bound
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** `stamp`: what is found was kept under the same one. */
  get(key: K, stamp = 0): V | undefined {
    const value = this.peek(key, stamp)
    if (value === undefined) this.#bound.misses++
    else this.#bound.hits++
    return value
  }

  /** As `get`, but neither a hit nor a miss. */
  peek(key: K, stamp = 0): V | undefined {
    const entry = this.#young.get(key) ?? this.#aged(key, stamp)
    return entry?.stamp === stamp ? entry.value : undefined
  }

  /** Stamps only grow: what was found before a change does not replace what was found since. */
  set(key: K, value: V, weight = 1, stamp = 0): void {
    const replaced = this.#young.get(key)
    if (replaced !== undefined && replaced.stamp > stamp) return
    this.#old.delete(key)
    this.#young.set(key, { value, stamp, weight })
    this.#bound.add(this, weight - (replaced?.weight ?? 0))
  }

  /** What is kept under the key weighs so much more than when it was set; less, below zero. */
  grow(key: K, weight: number): void {
    const young = this.#young.get(key)
    const entry = young ?? this.#old.get(key)
    if (entry === undefined) return
    entry.weight += weight
    if (young !== undefined) this.#bound.add(this, weight)
  }

  turn(): boolean {
    this.#old = this.#young
    this.#young = new Map()
    return this.#old.size === 0
  }

  /** An entry of the older generation, which asking for it makes young again. */
  #aged(key: K, stamp: number): Entry<V> | undefined {
    const entry = this.#old.get(key)
    if (entry === undefined || entry.stamp !== stamp) return undefined
    // One that takes most of the room would drive out all others, again and again.
    if (this.#bound.fits(entry.weight)) this.set(key, entry.value, entry.weight, stamp)
    return entry
  }
}

const bounds = new Set<WeakRef<CacheBound>>()

/** What the caches of this process have done so far, and hold, by their names. */
export function cacheCounts(): ReadonlyMap<string, CacheCounts> {
  const found = new Map<string, CacheCounts>()
  for (const reference of bounds) {
    const bound = reference.deref()
    if (bound === undefined) bounds.delete(reference)
    else found.set(bound.name, sum(bound.counts, found.get(bound.name)))
  }
  return found
}

function sum(one: CacheCounts, other: CacheCounts | undefined): CacheCounts {
  if (other === undefined) return one
  return {
    hits: one.hits + other.hits,
    misses: one.misses + other.misses,
    entries: one.entries + other.entries,
    weight: one.weight + other.weight,
  }
}
