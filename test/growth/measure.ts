/** How the time of a call grows with its input. */

/** One way in. What it is called with is made outside of the measured time, anew for each call. */
export interface GrowthInput {
  readonly name: string
  /** The largest size that gets there, in characters, bytes or items. */
  readonly bound: number
  readonly call: (size: number) => () => unknown
}

/** What takes no longer is harmless, however it grows. */
const harmlessMs = 8
/** What takes as long at any size is no fault of noise. */
const endlessMs = 2000
/**
 * Of a time, when the input becomes four times and sixteen times as large: 4 and 16 where it is linear, little more
 * for n log n, 16 and 256 for n². Both: where memory is laid out another way, a time can grow at once.
 */
const maxGrowth = { four: 9, sixteen: 100 }
const maxAttempts = 5

/** The processor time of this process in milliseconds: what others do does not count. That of a thread is too coarse. */
export async function cpuMs(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Runs something and returns the milliseconds that it took. */
type Timed = (run: () => unknown) => Promise<number>

class Times {
  readonly #input: GrowthInput
  readonly #timed: Timed
  /** The least of each size: a garbage collection or a compilation is not the input's. */
  readonly #least = new Map<number, number>()

  constructor(input: GrowthInput, timed: Timed) {
    this.#input = input
    this.#timed = timed
  }

  async measure(size: number): Promise<number> {
    const ms = await this.#timed(this.#input.call(size))
    const least = Math.min(ms, this.of(size))
    this.#least.set(size, least)
    return least
  }

  of(size: number): number {
    return this.#least.get(size) ?? Number.POSITIVE_INFINITY
  }

  isHarmless(bound: number): boolean {
    return this.of(bound) <= harmlessMs
  }

  /** From a sixteenth of the bound to the bound. */
  isQuadratic(bound: number): boolean {
    const large = this.of(bound)
    if (large <= maxGrowth.four * this.of(bound / 4)) return false
    return large > maxGrowth.sixteen * this.of(bound / 16)
  }

  toString(): string {
    return [...this.#least].map(([size, ms]) => `${size}: ${ms.toFixed(1)} ms`).join(', ')
  }
}

/**
 * Measures the input at sizes up to its bound. Code that was never run is slow at first, at the smallest size, which
 * hides growth: what is not harmless is measured once more before it is judged.
 *
 * @param timed the clock; processor time by default
 * @returns what is wrong, undefined if nothing is
 */
export async function growthFault(input: GrowthInput, timed: Timed = cpuMs): Promise<string | undefined> {
  const { name, bound } = input
  const times = new Times(input, timed)
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
