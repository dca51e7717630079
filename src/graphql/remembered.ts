/** What is kept of documents, bounded by about how much memory it takes. A unit of weight is about that of a token. */
import { every } from './picked.ts'
import type { Variant } from './variant.ts'

/** Texts are kept too: names, comments, long values. */
const CHARACTERS = 100
const OWN_WEIGHT = 20

/** `parts`: tokens, or fields of a plan. */
export function weightOf(parts: number, key: string): number {
  return OWN_WEIGHT + parts + Math.ceil(key.length / CHARACTERS)
}

export interface Weighed {
  weight: number
}

/** Values in two generations: what was not asked for since the younger one was last filled is forgotten. */
export class Remembered<V extends Weighed> {
  readonly #room: number
  #young = new Map<string, V>()
  #old = new Map<string, V>()
  #weight = 0

  /** `room`: how much weight a generation holds. */
  constructor(room: number) {
    this.#room = room
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key)
    if (young) return young
    const old = this.#old.get(key)
    // One that takes most of the room would drive out all others, again and again.
    if (old && old.weight < this.#room / 2) this.set(key, old)
    return old
  }

  set(key: string, value: V): void {
    this.#young.set(key, value)
    this.#add(value.weight)
  }

  /** `weight`: below zero when it has become less. */
  grow(value: V, weight: number): void {
    value.weight += weight
    this.#add(weight)
  }

  #add(weight: number): void {
    this.#weight = Math.max(0, this.#weight + weight)
    if (this.#weight <= this.#room) return
    this.#old = this.#young
    this.#young = new Map()
    this.#weight = 0
  }
}

/** How many structures of variables are remembered for an operation. */
const MAX_VARIANTS = 64

/** The variants of one operation, by the structure of the variables. */
export class Variants {
  readonly #grow: (weight: number) => void
  readonly #known = new Map<string, Variant>()
  #weight = 0

  /** `grow` is told how much more is kept. */
  constructor(grow: (weight: number) => void) {
    this.#grow = grow
  }

  get(key: string): Variant | undefined {
    return this.#known.get(key)
  }

  set(key: string, variant: Variant): void {
    if (this.#known.size >= MAX_VARIANTS) this.#clear()
    const weight = weightOf(sizeOf(variant), key)
    this.#known.set(key, variant)
    this.#weight += weight
    this.#grow(weight)
  }

  #clear(): void {
    this.#known.clear()
    this.#grow(-this.#weight)
    this.#weight = 0
  }
}

/** Its fields and arguments. */
function sizeOf(variant: Variant): number {
  let size = variant.getters.length
  every(treesOf(variant), () => size++)
  return size
}

function treesOf(variant: Variant) {
  if (variant.operation === 'subscription') return [variant.picked]
  const parts = variant.operation === 'query' ? variant.roots : variant.steps
  return parts.map(({ picked }) => picked)
}
