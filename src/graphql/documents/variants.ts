/** The planned variants of an operation. Weights estimate memory: one unit is about what a token takes. */
import { forEachField } from '../plan/reply-fields.ts'
import type { Variant } from '../plan/variant.ts'

/** Names, comments and long values take memory too. */
const charactersPerUnit = 100
const baseWeight = 20

/** `parts`: tokens, or fields of a plan. */
export function weightOf(parts: number, key: string): number {
  return baseWeight + parts + Math.ceil(key.length / charactersPerUnit)
}

/** Structures of variables, for each operation. */
const maxVariants = 64

/** The variants of one operation, by the structure of the variables. */
export class Variants {
  readonly #grow: (weight: number) => void
  readonly #known = new Map<string, Variant>()
  #weight = 0

  /** `grow` is called with the weight that is added, below zero for what is dropped. */
  constructor(grow: (weight: number) => void) {
    this.#grow = grow
  }

  get(key: string): Variant | undefined {
    return this.#known.get(key)
  }

  set(key: string, variant: Variant): void {
    if (this.#known.size >= maxVariants) this.#clear()
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

/** Counts fields and arguments. */
function sizeOf(variant: Variant): number {
  let size = variant.getters.length
  forEachField(treesOf(variant), () => size++)
  return size
}

function treesOf(variant: Variant) {
  if (variant.operation === 'subscription') return [variant.replyField]
  const parts = variant.operation === 'query' ? variant.roots : variant.steps
  return parts.map(({ replyField }) => replyField)
}
