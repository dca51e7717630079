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

/** The most variants of one operation. */
const maxVariants = 64

/** The variants of one operation, by the structure of the variables. */
export class Variants {
  readonly #grow: (weight: number) => void
  readonly #variants = new Map<string, Variant>()
  #weight = 0

  /** `grow` is called with each change of the weight, which is negative when variants are dropped. */
  constructor(grow: (weight: number) => void) {
    this.#grow = grow
  }

  get(key: string): Variant | undefined {
    return this.#variants.get(key)
  }

  set(key: string, variant: Variant): void {
    if (this.#variants.size >= maxVariants) this.#clear()
    const weight = weightOf(sizeOf(variant), key)
    this.#variants.set(key, variant)
    this.#weight += weight
    this.#grow(weight)
  }

  #clear(): void {
    this.#variants.clear()
    this.#grow(-this.#weight)
    this.#weight = 0
  }
}

/** Counts fields and arguments. */
function sizeOf(variant: Variant): number {
  let size = variant.getters.length
  forEachField(replyFieldsOf(variant), () => size++)
  return size
}

function replyFieldsOf(variant: Variant) {
  if (variant.operation === 'subscription') return [variant.replyField]
  const steps = variant.operation === 'query' ? variant.roots : variant.steps
  return steps.map(({ replyField }) => replyField)
}
