/** Measures how the time of a call grows with its input. */

/** A function that processes input. Its arguments are created before each measured call. */
export interface GrowthInput {
  readonly name: string
  /** The largest size that reaches the function, in characters, bytes or items. */
  readonly bound: number
  readonly call: (size: number) => () => unknown
}

/** Calls up to this time are harmless, however they grow. */
const harmlessMs = 8
/** A call that takes this long at any size is a fault, not noise. */
const endlessMs = 2000
/**
 * The growth of the time when the input becomes 4 and 16 times as large: 4 and 16 if it is linear, slightly more for
 * n log n, 16 and 256 for n². Both must be exceeded, because another memory layout can increase a time once.
 */
const maxGrowth = { four: 9, sixteen: 100 }
const maxAttempts = 5

/** The CPU time of this process in milliseconds, without other processes. That of a thread is too coarse. */
export async function cpuMs(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Runs a function and returns the milliseconds that it took. */
type Clock = (run: () => unknown) => Promise<number>

class Times {
  readonly #input: GrowthInput
  readonly #measure: Clock
  /** The minimum for each size, which excludes garbage collection and compilation. */
  readonly #least = new Map<number, number>()

  constructor(input: GrowthInput, measure: Clock) {
    this.#input = input
    this.#measure = measure
  }

  async measure(size: number): Promise<number> {
    const ms = await this.#measure(this.#input.call(size))
    const least = Math.min(ms, this.leastMs(size))
    this.#least.set(size, least)
    return least
  }

  leastMs(size: number): number {
    return this.#least.get(size) ?? Number.POSITIVE_INFINITY
  }

  isHarmless(bound: number): boolean {
    return this.leastMs(bound) <= harmlessMs
  }

  /** From a sixteenth of the maximum to the maximum. */
  isQuadratic(bound: number): boolean {
    const large = this.leastMs(bound)
    if (large <= maxGrowth.four * this.leastMs(bound / 4)) return false
    return large > maxGrowth.sixteen * this.leastMs(bound / 16)
  }

  toString(): string {
    return [...this.#least].map(([size, ms]) => `${size}: ${ms.toFixed(1)} ms`).join(', ')
  }
}

/**
 * Measures the input at sizes up to its maximum. Code is slow on its first runs, at the smallest size, which hides
 * growth: a call that is not harmless is measured again before it is judged.
 *
 * @param clock the clock; CPU time by default
 * @returns the fault, or undefined
 */
export async function growthFault(input: GrowthInput, clock: Clock = cpuMs): Promise<string | undefined> {
  const { name, bound } = input
  const times = new Times(input, clock)
  const sizes = [64, 16, 4, 2, 1].map(part => bound / part)
  for (const size of sizes) {
    if ((await times.measure(size)) > endlessMs) return `${name} takes too long. ${times}`
  }
  for (let attempt = 1; attempt < maxAttempts; attempt++) {
    if (times.isHarmless(bound)) return undefined
    for (const size of sizes) await times.measure(size)
    if (!times.isQuadratic(bound)) return undefined
  }
  return `${name} grows faster than its input. ${times}`
}
