/**
 * A bounded cache of two generations: entries that were not read while the younger generation filled up are dropped with
 * the older one. Several caches may share one bound.
 */

export interface CacheCounts {
  readonly hits: number
  readonly misses: number
  readonly entries: number
  readonly weight: number
}

interface GenerationalCache {
  /** Drops the older generation, and starts a new one. Returns whether the cache is empty. */
  startGeneration(): boolean
  readonly size: number
}

/** The maximum weight of one or several caches, in units of the caller's choice: entries, bytes, tokens. */
export class CacheBound {
  /** The label of its metrics. */
  readonly name: string
  hits = 0
  misses = 0
  readonly #maxGenerationWeight: number
  readonly #caches = new Set<GenerationalCache>()
  #young = 0
  #old = 0

  /** `maxWeight`: 0 keeps nothing. */
  constructor(name: string, maxWeight: number) {
    this.name = name
    this.#maxGenerationWeight = maxWeight / 2
    bounds.add(new WeakRef(this))
  }

  /** Whether an entry of this weight takes less than a quarter of the bound. */
  fits(weight: number): boolean {
    return weight < this.#maxGenerationWeight / 2
  }

  /** Approximate, and rarely more than the bound. */
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
  add(cache: GenerationalCache, weight: number): void {
    this.#caches.add(cache)
    this.#young += weight
    if (this.#young <= this.#maxGenerationWeight) return
    this.#old = this.#young
    this.#young = 0
    for (const member of this.#caches) if (member.startGeneration()) this.#caches.delete(member)
  }
}

interface CacheEntry<V> {
  readonly value: V
  readonly stamp: number
  weight: number
}

export class Cache<K, V> {
  readonly #bound: CacheBound
  #young = new Map<K, CacheEntry<V>>()
  #old = new Map<K, CacheEntry<V>>()

  constructor(bound: CacheBound) {
    this.#bound = bound
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** Finds only an entry that was set with the same `stamp`. */
  get(key: K, stamp = 0): V | undefined {
    const value = this.peek(key, stamp)
    if (value === undefined) this.#bound.misses++
    else this.#bound.hits++
    return value
  }

  /** As `get`, without counting a hit or a miss. */
  peek(key: K, stamp = 0): V | undefined {
    const entry = this.#young.get(key) ?? this.#promote(key, stamp)
    return entry?.stamp === stamp ? entry.value : undefined
  }

  /** Stamps only grow: a value from before a change does not replace a newer one. */
  set(key: K, value: V, weight = 1, stamp = 0): void {
    const replaced = this.#young.get(key)
    if (replaced !== undefined && replaced.stamp > stamp) return
    this.#old.delete(key)
    this.#young.set(key, { value, stamp, weight })
    this.#bound.add(this, weight - (replaced?.weight ?? 0))
  }

  /** Adds to the weight of an entry; `weight` may be negative. */
  grow(key: K, weight: number): void {
    const young = this.#young.get(key)
    const entry = young ?? this.#old.get(key)
    if (entry === undefined) return
    entry.weight += weight
    if (young !== undefined) this.#bound.add(this, weight)
  }

  startGeneration(): boolean {
    this.#old = this.#young
    this.#young = new Map()
    return this.#old.size === 0
  }

  /** Moves an entry of the older generation to the younger one, and returns it. */
  #promote(key: K, stamp: number): CacheEntry<V> | undefined {
    const entry = this.#old.get(key)
    if (entry === undefined || entry.stamp !== stamp) return undefined
    // A very heavy entry would evict all others at each read.
    if (this.#bound.fits(entry.weight)) this.set(key, entry.value, entry.weight, stamp)
    return entry
  }
}

const bounds = new Set<WeakRef<CacheBound>>()

/** The counts of the caches of this process, by name. */
export function cacheCounts(): ReadonlyMap<string, CacheCounts> {
  const countsByName = new Map<string, CacheCounts>()
  for (const reference of bounds) {
    const bound = reference.deref()
    if (bound === undefined) bounds.delete(reference)
    else countsByName.set(bound.name, sum(bound.counts, countsByName.get(bound.name)))
  }
  return countsByName
}

function sum(counts: CacheCounts, other: CacheCounts | undefined): CacheCounts {
  if (other === undefined) return counts
  return {
    hits: counts.hits + other.hits,
    misses: counts.misses + other.misses,
    entries: counts.entries + other.entries,
    weight: counts.weight + other.weight,
  }
}
